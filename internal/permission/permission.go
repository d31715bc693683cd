// Package permission decides whether a tool call may run. It is pure: it sees paths, links and command lines
// as the caller resolved and analysed them, and touches nothing.
//
// The words: an [Access] is one thing a call would touch; a [Rule] is a written statement about tools or
// accesses; a [Policy] holds the rules of all sources; Decide turns a [Request] into a [Decision], which
// is allow, ask or deny with the layer, the rule and the reason. A guard is a fixed check of one access that
// no rule can switch off. A grant is a rule that a person gave while the session runs.
//
// The order of the layers is the numbered list in docs/permissions.md, to which a test holds decide. A subagent gets
// the strictest of its own set and its ancestors'.
//
// The promises: deny looks deep (any spelling, any part, the link or its target), allow looks shallow (every
// part and every access, exactly as understood); no allow rule, grant or mode lifts a deny; a stricter mode
// and a further part never make a decision milder; anything not understood asks.
package permission

import "encoding/json"

// Kind is the sort of thing an access touches.
type Kind string

// Kinds of access. Tool is an access to the tool itself, for tools whose effects are not paths,
// programs or hosts (TodoWrite, MCP tools); its Target is the tool's name.
const (
	Read  Kind = "read"
	Write Kind = "write"
	Exec  Kind = "exec"
	Net   Kind = "net"
	Tool  Kind = "tool"
)

// Access is one thing a call would touch.
type Access struct {
	Kind   Kind   `json:"kind"`
	Target string `json:"target"`          // absolute path with links resolved; command line; host; tool name
	Named  string `json:"named,omitempty"` // the path as it was named, when links made it differ
	Safe   bool   `json:"safe,omitempty"`  // for Tool: changes nothing outside the session, so never asks
	Asks   bool   `json:"asks,omitempty"`  // for Tool: no mode and no model allows it, only the user or a rule
	Class  Class  `json:"-"`               // for Read: ClassList or ClassSearch where it is less than reading all of it

	Command *Command `json:"command,omitempty"` // for Exec: the analysis of the line; nil: nothing is known
	Node    NodeKind `json:"node,omitempty"`    // for Read and Write: the kind of file there, if it was checked
	Links   uint64   `json:"links,omitempty"`   // hard links to the file that lies there

	// Redirect: the shell itself writes or reads the file (> file), not a program whose words a rule matches.
	Redirect bool `json:"redirect,omitempty"`

	// Below: for Read, everything below Target is read too, and nobody looked at the names there. A deny rule that
	// could match one of them asks.
	Below bool `json:"below,omitempty"`
}

// Mode is how much runs without asking.
type Mode string

// The modes, with Claude Code's names.
const (
	Default     Mode = "default"
	AcceptEdits Mode = "acceptEdits"
	Plan        Mode = "plan"
	DontAsk     Mode = "dontAsk"
	Bypass      Mode = "bypassPermissions"
	Auto        Mode = "auto" // as Default, but a model answers a question before a person is asked
)

// Modes lists all modes.
var Modes = []Mode{Default, AcceptEdits, Plan, DontAsk, Auto, Bypass}

// ModeNames returns the names of all modes, for flags, completion and messages.
func ModeNames() []string {
	names := make([]string, len(Modes))
	for i, m := range Modes {
		names[i] = string(m)
	}
	return names
}

// Effect is the outcome of a decision.
type Effect string

// The three outcomes.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Request is one call to decide on. Nil Accesses means unknown: it asks.
type Request struct {
	CallID   string          `json:"call_id"`
	Tool     string          `json:"tool"` // canonical name
	Input    json.RawMessage `json:"input,omitempty"`
	Accesses []Access        `json:"accesses"` // null where unknown
	Mode     Mode            `json:"mode"`
	// the chain of subagents, outermost first, each its kind, or kind/id; empty for the main one
	Agent []string `json:"agent,omitempty"`
	Dir   string   `json:"dir"` // the session's working folder
	Place *Place   `json:"-"`   // of an agent in a copy of the project; nil: it works in the project
}

// Layer is which line of defence decided.
type Layer string

// The layers, in the order in which a call meets them. Input that does not fit a tool's schema is refused before it
// gets here, so LayerSchema is only about input that is no JSON object.
const (
	LayerSchema   Layer = "schema"
	LayerDeny     Layer = "deny"     // a deny rule, or one that may be meant
	LayerGuards   Layer = "guards"   // protected paths, catastrophic commands, odd addresses
	LayerMode     Layer = "mode"     // the mode or the agent's kind refuses or grants
	LayerAsk      Layer = "ask"      // a grant, an ask or allow rule, or a person
	LayerAnalysis Layer = "analysis" // the call is read-only, or it is not
)

// Reach is what the sandbox lets an allowed command do to the working folders.
type Reach string

// The reaches, widest first.
const (
	ReachOpen  Reach = "open" // it changes them, and has the machine's network
	ReachWrite Reach = ""     // it changes them
	ReachEdit  Reach = "edit" // as ReachWrite, by its mode: nobody approved this command
	ReachView  Reach = "view" // it changes a private view of them, and a person says what becomes real
	ReachRead  Reach = "read" // it only reads them
)

// Unasked reports whether neither a rule nor a person approved the command.
func (r Reach) Unasked() bool { return r == ReachEdit || r == ReachView || r == ReachRead }

// Decision is an effect and the reason for it, in words for the user and the model.
type Decision struct {
	Effect Effect `json:"effect"`
	Reach  Reach  `json:"reach,omitempty"` // of an allowed command that the full sandbox holds
	Layer  Layer  `json:"layer,omitempty"`
	// Confirm: a guard refuses. A person who is there may be asked once, with the danger named, and never for
	// more than this call; where nobody can answer it stays refused.
	Confirm bool   `json:"confirm,omitempty"`
	Rule    string `json:"rule,omitempty"`   // the rule as it was written
	Source  string `json:"source,omitempty"` // where the rule came from
	By      string `json:"by,omitempty"`     // who answered, where that is not the user of the machine
	Reason  string `json:"reason"`
	// Guidance is the user's note with a refusal ("no, use the staging database").
	Guidance string `json:"guidance,omitempty"`
	// Interrupt ends the turn after this refusal: the user said no and nothing else.
	Interrupt bool `json:"interrupt,omitempty"`
	// Input replaces the call's input, when the one who approved changed it.
	Input json.RawMessage `json:"input,omitempty"`
}
