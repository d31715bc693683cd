// Package permission decides whether a tool call may run. It is pure: it sees paths as the caller resolved
// them and touches nothing.
//
// The words: an [Access] is one thing a call would touch; a [Rule] is what somebody wrote about tools or
// accesses; a [Policy] holds the rules of all sources; Decide turns a [Request] into a [Decision], which
// is allow, ask or deny with the rule and the reason.
//
// The order: deny rules; ordered rules whose outcome is deny; the mode's own refusals; what the user granted
// while the session runs; ask rules; ordered rules; allow rules; what the mode grants; read-only accesses
// inside the roots; ask.
package permission

import "encoding/json"

// Kind is what sort of thing an access touches.
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

	Command *Command `json:"command,omitempty"` // for Exec: what the analysis of the line found; nil: nothing is known
	Node    NodeKind `json:"node,omitempty"`    // for Read and Write: what lies there, where it was looked at
	Links   uint64   `json:"links,omitempty"`   // hard links to the file that lies there
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
)

// Modes lists all modes.
var Modes = []Mode{Default, AcceptEdits, Plan, DontAsk, Bypass}

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
	Agent    []string        `json:"agent,omitempty"` // the chain of agents, outermost first; empty for the main one
	Dir      string          `json:"dir"`             // the session's working folder
}

// Decision is what was decided and why, in words for the user and the model.
type Decision struct {
	Effect Effect `json:"effect"`
	Rule   string `json:"rule,omitempty"`   // the rule as it was written
	Source string `json:"source,omitempty"` // where the rule came from
	Reason string `json:"reason"`
	// Guidance is what the user added when refusing ("no, use the staging database").
	Guidance string `json:"guidance,omitempty"`
	// Interrupt ends the turn after this refusal: the user said no and nothing else.
	Interrupt bool `json:"interrupt,omitempty"`
	// Input replaces the call's input, when the one who approved changed it.
	Input json.RawMessage `json:"input,omitempty"`
}
