// Package event defines everything that can happen in lathe, as one ordered stream.
//
// Producers publish a [Body]; the [Bus] stamps it with a sequence number and a time and hands the [Event] to
// every subscriber in the same order. For a slow subscriber, text deltas of one part are merged; nothing is
// ever dropped. A [View] shows a tool call to people: a shape (a diff, a command, a listing), never a tool's
// name, so front ends can draw tools they have never heard of. A [Question] and its [Answer] are a pair of
// bodies, Asked and Answered, joined by an id. The [Recorder] is a subscriber that writes the stream to
// files; a [Masker] removes secrets from the files.
//
// Promises: Publish never waits for a subscriber; all subscribers see the same order; every body has a
// recorded form (see [MarshalEvent]), and additions of later versions are kept unchanged.
package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Event is one thing that happened.
type Event struct {
	Seq     uint64    `json:"seq"` // from 1, without gaps, per bus
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Agent   []string  `json:"agent,omitempty"` // the chain of agents, as in permission.Request; empty for the main one
	// Cursor is the place after this event in the log of its session. Empty for events that are not in a log:
	// pieces (Delta, ToolOutput), states (Status), questions, and notices that were not recorded.
	Cursor Cursor `json:"cursor,omitempty"`
	Body   Body   `json:"body"`
}

// Body is the content of an event. Kind is its name in recorded form ("tool.end").
type Body interface{ Kind() string }

// CallOf returns the id of the call that runs the innermost agent of a chain ("explore/toolu_7" is an agent
// of the kind explore, run by the call toolu_7); empty for the main agent and for a link without an id.
func CallOf(chain []string) string {
	if len(chain) == 0 {
		return ""
	}
	_, id, _ := strings.Cut(chain[len(chain)-1], "/")
	return id
}

// TurnStart opens a turn. Its prompt is on disk, without the context and files that lathe added; it is empty when it
// was refused or could not be written.
type TurnStart struct {
	Prompt llm.Message `json:"prompt"`
}

// Returned gives back a message that the conversation did not take, since a hook refused it or was interrupted before
// it decided. A Notice has the reason of a refusal.
type Returned struct {
	Message llm.Message `json:"message"`
}

// TurnEnd closes a turn. Err is empty unless the turn failed.
type TurnEnd struct {
	Reason   EndReason     `json:"reason"`
	Err      string        `json:"error,omitempty"`
	Steps    int           `json:"steps"`
	Usage    llm.Usage     `json:"usage"`
	CostUSD  float64       `json:"cost_usd"`
	Duration time.Duration `json:"duration_ns"`
	APITime  time.Duration `json:"api_time_ns"`
}

// EndReason says why a turn ended.
type EndReason string

// Reasons for the end of a turn.
const (
	EndCompleted   EndReason = "completed"
	EndInterrupted EndReason = "interrupted"
	EndMaxSteps    EndReason = "max_steps"
	EndBudget      EndReason = "budget"
	EndDoomLoop    EndReason = "doom_loop"
	EndRefused     EndReason = "refused" // the user refused a call and said nothing else
	EndStopped     EndReason = "stopped" // a hook ended it; a Notice says why
	EndFailed      EndReason = "failed"
)

// StepStart opens a step: one model call and its tool calls. Step counts from 1 within the turn.
type StepStart struct {
	Step  int    `json:"step"`
	Model string `json:"model"`
}

// StepEnd closes a step.
type StepEnd struct {
	Step    int            `json:"step"`
	Usage   llm.Usage      `json:"usage"`
	CostUSD float64        `json:"cost_usd"`
	Stop    llm.StopReason `json:"stop"`
	APITime time.Duration  `json:"api_time_ns"`
}

// Request is the body of one attempt to call a model; Bytes builds it.
type Request struct {
	Attempt int           `json:"attempt"`
	URL     string        `json:"url"`
	Bytes   func() []byte `json:"-"`
}

// Response is a whole reply as received.
type Response struct {
	Message llm.Message `json:"message"`
}

// BesideRequest is the body of one attempt of a call of a model beside the conversation.
type BesideRequest struct {
	Request
	Purpose string `json:"purpose"` // the kind of call, as "title"
	Call    string `json:"call"`    // joins the attempts and the reply of one call
}

// BesideResponse is the whole reply to a call beside the conversation.
type BesideResponse struct {
	Response
	Purpose string `json:"purpose"`
	Call    string `json:"call"`
}

// Delta is a piece of a streaming reply (llm.Started, TextDelta, ReasoningDelta, ToolDelta).
type Delta struct {
	MessageID string    `json:"message_id"` // lathe's id of the reply, stable over its deltas and parts
	Delta     llm.Delta `json:"delta"`
	Shown     *string   `json:"shown,omitempty"` // what people see in the place of a piece of text; nil: the piece
}

// PartDone is a complete part of a reply, already on disk.
type PartDone struct {
	MessageID string    `json:"message_id"`
	Index     int       `json:"index"`
	Part      llm.Part  `json:"part"`
	Model     string    `json:"model"`
	Usage     llm.Usage `json:"usage"`
	Shown     *string   `json:"shown,omitempty"` // what people see in the place of a text; nil: the text
}

// PartReady is a part that was received completely while its reply still streams. It is not on disk: its
// PartDone follows, unless a Retry voids it.
type PartReady PartDone

// Retry says that a request failed and will be sent again after Delay. Everything streamed since the last
// Request is void.
type Retry struct {
	Attempt int           `json:"attempt"`
	Max     int           `json:"max"`
	Delay   time.Duration `json:"delay_ns"`
	Err     string        `json:"error"`
	Status  int           `json:"status,omitempty"`
}

// UserMessage is a message of the user that entered the conversation (prompt, steered, synthetic).
type UserMessage struct {
	Message   llm.Message `json:"message"`
	Steered   bool        `json:"steered,omitempty"`
	Synthetic bool        `json:"synthetic,omitempty"` // written by lathe
	Attached  []string    `json:"attached,omitempty"`  // attachments, for people: "a.go (120 lines)"
	Told      []string    `json:"told,omitempty"`      // what lathe, hooks and servers tell the model with it, for people
}

// ToolStart says that a call is about to run; its start is on disk.
type ToolStart struct {
	Call    llm.ToolCall `json:"call"`
	Parent  string       `json:"parent,omitempty"` // the call that made this one (Batch); empty: the model did
	Title   string       `json:"title"`
	Preview View         `json:"preview,omitempty"`
}

// ToolOutput is live output of a running call.
type ToolOutput struct {
	CallID string `json:"call_id"`
	Text   string `json:"text"`
}

// ToolEnd is a call's result, already on disk. Every call gets exactly one.
type ToolEnd struct {
	Call     llm.ToolCall   `json:"call"`
	Parent   string         `json:"parent,omitempty"` // as in ToolStart
	Result   llm.ToolResult `json:"result"`
	Title    string         `json:"title"`
	View     View           `json:"view,omitempty"`
	Meta     map[string]any `json:"meta,omitempty"` // the structured output, for machines
	Denied   bool           `json:"denied,omitempty"`
	Duration time.Duration  `json:"duration_ns"`
}

// Denied says that policy or a person refused a call.
type Denied struct {
	Call     llm.ToolCall        `json:"call"`
	Decision permission.Decision `json:"decision"`
}

// Deferred says that a hook put a call of a run without a person off until the session is resumed.
type Deferred struct {
	Call llm.ToolCall `json:"call"`
}

// Notice is a line for the user.
type Notice struct {
	Level string `json:"level"` // info, warning, error
	Text  string `json:"text"`
}

// Terminal is a sequence for the terminal of an interactive session: a notification, a title or a bell of a hook. The
// sender has checked it.
type Terminal struct {
	Sequence string `json:"sequence"`
}

// FileChanged is a change on disk, by anybody, of a file that the session knows or of a neighbour in its folder.
type FileChanged struct {
	Path string `json:"path"`
	Op   string `json:"op"` // add, change, unlink
}

// BranchChanged says that the repository of the session's folder is at another branch or commit.
type BranchChanged struct {
	Branch string `json:"branch,omitempty"` // empty: HEAD is detached
	Head   string `json:"head,omitempty"`   // the commit; empty: there is none yet
}

// HookStart says that a hook begins to run.
type HookStart struct {
	ID     string `json:"id"`
	Event  string `json:"event"` // such as PreToolUse
	Hook   string `json:"hook"`  // its description
	Status string `json:"status,omitempty"`
}

// HookRun says that a hook has run.
type HookRun struct {
	ID       string        `json:"id"` // of its HookStart
	Event    string        `json:"event"`
	Hook     string        `json:"hook"`
	Stdout   string        `json:"stdout,omitempty"`
	Stderr   string        `json:"stderr,omitempty"`
	Exit     int           `json:"exit,omitempty"` // -1: it did not run to its end
	Err      string        `json:"err,omitempty"`
	Duration time.Duration `json:"duration_ns"`
}

// ModelFallback says that another model answers for the rest of the turn.
type ModelFallback struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

// Background says that a command or an agent started in the background, or ended there.
type Background struct {
	Task    BackgroundTask   `json:"task"`
	Running []BackgroundTask `json:"running"` // all that run now
}

// BackgroundTask is a command or an agent in the background.
type BackgroundTask struct {
	ID       string `json:"id"`
	CallID   string `json:"call_id,omitempty"` // of the call that started it
	Command  string `json:"command"`           // of an agent: its task in a few words
	Agent    string `json:"agent,omitempty"`   // the kind of the agent; empty for a command
	Status   string `json:"status"`            // running, completed, failed or killed
	ExitCode int    `json:"exit_code,omitempty"`
	Output   string `json:"output,omitempty"` // the file with its output, once it has ended
}

// ModeChanged says that the permission mode changed.
type ModeChanged struct {
	Mode permission.Mode `json:"mode"`
}

// ErrNoQuestion is returned for an answer to a question that is not (or no longer) open.
var ErrNoQuestion = errors.New("no such question is open; it may have been answered or its turn interrupted")

// Compacting says that a compaction begins; a Compacted follows.
type Compacting struct {
	Trigger string `json:"trigger"` // "auto", "overflow", "manual"
}

// Compacted says that the conversation was compacted, or that it could not be.
type Compacted struct {
	// 0: nothing changed; 2: old results are stubs; 3: stale results and old reasoning are gone; 4: a summary
	Level   int    `json:"level"`
	Trigger string `json:"trigger"`
	Before  int    `json:"before"` // estimated tokens of the prompt
	After   int    `json:"after"`
	Failed  string `json:"failed,omitempty"` // why no model wrote the summary; an extract took its place
	Err     string `json:"error,omitempty"`  // why the conversation cannot be made short enough
	// Summary is the text that took the place of older messages, as the model gets it; "": none did.
	Summary string `json:"summary,omitempty"`
}

// String returns one line for people.
func (c Compacted) String() string {
	switch {
	case c.Level == 0 && c.Err != "":
		return c.Err
	case c.Level == 0:
		return "There was nothing to compact."
	}
	how := map[int]string{
		2: "old results were moved to files", 3: "old results and reasoning were dropped",
		4: "a summary took the place of older messages",
	}[c.Level]
	text := fmt.Sprintf("Compacted from about %d to %d tokens: %s.", c.Before, c.After, how)
	if c.Failed != "" {
		text += " No summary could be written (" + c.Failed + "), so an extract took its place."
	}
	if c.Err != "" {
		text += " " + c.Err
	}
	return text
}

// SideRequest is a request beside the conversation, which costs money all the same.
type SideRequest struct {
	Purpose string    `json:"purpose"` // "permission", "title", "summary" or "eval"
	Model   string    `json:"model"`
	Usage   llm.Usage `json:"usage"`
	CostUSD float64   `json:"cost_usd"`
}

// Asked puts a question to the user. An Answered with the same id follows in the same session, from any
// reader, or when the turn or the agent that asks is cancelled. An answer names the session and the id.
type Asked struct {
	ID       string   `json:"id"`
	Of       string   `json:"of,omitempty"` // the asking agent or session in words, unless it is the conversation in front
	Question Question `json:"question"`
}

// Attributed returns the question with the asker in its reason, unless that is the conversation in front.
func (a Asked) Attributed() Question {
	q := a.Question
	if a.Of != "" {
		q.Reason = strings.TrimSpace("Asked by " + a.Of + ". " + q.Reason)
	}
	return q
}

// Answered closes a question.
type Answered struct {
	ID     string `json:"id"`
	Answer Answer `json:"answer"`
}

// Question asks the user. Permission is set for permission dialogs.
type Question struct {
	Agent   []string `json:"agent,omitempty"` // the chain of the agent that asks; empty for the main one
	Title   string   `json:"title"`
	Text    string   `json:"text,omitempty"`
	Options []Option `json:"options,omitempty"`
	Multi   bool     `json:"multi,omitempty"`
	Free    bool     `json:"free,omitempty"` // a text may be given instead of an option
	Own     string   `json:"own,omitempty"`  // the label of that choice; empty: one that fits any question
	// Parts are several questions that are answered together: Title a word or two, Text, Options, Multi and Free of each.
	// Answer.Parts has the answers in their order.
	Parts []Question `json:"parts,omitempty"`
	// Trust: whether the folder's settings are trusted. Only a person at the machine itself may say so.
	Trust bool `json:"trust,omitempty"`
	// Consult: the model asks by Call, and the answer becomes the input of the call.
	Consult bool `json:"consult,omitempty"`

	Permission *permission.Request `json:"permission,omitempty"`
	Reason     string              `json:"reason,omitempty"` // why lathe asks
	// the same in a word: rule, hook, classifier, safetyCheck, workingDir or mode
	ReasonType string `json:"reason_type,omitempty"`
	// a folder that the call reaches and the session does not work in
	Outside string `json:"outside,omitempty"`
	// of a call that destroys data: which files /undo would bring back, which not
	Undo    string          `json:"undo,omitempty"`
	Preview View            `json:"preview,omitempty"`
	Call    *llm.ToolCall   `json:"call,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"` // of a form of an MCP server; Answer.Input may have all of it
	// Elicitation: an MCP server asks.
	Elicitation *Elicitation `json:"elicitation,omitempty"`
}

// Elicitation is an MCP server's question to the user. All of it is foreign text.
type Elicitation struct {
	Server string `json:"server"`
	Mode   string `json:"mode"`          // form or url
	URL    string `json:"url,omitempty"` // to open
	ID     string `json:"id,omitempty"`
}

// Option is one way to answer.
type Option struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Help  string `json:"help,omitempty"`
	// Preview is Markdown that shows the result of choosing it, from the model.
	Preview string `json:"preview,omitempty"`
}

// Answer is the user's choice. Choice is the id of one of the Options; permission dialogs use the Choice
// constants.
type Answer struct {
	Choice   string          `json:"choice,omitempty"`
	Choices  []string        `json:"choices,omitempty"`
	Text     string          `json:"text,omitempty"` // guidance, or a free answer
	Input    json.RawMessage `json:"input,omitempty"`
	Rules    []string        `json:"rules,omitempty"` // the rules to keep, for "always"
	Parts    []Answer        `json:"parts,omitempty"` // to each of Question.Parts
	Canceled bool            `json:"canceled,omitempty"`
	// Interrupt, with a refusal, ends the turn although the answer has a text.
	Interrupt bool `json:"interrupt,omitempty"`
	// From is the principal who answered; empty: the user.
	From string `json:"from,omitempty"`
}

// Choices of a permission dialog, and of one about a plan.
const (
	ChoiceOnce    = "once"
	ChoiceSession = "session"
	ChoiceAlways  = "always"
	ChoiceEdits   = "acceptEdits" // yes, and switch to the mode that accepts edits
	ChoiceAsk     = "default"     // to a plan: yes, and ask before edits
	ChoiceFresh   = "fresh"       // to a plan: yes, without the conversation so far, and accept edits
	ChoiceNo      = "no"          // the model may try another way
	ChoiceStop    = "stop"        // no, and the turn ends
	ChoiceNever   = "never"
)

// Kind names.
func (TurnStart) Kind() string      { return "turn.start" }
func (Returned) Kind() string       { return "message.returned" }
func (TurnEnd) Kind() string        { return "turn.end" }
func (StepStart) Kind() string      { return "step.start" }
func (StepEnd) Kind() string        { return "step.end" }
func (Request) Kind() string        { return "api.request" }
func (Response) Kind() string       { return "api.response" }
func (BesideRequest) Kind() string  { return "beside.request" }
func (BesideResponse) Kind() string { return "beside.response" }
func (Delta) Kind() string          { return "delta" }
func (PartDone) Kind() string       { return "part.done" }
func (PartReady) Kind() string      { return "part.ready" }
func (Retry) Kind() string          { return "api.retry" }
func (UserMessage) Kind() string    { return "message.user" }
func (ToolStart) Kind() string      { return "tool.start" }
func (ToolOutput) Kind() string     { return "tool.output" }
func (ToolEnd) Kind() string        { return "tool.end" }
func (Denied) Kind() string         { return "tool.denied" }
func (Notice) Kind() string         { return "notice" }
func (Terminal) Kind() string       { return "terminal" }
func (Deferred) Kind() string       { return "deferred" }
func (FileChanged) Kind() string    { return "file.changed" }
func (BranchChanged) Kind() string  { return "branch.changed" }
func (HookStart) Kind() string      { return "hook.start" }
func (HookRun) Kind() string        { return "hook.run" }
func (ModelFallback) Kind() string  { return "model.fallback" }
func (Background) Kind() string     { return "background" }
func (ModeChanged) Kind() string    { return "mode.changed" }
func (Compacting) Kind() string     { return "compacting" }
func (Compacted) Kind() string      { return "compacted" }
func (SideRequest) Kind() string    { return "api.side" }
func (Asked) Kind() string          { return "asked" }
func (Answered) Kind() string       { return "answered" }
