package agent

import (
	"context"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Transcript is where a conversation is kept. A method that returned nil has made its record durable
// enough to survive the death of the process. session.Session is one; Memory is another.
type Transcript interface {
	// Messages is the conversation as to be sent. It grows only at its end, and the parts of a message that
	// was returned once stay the same slice, until Revision changes.
	Messages() []llm.Message
	// Revision changes with each compaction or checkout: whatever was derived from Messages is void then.
	Revision() int
	AddUser(ctx context.Context, msg llm.Message, steered, synthetic bool) error
	AddPart(ctx context.Context, index int, p llm.Part) error
	AddReply(ctx context.Context, msg llm.Message) error
	// StartCall and EndCall frame a call. One with Call set is a call that was made through Invoke: it is
	// journalled and does not enter Messages.
	StartCall(ctx context.Context, start session.CallStart, sync bool) error
	EndCall(ctx context.Context, end session.CallEnd) error
	EndTurn(ctx context.Context, end session.TurnEnd) error
}

// Config is everything that the loop depends on, grouped by concern; the fields of a group are fields of Config too.
// Model, Transcript and Tools are required; a nil function is skipped, except that a nil Authorize refuses everything.
type Config struct {
	// Chain is the identity of this agent, in the form of permission.Request.Agent: the agents from the
	// outermost to this one, each "kind" or "kind/id" with the id of the call that runs it; empty for the
	// main agent. It is in every Approval and every Question. Publish and Record are expected to stamp their
	// events with it.
	Chain []string
	// Parent is the agent that started this one. The limits of steps and money of all agents above hold for
	// all of them together.
	Parent *Agent

	Requests
	Limits
	Calls
	Hooks
	Messages
	Room
	Journal
	Timing
}

// Requests is what goes to the model, and to which one.
type Requests struct {
	Model       llm.Model
	Fallback    []llm.Model // tried in order when Model is overloaded or down
	Effort      llm.Effort
	Temperature *float64                                  // nil: the model's default
	MaxTokens   int                                       // output limit per reply; 0: the model's default
	System      func(context.Context) ([]llm.Part, error) // asked once

	// Adjust may change the parameters of each request before it goes out, never its messages, tools or system prompt; the
	// request is sent with the context that it returns.
	Adjust func(context.Context, llm.ModelInfo, *llm.Request) context.Context
	// OnRequest is called with each request before it goes out. It must neither keep nor change it.
	OnRequest func(llm.ModelInfo, *llm.Request)
}

// Limits end a turn. They hold for this agent and those that it starts together, and are checked before each step.
type Limits struct {
	MaxSteps  int     // in one turn; 0: no limit
	BudgetUSD float64 // for all turns; 0: no limit
}

// Calls is which tools there are, and what may run.
type Calls struct {
	// Tools is asked before each step and each Invoke, so it must be cheap while nothing changes. An error
	// ends the turn.
	Tools     func(context.Context) (ToolSet, error)
	Canonical func(name string, input []byte) (string, []byte) // other spellings of tools and parameters

	Authorize func(context.Context, Approval) (permission.Decision, error) // policy, else asks and waits
	Ask       func(context.Context, event.Question) (event.Answer, error)
	Mode      func() permission.Mode // in an Approval; nil: the default mode
	Dir       func() string          // in an Approval: the working folder

	// Snapshot saves the files that a call may change, before its effects; CallID of the context names the call. The
	// function it returns is called once when the call has ended, or was not run after all.
	Snapshot func(context.Context, *Plan) (after func(), err error)
	// LimitResult shortens a result that is too long, in place. It sees every result last, with all that hooks
	// added, also those of calls that did not run.
	LimitResult func(context.Context, llm.ToolCall, *Result)
}

// Hooks are functions that others add, each with a name.
type Hooks struct {
	BeforeStep []BeforeStep // run in order before each step
	BeforeTool []BeforeTool // run side by side before a call is prepared
	AfterTool  []AfterTool  // run in order after a call has run
	BeforeStop []BeforeStop // run in order when the model has stopped asking for calls
}

// Messages is how messages of the user enter the conversation, and how people see its texts.
type Messages struct {
	// Boundaries delivers steered messages only between the calls of one step and the next request: one that
	// comes before the first request or after the last calls stays for TakeSteers.
	Boundaries bool

	// Attach adds the files that a message of the user names, before it is recorded. It leaves out those that it cannot
	// add.
	Attach func(context.Context, llm.Message) llm.Message

	// Admit sees each message of the user before it is recorded, steered ones too, and may add to it. An error keeps it
	// out of the conversation: an event.Returned gives it back, and the turn that it would open ends. A *Blocked is a
	// refusal.
	Admit func(ctx context.Context, m llm.Message, steered bool) (llm.Message, error)

	// Display is asked once for each reply. The function that it returns says what people are shown of a piece of a text
	// in the piece's place; it changes nothing of the conversation. While it is there, text is shown by whole lines. nil:
	// text is shown as it comes.
	Display func() func(context.Context, Showing) (string, bool)
}

// Room keeps the conversation within the model's context window.
type Room struct {
	// OnWindow makes room when the context window fills. It is called before a request whose prompt has
	// WindowMark(model) tokens or more, and with Overflow set after the provider refused a prompt as too
	// long or stopped because of it. When it reports on an overflow that it shrank the conversation, the
	// step is sent again, at most maxOverflows times in a row; otherwise the turn ends with the provider's
	// error. An error ends the turn.
	OnWindow   func(context.Context, Window) (shrunk bool, err error)
	WindowMark func(llm.ModelInfo) int // nil: 85 % of the model's window
}

// Journal is where the conversation is kept and what happens is told.
type Journal struct {
	Transcript Transcript
	Publish    func(event.Body)
	// Record runs write and publishes, as one step; nil: one after the other.
	Record func(write func() error, bodies ...event.Body) error
}

// Timing is the clock, and the waits of the loop.
type Timing struct {
	Clock     func() time.Time                           // nil: time.Now
	Sleep     func(context.Context, time.Duration) error // nil: a timer
	RetryBase time.Duration                              // first wait after a reply that broke off, doubling; 0: 1 s
}

// Blocked is the refusal of a message, or the end of a turn, by a hook.
type Blocked struct {
	Reason string
	Begun  bool // the turn was under way: a BeforeStep hook ended it
	Secret bool // the message is not shown again
}

func (b *Blocked) Error() string {
	if b.Begun {
		return "a hook ended the turn: " + b.Reason
	}
	return "a hook refused the prompt: " + b.Reason
}

// Approval asks whether a prepared call may run.
type Approval struct {
	permission.Request
	Call    llm.ToolCall
	Parent  string // the call that made this one through Invoke; empty: the model did
	Title   string
	Preview event.View
	Revised bool   // approved before with another input, which this one replaced
	Hooks   Ruling // the merged verdict of the before-tool hooks
}

// BeforeStep is a hook before each step. Its messages are added to the conversation as lathe's; an error
// ends the turn, a *Blocked as a hook's decision. All of the list run, in order, and all of their messages are added,
// in order.
type BeforeStep struct {
	Name string // for messages to the user
	Run  func(context.Context) ([]llm.Message, error)
}

// BeforeStop is a gate: when it returns messages, they are added to the conversation as lathe's and the
// turn goes on. All of the list run, in order, on the same reply; an error ends the turn.
type BeforeStop struct {
	Name string // for messages to the user
	Run  func(ctx context.Context, reply llm.Message) ([]llm.Message, error)
}

// Window is how full the model's context window is.
type Window struct {
	Model    llm.ModelInfo
	Used     int   // tokens of the prompt: the provider's count of the last one and an estimate of the messages since
	Mark     int   // tokens from which OnWindow is called before a request
	Overflow bool  // the provider refused the prompt, or stopped because of its length
	Err      error // the provider's error, with Overflow
}

func (c *Config) setDefaults() {
	if c.Publish == nil {
		c.Publish = func(event.Body) {}
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.RetryBase == 0 {
		c.RetryBase = time.Second
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Mode == nil {
		c.Mode = func() permission.Mode { return permission.Default }
	}
	if c.Dir == nil {
		c.Dir = func() string { return "" }
	}
	if c.WindowMark == nil {
		c.WindowMark = func(m llm.ModelInfo) int { return m.ContextWindow / 100 * 85 }
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
