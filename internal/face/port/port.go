// Package port is how a face speaks to a session.
//
// The words: a session process owns one conversation: its log, its loop, its tools and their children. A face shows it
// to a person or a program: the terminal, plain lines, an editor, a browser, a chat, a script. A face owns nothing that
// must not be lost; any number may be attached. A [Session] is the conversation as a face sees it, in the same process
// or behind a socket: [Serve] and [Client] join the two by JSON-RPC 2.0, one object a line.
//
// Promises:
//
//   - Prompts. A prompt carries an id that its face chose. [Session.Prompt] returns when the prompt is on disk. The
//     same id again is the same prompt: it runs once, also if the process was killed in between.
//   - Turns. A turn goes on when no face is there. A message for a running turn may name it, and is refused when that
//     turn is over. What waits can be listed, edited, moved, dropped and sent at once.
//   - Events. Every face sees one order. An event that is in the log has a cursor; a face that comes back with its last
//     cursor gets what it missed once, also after the process was restarted. Pieces of text and output are merged for a
//     slow face and not repeated. A face that falls behind [MostBehind] events gets [ErrResync] and attaches again; it
//     delays no other.
//   - Questions. Every face gets each open question with the whole command or diff, also one that attaches later. The
//     first valid answer counts; the other faces see it as answered, with the name of the principal.
//   - Principals. Prompts, answers and commands carry who gave them; the process sets that from the connection.
//   - Bounds. A message has at most [MaxMessage] bytes. Fields are only added: unknown ones are ignored.
package port

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Version is the version of the protocol. A face and a process of the same version understand each other, whatever
// their versions of lathe are.
const Version = 1

// MaxMessage is the size of the longest message, in bytes.
const MaxMessage = 16 << 20

// MostBehind is how many events may wait for a face, after deltas were merged.
const MostBehind = 20_000

// Session is a conversation. Its methods may be called from any goroutine, and return when ctx ends.
type Session interface {
	// Attach begins a stream of events. It begins with the events after From.After, or with Opened; then come the open
	// questions, Status and State, and then every event once.
	Attach(ctx context.Context, f From) (Events, error)
	// Prompt takes a message, and returns when it is on disk. ErrTurnOver: the turn that it names is over.
	Prompt(ctx context.Context, p Prompt) (Receipt, error)
	// Queue changes the messages that wait, and returns those that do then.
	Queue(ctx context.Context, c QueueChange) (Queue, error)
	// Interrupt ends the running turn if it has this id, or any if turn is empty. Messages that wait are sent at once.
	Interrupt(ctx context.Context, turn string) error
	// Answer answers an open question. event.ErrNoQuestion: it is not open.
	Answer(ctx context.Context, a Answer) error
	// Command runs a slash command, or one of "!" (the user's own command line), "#" (a note), "background", "mode".
	Command(ctx context.Context, c Command) (event.Output, error)
	// Complete returns completions.
	Complete(ctx context.Context, q event.Query) ([]event.Candidate, error)
	// Read returns a part of what the session keeps.
	Read(ctx context.Context, r ReadRequest) (Content, error)
}

// Events is a stream of events for one goroutine.
type Events interface {
	// Next waits for the next event. io.EOF: the session was closed; ErrResync: attach again.
	Next(ctx context.Context) (event.Event, error)
	Close()
}

// Errors that a face can act on.
var (
	ErrTurnOver = errors.New("that turn is over")
	ErrResync   = errors.New("too many events were not read; attach again")
)

// Face says who is at the other end.
type Face struct {
	Kind      string `json:"kind"`                // terminal, lines, editor, browser, chat, script, supervisor
	Name      string `json:"name,omitempty"`      // of the program, for people
	Principal string `json:"principal,omitempty"` // the person, as hooks and the log see them; empty: the user
	Remote    bool   `json:"remote,omitempty"`    // it is on another machine: it trusts no folder
	// Answers says which questions it may answer: all (""), "author" (of turns that its principal began) or "none".
	Answers string `json:"answers,omitempty"`
	// Buffers: it holds texts of files that may be newer than the disk, and answers MethodBuffer and MethodSave.
	Buffers bool `json:"buffers,omitempty"`
	// Answer answers what the process asks this face; nil: nothing.
	Answer func(ctx context.Context, method string, params json.RawMessage) (any, error) `json:"-"`
}

// Methods that a process calls on a face with Buffers.
const (
	MethodBuffer = "buffer"      // Buffer with a path -> Buffer
	MethodSave   = "buffer/save" // Buffer -> {}: the text is in the editor and on disk
)

// Buffer is the text of a file in an editor.
type Buffer struct {
	Path string `json:"path"`
	Text string `json:"text,omitempty"`
}

// ErrNoFace says that no face is there that answers.
var ErrNoFace = errors.New("no face is there that answers this")

// From is where a stream begins.
type From struct {
	After   event.Cursor `json:"after,omitempty"`   // the cursor of the last event that was read; empty: begin with Opened
	History int          `json:"history,omitempty"` // limits the events in Opened; 0: all
	Gather  int          `json:"gather,omitempty"`  // milliseconds for which pieces of a text gather into one event
}

// Rarely is From.Gather of a reader that takes no pieces: the whole text follows them.
const Rarely = 10_000

// When is the moment at which a message is delivered while a turn runs. Else it begins one.
type When string

// Moments.
const (
	NextStep  When = ""      // before the next step of the turn
	AfterTurn When = "after" // as a turn of its own
	AtOnce    When = "now"   // as NextStep; running commands go on in the background, so that it comes at once
)

// Prompt is a message to the model.
type Prompt struct {
	ID      string      `json:"id,omitempty"` // chosen by the face, unique in the session; empty: one is made
	Message llm.Message `json:"message"`
	When    When        `json:"when,omitempty"`
	Turn    string      `json:"turn,omitempty"` // the turn that it is for; empty: whichever runs
	From    string      `json:"from,omitempty"` // the principal; a process takes it from the connection
}

// Receipt says what became of a prompt.
type Receipt struct {
	ID string `json:"id"`
	// begun: it is the prompt of a turn; step, after: it waits for that; known: it was taken before
	State string `json:"state"`
}

// States of a Receipt.
const (
	Begun    = "begun"
	ForStep  = "step"
	ForAfter = "after"
	Known    = "known"
)

// QueueChange is a change of the messages that wait.
type QueueChange struct {
	Do      string       `json:"do,omitempty"`      // list (""), edit, drop, move or send
	ID      string       `json:"id,omitempty"`      // of the prompt; empty: the newest
	Message *llm.Message `json:"message,omitempty"` // for edit
	To      int          `json:"to,omitempty"`      // for move: its new place, from 0
}

// Queue holds the messages that wait, in their order.
type Queue struct {
	Waiting []event.Waiting `json:"waiting"`
	Dropped *llm.Message    `json:"dropped,omitempty"` // by this change
}

// Answer is an answer to a question.
type Answer struct {
	Session string       `json:"session"` // of the Asked event
	ID      string       `json:"id"`
	Answer  event.Answer `json:"answer"`
	From    string       `json:"from,omitempty"` // as in Prompt
}

// Command is a slash command.
type Command struct {
	Name string `json:"name"`
	Args string `json:"args,omitempty"`
	From string `json:"from,omitempty"` // as in Prompt
}

// ReadRequest asks for a part of what the session keeps.
type ReadRequest struct {
	What   string       `json:"what"`             // history, questions, status, blob, file or settings
	Before event.Cursor `json:"before,omitempty"` // history: its end, as in Opened.More
	Limit  int          `json:"limit,omitempty"`  // history: events; blob, file: bytes
	Name   string       `json:"name,omitempty"`   // blob: of its file; file: a path within the working folders
}

// Content is what was read.
type Content struct {
	History   *event.Opened `json:"history,omitempty"` // its History and its More
	Questions []event.Event `json:"questions,omitempty"`
	Status    *event.Status `json:"status,omitempty"`
	State     *event.State  `json:"state,omitempty"` // with status and questions
	Bytes     []byte        `json:"bytes,omitempty"` // of a blob or a file; of settings: JSON
}
