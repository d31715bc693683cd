// Package gateway lets people converse with sessions from a chat.
//
// The words: a transport carries messages of one chat service. The host owns one transport; it keeps what came in (the
// inbox) and what goes out (the outbox) in a journal. A chat is where messages are exchanged: a private chat, a group,
// or a thread of one. Each chat has a session, which is a process of its own, and the host is a face of it. A user may
// send prompts, an approver may answer questions about permissions.
//
// Promises:
//
//   - A message that the service handed over is on disk before the service hears so. It becomes one prompt and gets one
//     answer, also when host, session or network fail at any moment.
//   - Where the outcome of sending is unknown, the host asks the transport before it sends again.
//   - Default deny: only listed or paired ids are heard, whatever the kind of the update. Ids are those that the
//     service never changes. A question about a permission takes an answer from approvers only.
//   - Every prompt, answer and command carries the id of its author. Prompts of two people are never joined.
//   - A chat that rests costs no process, no goroutine and no connection.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Transport is a chat service. Its methods may be called from any goroutine.
type Transport interface {
	// Name is telegram or teams; ids of people and chats are unique within it.
	Name() string
	// Receive hands over updates until ctx ends. The service hears that one was received when take has returned nil.
	Receive(ctx context.Context, take func(Update) error) error
	// Send sends a message and returns its id. ErrUnknown: it may have been sent. A Refusal: sending again is useless.
	// TooLong: the host sends it in pieces.
	Send(ctx context.Context, m Message) (id string, err error)
	// Edit replaces a message that was sent.
	Edit(ctx context.Context, id string, m Message) error
	// Find looks for a message whose outcome is unknown. The id after is that of an earlier message of the chat.
	// ErrGone: it was not sent, or the service cannot tell.
	Find(ctx context.Context, m Message, after string) (id string, err error)
	// Draft shows what a turn does so far. It returns what the next call takes as id; "" as text ends the draft.
	Draft(ctx context.Context, m Message, id string) (string, error)
	// Fetch loads a file of an update.
	Fetch(ctx context.Context, f File) ([]byte, error)
	// Receipt shows the author of an update what became of it: a reaction, or a line beside a button.
	Receipt(ctx context.Context, u Update, text string)
}

// Topics is a transport that can open threads in a chat.
type Topics interface {
	// Topic opens a thread and returns its id. A Refusal: the chat has none.
	Topic(ctx context.Context, c Place, name string) (thread string, err error)
}

// Errors of transports.
var (
	ErrUnknown = errors.New("it is not known whether the message was sent")
	ErrGone    = errors.New("there is no such message")
)

// Refusal is an answer of the service that stays the same however often it is asked.
type Refusal struct{ Why string }

func (r *Refusal) Error() string { return r.Why }

// TooLong is the answer of a transport to a text that it cannot send at once: it takes pieces of at most so many units
// of UTF-16, and lines.
type TooLong struct{ Units, Lines int }

func (t *TooLong) Error() string { return fmt.Sprintf("the text has more than %d characters", t.Units) }

// Place is a chat of a transport, or a thread of it.
type Place struct {
	Chat   string `json:"chat"`
	Thread string `json:"thread,omitempty"`
	Group  bool   `json:"group,omitempty"`
	// Route is what the transport needs to write there.
	Route string `json:"route,omitempty"`
}

// Key names the place in the journal.
func (p Place) Key() string {
	if p.Thread == "" {
		return p.Chat
	}
	return p.Chat + "/" + p.Thread
}

// Person is somebody at the service. The name is for people only.
type Person struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// Kinds of updates.
const (
	KindMessage = "message"
	KindEdit    = "edit"  // of a message: Message names it
	KindPress   = "press" // of a button: Token names it
	KindStop    = "stop"  // of the running turn
)

// Update is something that a person did.
type Update struct {
	Key     string `json:"key"` // unique within the transport
	Kind    string `json:"kind"`
	Place   Place  `json:"place"`
	From    Person `json:"from"`
	Message string `json:"message,omitempty"` // its id
	Text    string `json:"text,omitempty"`
	// Reply is the id of the message that this one answers, and Quote its text.
	Reply  string `json:"reply,omitempty"`
	Quote  string `json:"quote,omitempty"`
	Called bool   `json:"called,omitempty"` // in a group: it is for the bot
	Files  []File `json:"files,omitempty"`
	Token  string `json:"token,omitempty"`
	Raw    string `json:"raw,omitempty"` // what Receipt needs
}

// File is a file of a message.
type File struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	MIME  string `json:"mime,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	Voice bool   `json:"voice,omitempty"`
}

// Message is a message of the host. The text is Markdown.
type Message struct {
	Place   Place      `json:"place"`
	Text    string     `json:"text"`
	Reply   string     `json:"reply,omitempty"` // the id of the message that it answers
	Buttons [][]Button `json:"buttons,omitempty"`
	Only    string     `json:"only,omitempty"` // the id of the only person who sees it, where the service can do that
	Quiet   bool       `json:"quiet,omitempty"`
	File    *Document  `json:"file,omitempty"`
	Draft   string     `json:"draft,omitempty"` // the draft that it completes
	Live    string     `json:"-"`               // of a draft: the reply that streams, as far as it is there
}

// Button is an answer to press.
type Button struct {
	Text  string `json:"text"`
	Token string `json:"token"`
	Style string `json:"style,omitempty"` // success, danger or empty
}

// Document is a file to send.
type Document struct {
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	Data []byte `json:"data"`
}

// Command is a command that people may give.
type Command struct{ Name, Help string }

// Commands are those of every chat.
var Commands = []Command{
	{"new", "begin a new session; a name opens a topic for it"},
	{"project", "work in another folder: its name"},
	{"cancel", "end the running turn"},
	{"status", "say what the session does"},
	{"todo", "show the task list"},
	{"bg", "work on a prompt in a session of its own"},
	{"log", "show the last messages"},
	{"diff", "show what the session changed"},
	{"file", "send a file of the folder: its path"},
	{"loop", "repeat a prompt: interval and prompt, or stop"},
	{"help", "list the commands"},
}

// Limits of the host.
const (
	mostInbox   = 100      // messages of a chat that wait
	mostFile    = 20 << 20 // bytes of a file that is taken in
	mostSeen    = 10_000   // keys of updates that are remembered
	messageWait = 2 * time.Minute
)
