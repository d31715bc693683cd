package cli

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Conversation is the part of a session that headless output needs. A local session, a remote one and a fake will
// all do.
type Conversation interface {
	About() About
	// Next waits for the next event of the conversation, in order. It fails only when ctx ends or the
	// conversation is closed.
	Next(ctx context.Context) (event.Event, error)
	// Prompt runs a turn with the message and returns when it is over: its TurnEnd was published before.
	// The end of ctx interrupts the turn in order. An error that wraps ErrNotStarted means that there was
	// no turn.
	Prompt(ctx context.Context, m llm.Message) error
	// Answer answers the question with the id.
	Answer(id string, a event.Answer) error
	// Output is the last turn's answer that fits the schema the conversation was opened with, or nil.
	Output() json.RawMessage
	SetModel(ctx context.Context, name string) error // "" is the one it started with
	SetMode(ctx context.Context, mode permission.Mode) error
	Close() error
}

// About describes a conversation in the first line of stream-json.
type About struct {
	Session   string
	Dir       string
	Model     string
	Mode      permission.Mode
	KeySource string // where the API key came from: a variable's name, or "none"
	Info      func(model string) llm.ModelInfo
	Effort    string
	Style     string                 // the output style
	BudgetUSD float64                // the spending limit; 0: none
	Models    func() []llm.ModelInfo // to choose from
	Parts     func() Parts           // nil: it has none
	Held      *heldLine              // settings that wait for trust; nil: none
}

// Parts are the things that a conversation has. Listing them takes time where there are many.
type Parts struct {
	Tools    []string
	Commands []Described // slash commands
	Agents   []Described
	Skills   []string     // names of all skills and commands from files
	Servers  []serverLine // MCP servers, with their state
	Plugins  []pluginLine // that are enabled
}

func (a *About) parts() Parts {
	if a.Parts == nil {
		return Parts{}
	}
	return a.Parts()
}

// Described is a named thing with a line about it.
type Described struct {
	Name, Text string
	Hint       string // of a command: its arguments
	Aliases    []string
}

// Steered is a conversation that takes messages while a turn runs.
type Steered interface {
	// Steer hands over a message for the running turn, which is delivered after its next tool calls. False: no turn
	// takes it.
	Steer(m llm.Message) bool
	// TakeSteers takes back the messages that no calls followed.
	TakeSteers() []llm.Message
}

// Commanded is a conversation that knows slash commands. No turn may run.
type Commanded interface {
	Command(ctx context.Context, name, args string) (event.Output, error)
}

// Controlled is a conversation that answers control requests about itself.
type Controlled interface {
	Control(ctx context.Context, r controlRequest) (any, error)
}

// Failures of Prompt that the result line has words for.
var (
	ErrNotStarted = errors.New("the turn did not start")
	ErrNoAnswer   = errors.New("the model gave no answer that fits the JSON schema")
)

// notStarted is ErrNotStarted with the text of its cause alone.
type notStarted struct{ error }

func (e notStarted) Unwrap() []error { return []error{e.error, ErrNotStarted} }
