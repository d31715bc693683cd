package session

import (
	"encoding/json"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Format is the version of the log that this package writes.
const Format = 1

// Entry is one record of a session. Parent is the id of the entry it follows, or empty at the root.
type Entry struct {
	ID     string
	Parent string
	Time   time.Time
	Body   Body
}

// Body is the content of an entry: one of User, Part, CallStart, CallEnd, Reply, Compaction, Decision, Head,
// Title, Model, Mode, System, Seen, Grant, TurnEnd, SideRequest, Prefix, Note, Connection, HookRun, BlobRef or Unknown.
// Kind is its name in the log.
type Body interface{ Kind() string }

// User is a whole message of the user. The message is last, since lists read beginnings.
type User struct {
	Steered   bool        `json:"steered,omitempty"`   // sent while a turn ran
	Synthetic bool        `json:"synthetic,omitempty"` // written by lathe
	Message   llm.Message `json:"message"`
}

// Part is one complete part of the reply that is being received. Index is its position in the reply; an
// index that was there before voids the parts from there on (the request was sent again).
type Part struct {
	Index int
	Part  llm.Part
}

// CallStart says that a call is about to run. An invoked one was made by a tool or a front end, not the model:
// it is kept for people and does not enter Messages. Call is the call as it runs; of a call of the model's it is
// there only when it differs from the Part (another spelling, an input that a hook or the user changed).
type CallStart struct {
	CallID  string        `json:"call_id"`
	Invoked bool          `json:"-"`                     // the kind of the entry says it
	Parent  string        `json:"parent_call,omitempty"` // with Invoked: the call that made this one, or empty
	Call    *llm.ToolCall `json:"call,omitempty"`
}

// CallEnd is the result of a call: Result for the model, Title and View (raw JSON) for people, Meta (raw
// JSON) for machines.
type CallEnd struct {
	Result    llm.ToolResult  `json:"-"`
	Title     string          `json:"title,omitempty"`
	View      json.RawMessage `json:"view,omitempty"`
	Meta      json.RawMessage `json:"meta,omitempty"`
	Denied    bool            `json:"denied,omitempty"`
	Synthetic bool            `json:"synthetic,omitempty"` // written by lathe for a call that a crash left open
	Duration  time.Duration   `json:"-"`

	Invoked bool          `json:"-"`                     // the model did not make the call, as in CallStart
	Parent  string        `json:"parent_call,omitempty"` // with Invoked: the call that made this one, or empty
	Call    *llm.ToolCall `json:"call,omitempty"`        // as in CallStart, when no CallStart tells it: it never ran
}

// Reply closes a reply, which is the parts since the last user message or reply with an index below Parts.
type Reply struct {
	MessageID string         `json:"message_id,omitempty"`
	Model     string         `json:"model,omitempty"`
	Usage     *llm.Usage     `json:"usage,omitempty"`
	Stop      llm.StopReason `json:"stop,omitempty"`
	Parts     int            `json:"parts"`
}

// Decision is a permission decision with its evidence, as raw JSON.
type Decision struct {
	CallID   string          `json:"call_id"`
	Decision json.RawMessage `json:"decision"`
}

// Head moves the head to Target; empty means before the first entry.
type Head struct {
	Target string `json:"target"`
}

// Title names the session.
type Title struct {
	Title string `json:"title"`
}

// Model says which model answers from here on.
type Model struct {
	Model string `json:"model"`
}

// Mode says which permission mode holds from here on.
type Mode struct {
	Mode string `json:"mode"`
}

// TurnEnd closes a turn.
type TurnEnd struct {
	Reason   string        `json:"reason"`
	Err      string        `json:"error,omitempty"`
	Usage    llm.Usage     `json:"usage"`
	CostUSD  float64       `json:"cost_usd"`
	Steps    int           `json:"steps"`
	Duration time.Duration `json:"-"`
	// Total is the state of the session after this turn, kept here so that a list needs only the end of
	// the log. EndTurn fills it in; it is a cache of the entries.
	Total Total `json:"total"`
}

// Total sums up a session.
type Total struct {
	Turns   int       `json:"turns"`
	CostUSD float64   `json:"cost_usd"`
	Usage   llm.Usage `json:"usage"`
	Title   string    `json:"title,omitempty"`
	Model   string    `json:"model,omitempty"`
}

// PurposeSummary is the purpose of a request for the summary of a compaction.
const PurposeSummary = "summary"

// SideRequest is a request beside the conversation. It counts towards the session's cost.
type SideRequest struct {
	Purpose string    `json:"purpose"` // "permission", "title" or "summary"
	Model   string    `json:"model"`
	Usage   llm.Usage `json:"usage"`
	CostUSD float64   `json:"cost_usd"`
}

// Note is a line for people. Level is info, warning or error; "" means info.
type Note struct {
	Level string `json:"level,omitempty"`
	Text  string `json:"text"`
}

// Connection is a connection of a confined command to a host, or a refused one.
type Connection struct {
	CallID     string `json:"call_id"`
	Host       string `json:"host"`
	Port       int    `json:"port,omitempty"`
	Address    string `json:"address,omitempty"` // with port, as it was dialled
	Protocol   string `json:"protocol"`          // connect, http or socks5
	Program    string `json:"program,omitempty"` // by its own account
	Allowed    bool   `json:"allowed"`
	Reason     string `json:"reason,omitempty"` // who allowed it, or why it was refused or failed
	Sent       int64  `json:"sent,omitempty"`   // bytes from the command
	Received   int64  `json:"received,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
}

// HookRun is a run of a hook.
type HookRun struct {
	Event      string          `json:"event"`
	Hook       string          `json:"hook"` // its command, address or question, on one short line
	From       string          `json:"from"` // the settings file, or the host program
	CallID     string          `json:"call_id,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     string          `json:"output,omitempty"`
	Stderr     string          `json:"stderr,omitempty"`
	Exit       int             `json:"exit,omitempty"` // -1: it did not run to its end
	Err        string          `json:"err,omitempty"`  // why it decides nothing
	DurationMS int64           `json:"duration_ms"`
}

// BlobRef says that a blob was written. File is its name in the blobs folder.
type BlobRef struct {
	File   string `json:"file"`
	Name   string `json:"name,omitempty"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Unknown is an entry of a kind that this version does not know. JSON is its body, without the fields
// that every entry has; nil is an empty one.
type Unknown struct {
	Name string
	JSON json.RawMessage
}

// Seen is the state in which the model knows a file, so that a resumed session need not read it again.
type Seen struct {
	Path    string    `json:"path"` // with links resolved
	Mtime   time.Time `json:"mtime"`
	Size    int64     `json:"size"` // bytes
	Inode   uint64    `json:"inode,omitempty"`
	Changed int64     `json:"changed,omitempty"` // nanoseconds
	Hash    string    `json:"hash,omitempty"`    // SHA-256 of the whole content, hexadecimal
	Lines   int       `json:"lines,omitempty"`
	Written bool      `json:"written,omitempty"`
	By      string    `json:"by,omitempty"`    // with Written: the call that wrote it
	Needs   []string  `json:"needs,omitempty"` // with Written: the calls beside By that made the model know all of it
	Partial bool      `json:"partial,omitempty"`
	Shown   []Lines   `json:"shown,omitempty"`
}

// Lines is a range of lines, from 1, and the call whose result shows it; where it gives only changes, together
// with the results of Needs.
type Lines struct {
	First  int      `json:"first"`
	Last   int      `json:"last"`
	CallID string   `json:"call_id,omitempty"`
	Needs  []string `json:"needs,omitempty"`
}

// Grant is a rule that holds for this session, or, with an empty Effect, one that was taken back.
type Grant struct {
	Rule   string `json:"rule"`
	Effect string `json:"effect,omitempty"`
}

// System holds the command line's settings for the conversation: a replacement of the system prompt or an addition to
// it, the output style, the spending limit, and the sandbox.
type System struct {
	Replace string `json:"replace,omitempty"`
	Append  string `json:"append,omitempty"`

	// The output style that the conversation began with.
	Style      string `json:"style,omitempty"`
	StyleText  string `json:"style_text,omitempty"`
	StyleKeeps bool   `json:"style_keeps,omitempty"` // lathe's own instructions on how to work stay

	BudgetUSD float64 `json:"budget_usd,omitempty"` // the command line's limit, in US dollars; 0: none

	Agent string `json:"agent,omitempty"` // the kind of the main agent, as JSON; empty: lathe's own

	Sandbox string `json:"sandbox,omitempty"` // tier and mode of what confines commands; empty: nothing does
}

// Kind names.
func (Seen) Kind() string  { return "seen" }
func (Grant) Kind() string { return "grant" }

// Kind is the entry's name in the log.
func (Connection) Kind() string { return "connection" }
func (HookRun) Kind() string    { return "hook" }
func (System) Kind() string     { return "system" }
func (User) Kind() string       { return "user" }
func (Part) Kind() string       { return "part" }
func (c CallStart) Kind() string {
	if c.Invoked {
		return "invoke_start"
	}
	return "call_start"
}

func (c CallEnd) Kind() string {
	if c.Invoked {
		return "invoke_end"
	}
	return "call_end"
}
func (Reply) Kind() string    { return "reply" }
func (Decision) Kind() string { return "decision" }
func (Head) Kind() string     { return "head" }
func (Title) Kind() string    { return "title" }
func (Model) Kind() string    { return "model" }
func (Mode) Kind() string     { return "mode" }
func (TurnEnd) Kind() string  { return "turn_end" }
func (Note) Kind() string     { return "note" }

// Kind is the name found in the log.
func (SideRequest) Kind() string { return "side_request" }
func (BlobRef) Kind() string     { return "blob" }

// Kind is the name found in the log.
func (u Unknown) Kind() string { return u.Name }
