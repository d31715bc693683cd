package event

import (
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// The vocabulary between an interactive front end (terminal, plain lines, chat) and the session in front.

// Opened says that another session is in front: at the start, and after /new, /resume, /fork or going back to
// an earlier message. A front end clears its transcript.
type Opened struct {
	Session string `json:"session"`
	Title   string `json:"title,omitempty"`
	Dir     string `json:"dir"`
	Path    string `json:"path,omitempty"` // the session's folder, empty when nothing is kept
	// History is the history as a reader would have seen it: UserMessage, PartDone, ToolEnd, Denied, Notice
	// and TurnEnd, in order. It holds the newest events, as many as the reader asked for.
	History []Body `json:"history,omitempty"`
	// More is the end of the history that precedes; empty when there is none.
	More Cursor `json:"more,omitempty"`
}

// Status holds the values of a status line. It is published when any of them changed, at most ten times a
// second.
type Status struct {
	Session string          `json:"session"`
	Title   string          `json:"title,omitempty"`
	Model   string          `json:"model"`
	Effort  string          `json:"effort,omitempty"`
	Mode    permission.Mode `json:"mode"`
	// a word for the tier that confines commands: sandboxed, landlock, unconfined (no tier works here); empty: it is off
	Sandbox string `json:"sandbox,omitempty"`
	Dir     string `json:"dir"`
	Branch  string `json:"branch,omitempty"`
	// tokens of the last request and its reply, or an estimate of those that a compaction since left
	ContextUsed   int       `json:"context_used"`
	ContextWindow int       `json:"context_window"` // tokens; 0: unknown
	CostUSD       float64   `json:"cost_usd"`
	Usage         llm.Usage `json:"usage"` // of the whole session
	// share of the last request's input that was read from the cache, 0 to 1
	CacheHit   float64          `json:"cache_hit"`
	Background int              `json:"background,omitempty"` // commands and agents that run in the background
	Waiting    []Waiting        `json:"waiting,omitempty"`    // messages that were not delivered yet, in their order
	Changed    []ChangedFile    `json:"changed,omitempty"`    // files that the session changed
	Todos      []TodoItem       `json:"todos,omitempty"`
	Servers    []LanguageServer `json:"servers,omitempty"` // that were started
	Line       string           `json:"line,omitempty"`    // output of the user's statusLine command; foreign text
	Goal       *Goal            `json:"goal,omitempty"`    // that the session works for; nil: none
	Cache      CacheCost        `json:"cache,omitzero"`    // zero: nothing is known of the provider's cache
}

// Waiting is a message that was not delivered yet.
type Waiting struct {
	ID    string `json:"id"`              // of its prompt
	Text  string `json:"text"`            // its first line
	After bool   `json:"after,omitempty"` // it is for the end of the turn, not for its next step
}

// State says what a session does. It is published at every change, and to each reader that attaches.
type State struct {
	Doing Doing `json:"doing"`
	// Turn is the id of the prompt that began the running turn; empty when none runs.
	Turn string `json:"turn,omitempty"`
	// For is what a blocked session waits for: permission, answer or login.
	For string `json:"for,omitempty"`
}

// Doing is what a session does.
type Doing string

// What a session does.
const (
	Idle    Doing = "idle" // nothing runs, and no message will be sent without the user
	Working Doing = "working"
	Blocked Doing = "blocked" // a question is open
)

// LanguageServer is a language server of the folder.
type LanguageServer struct {
	Name     string `json:"name"`
	State    string `json:"state"`              // starting, ready, indexing, stopped, failed, given up
	Memory   int64  `json:"memory,omitempty"`   // bytes, with its children; 0: not known
	Errors   int    `json:"errors,omitempty"`   // that it reports now
	Warnings int    `json:"warnings,omitempty"` // the same
}

// CacheCost is the price of the next message for the conversation so far, with the provider's cache and without it.
type CacheCost struct {
	Expires  time.Time     `json:"expires"`
	Lifetime time.Duration `json:"lifetime_ns"` // from the last use to Expires
	WarmUSD  float64       `json:"warm_usd"`
	ColdUSD  float64       `json:"cold_usd"`
}

// notableUSD is the smallest price difference worth announcing, in US dollars.
const notableUSD = 0.10

// Warns returns when to announce that the cache is about to expire; zero if the conversation is too small for that.
func (c CacheCost) Warns() time.Time {
	if c.ColdUSD-c.WarmUSD < notableUSD {
		return time.Time{}
	}
	return c.Expires.Add(-c.Lifetime / 5)
}

// Notice returns a line about a large conversation's cache that has expired or is about to, or "".
func (c CacheCost) Notice(now time.Time) string {
	warns := c.Warns()
	if warns.IsZero() || now.Before(warns) {
		return ""
	}
	price := fmt.Sprintf("the next message costs about $%.2f, not $%.2f", c.ColdUSD, c.WarmUSD)
	if !now.Before(c.Expires) {
		return "the prompt cache has expired: " + price
	}
	return fmt.Sprintf("cache expires within %d min: then %s", int(c.Expires.Sub(warns).Minutes()), price)
}

// ChangedFile is a file that the session changed.
type ChangedFile struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`   // lines
	Removed int    `json:"removed"` // lines
}

// Query asks for completions of a kind.
type Query struct {
	Kind  QueryKind `json:"kind"`
	Name  string    `json:"name,omitempty"` // for an argument: the command's name
	Text  string    `json:"text"`           // the text typed so far, without @ or /
	Limit int       `json:"limit,omitempty"`
}

// QueryKind is a kind of completion.
type QueryKind string

// Kinds of completion.
const (
	QueryCommand  QueryKind = "command"  // the name of a slash command, ranked by match and frecency; all for ""
	QueryArgument QueryKind = "argument" // of the command Name
	QueryFile     QueryKind = "file"     // a path below the working folders
	QueryAttach   QueryKind = "attach"   // Text is a prompt: the files that it would attach, with their tokens as Help
	QueryHistory  QueryKind = "history"  // earlier prompts, newest first; Text narrows
)

// Candidate is one completion.
type Candidate struct {
	Text  string `json:"text"`            // the text to insert, or the whole earlier prompt
	Label string `json:"label,omitempty"` // the text to show, when it differs
	Help  string `json:"help,omitempty"`  // one line
	Hint  string `json:"hint,omitempty"`  // the arguments of a command: "[name]"
	Marks []int  `json:"marks,omitempty"` // indices of the runes of Label (or Text) that matched
	Group string `json:"group,omitempty"` // for a command: the heading in help
	Keys  string `json:"keys,omitempty"`  // for a command: its key bindings, filled in by the front end
}

// Output is the result of a slash command. Every field may be set.
type Output struct {
	Text   string       `json:"text,omitempty"`   // Markdown for people, never sent to the model
	View   View         `json:"view,omitempty"`   // a shape to show instead of Text
	Pick   *Pick        `json:"pick,omitempty"`   // something to choose from
	Page   *Page        `json:"page,omitempty"`   // a text to read on its own screen
	Prompt *llm.Message `json:"prompt,omitempty"` // sent now, as if it was typed
	Insert string       `json:"insert,omitempty"` // text for the prompt editor
	Copy   string       `json:"copy,omitempty"`   // text for the clipboard
	Edit   *Edit        `json:"edit,omitempty"`   // a file for the user's editor
	Open   string       `json:"open,omitempty"`   // a view of the front end's own to open: "keys", "palette"
	Theme  string       `json:"theme,omitempty"`  // the theme to use from now on
	Quit   bool         `json:"quit,omitempty"`
	Stay   bool         `json:"stay,omitempty"` // with Quit: the session goes on
}

// Page is a text to read that may change, such as the transcript of an agent. The commands are lines without a slash.
type Page struct {
	Title string `json:"title"`
	Text  string `json:"text"`           // Markdown
	Live  string `json:"live,omitempty"` // returns the page again, while it changes
	Tell  string `json:"tell,omitempty"` // takes a message that the user types to who is shown
	Back  string `json:"back,omitempty"` // returns to where the page came from
}

// Edit is a file for the user's editor, and the command line, without a slash, that runs after it.
type Edit struct {
	Path string `json:"path"`
	Then string `json:"then,omitempty"`
}

// Pick is a list to choose from. Choosing runs the command Command with the item's ID as its argument.
type Pick struct {
	Title   string       `json:"title"`
	Command string       `json:"command"`
	Items   []PickItem   `json:"items"`
	Actions []PickAction `json:"actions,omitempty"` // other things to do with an item
	Empty   string       `json:"empty,omitempty"`   // text shown when there is no item
	// Search is a command that returns the list again, filtered by the user's text as its argument, best
	// match first. Where it is set, Items is incomplete, and a front end runs the command instead of
	// filtering Items.
	Search string `json:"search,omitempty"`
	// Live is a command line that returns the list again: a front end runs it every second while the list is open.
	Live string `json:"live,omitempty"`
}

// PickItem is one thing to choose. Depth indents trees; Starts is set for the first item of each of several
// branches.
type PickItem struct {
	ID      string    `json:"id"`
	Label   string    `json:"label"`
	Detail  string    `json:"detail,omitempty"`
	Preview string    `json:"preview,omitempty"` // Markdown, shown beside the list
	Time    time.Time `json:"time,omitzero"`
	Depth   int       `json:"depth,omitempty"`
	Starts  bool      `json:"starts,omitempty"`
	Current bool      `json:"current,omitempty"`
}

// PickAction is another action on an item: it runs Command with the item's ID, followed by the user's text
// when Ask is set. The list is then fetched again with Refresh.
type PickAction struct {
	Key     string `json:"key"` // "ctrl+r"
	Label   string `json:"label"`
	Command string `json:"command"`
	Ask     string `json:"ask,omitempty"`  // the question for a text ("New name")
	Undo    string `json:"undo,omitempty"` // the command that takes the action back, with the same ID
	Refresh string `json:"refresh,omitempty"`
}

// Kind names.
func (Opened) Kind() string { return "opened" }
func (Status) Kind() string { return "status" }
func (State) Kind() string  { return "state" }
