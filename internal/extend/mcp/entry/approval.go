package entry

import "github.com/lathe-dev/lathe/internal/base/approved"

// Approvals are the user's answers about the servers of one project's .mcp.json. An answer holds for exactly the entry
// it was given for.
type Approvals struct{ answers *approved.Answers }

// OpenApprovals returns the answers for a project; nothing is read yet. With an empty state folder nothing is kept.
func OpenApprovals(stateHome, root string) *Approvals {
	return &Approvals{answers: approved.Open(stateHome, "mcp", root)}
}

// Approved reports whether the user approved the entry as it is.
func (a *Approvals) Approved(e *Entry) bool { return a.answers.Approved(e.ID(), e.Sum()) }

// Refused reports whether the user refused the entry as it is for good.
func (a *Approvals) Refused(e *Entry) bool { return a.answers.Refused(e.ID(), e.Sum()) }

// Changed reports whether another entry of this name was approved before.
func (a *Approvals) Changed(e *Entry) bool { return a.answers.Changed(e.ID(), e.Sum()) }

// Set keeps the user's answer.
func (a *Approvals) Set(e *Entry, approve bool) error { return a.answers.Set(e.ID(), e.Sum(), approve) }

// Forget drops the answer about a server.
func (a *Approvals) Forget(name string) error { return a.answers.Forget(name) }
