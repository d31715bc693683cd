package session

import "time"

// Info is what a list shows of a session.
type Info struct {
	ID          string
	Dir         string // the working folder
	Path        string // the log file
	Title       string // as set, or empty
	FirstPrompt string // one line, at most 200 characters
	Created     time.Time
	Modified    time.Time
	Model       string
	Turns       int     // as of the last turn that ended; 0 when that is not near the end of the log
	CostUSD     float64 // likewise
	Size        int64   // of the log, bytes
	Parent      string  // the session it was forked from, or its subagent's parent
	Forked      bool
	Agent       string // of a subagent's session: whose
	Damaged     bool   // a line that was looked at is damaged; Verify looks at all
}

func infoOf(h header, sum summary) Info {
	return Info{
		ID: h.Session, Dir: h.Dir, Created: h.Created, Parent: h.Parent, Agent: h.Agent, Forked: len(h.Lineage) > 0,
		Title: sum.Title, FirstPrompt: sum.firstPrompt, Model: sum.Model, Turns: sum.Turns, CostUSD: sum.CostUSD,
	}
}
