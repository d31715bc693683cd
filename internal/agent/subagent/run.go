package subagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/worktree"
)

// MaxDepth is the deepest level at which an agent may run; the main agent is at 0.
const MaxDepth = 5

// Conversation is the session of one agent.
type Conversation interface {
	ID() string
	Steer(llm.Message) bool // false: no turn runs
	Used() (steps int, usd float64)
	Prompt(context.Context, llm.Message) (event.TurnEnd, error)
	Messages() []llm.Message
	Invoke(context.Context, []llm.ToolCall) []llm.ToolResult // under its permissions
	Close() error
}

// Request describes a task for an agent.
type Request struct {
	Call   string // the id of the call that starts it
	Kind   string // a name; empty: the general one, or, with Resume, what it was
	Title  string // the task in a few words
	Prompt string
	Model  string // overrides the kind's; empty: the kind's
	Resume string // the id of an agent to continue, with its context

	Background bool   // its parent does not wait for it
	Held       bool   // it is never sent to the background
	ID         string // of its session; empty: Agents sets it
	Base       string // the commit that its worktree begins at; empty: that of the settings
	Git        bool   // its worktree is one of git, whose diff is used; hooks that make others are not asked

	As *Kind // a kind that the catalog does not have, instead of Kind; nil: Kind names it
	// Then is called when the agent has done its work and its conversation and its copy of the project, or nil, are still
	// there.
	Then func(context.Context, Outcome, Conversation, *worktree.Tree)

	Tree *worktree.Tree // that it works in, its own or its parent's; nil: none. Set by Agents
}

// NewSession is the id of the session to make; empty to resume one.
func (r Request) NewSession() string {
	if r.Resume != "" {
		return ""
	}
	return r.ID
}

// Outcome is the result of an agent's work.
type Outcome struct {
	ID       string // of its session, for Request.Resume
	Kind     string
	Answer   string // its last message; empty: none
	Problem  string // why it stopped early; empty: it finished
	End      event.TurnEnd
	Calls    int
	Duration time.Duration

	Background bool // it goes on in the background: there is no answer yet
	Delivered  bool // the prompt went to the agent, which is at work
}

// ModelName returns the agent's model: that of the settings for all agents, the call's or the kind's, in this order; ""
// means its parent's.
func (r Request) ModelName(forAll string, k *Kind) string {
	switch forAll {
	case "":
		return cmp.Or(r.Model, k.Model)
	case "inherit":
		return ""
	}
	return forAll
}

// Host is the session that starts agents. All fields are required but Tree.
type Host struct {
	Catalog func() *Catalog
	Depth   int // of the session's own agent
	Slots   *Slots
	// Open opens the session of a new agent or of one to continue.
	Open func(ctx context.Context, k *Kind, r Request) (Conversation, error)
	// KindOf returns the kind of an agent that was started before.
	KindOf func(id string) (string, error)
	NewID  func() string
	Above  *Agents      // of the session that started this one; nil: it is the main one
	Note   func(Record) // writes to the log of the session

	Trees *worktree.Maker
	Hooks Hooks          // may be nil
	Dir   string         // the working folder of the main session
	Tree  *worktree.Tree // that the session works in; nil: in Dir
}

// Hooks are the hooks of the session that starts agents.
type Hooks interface {
	worktree.Hooks // make the copies of isolated agents in the place of Trees
	// AgentEnded hears of an agent that ended in the background, and was not ended on request.
	AgentEnded(kind, title, status string)
}

// Agents starts the agents of one session. It is safe for concurrent use.
type Agents struct {
	Host
	Tasks *Tasks // of the main session and all below it

	mu      sync.Mutex
	waiting int           // calls waiting for an agent
	closed  bool          // none starts any more
	end     chan struct{} // closed at the next end of an agent
	lost    []Record
	taken   []Record // whose end was handed out and is not in the log
	works   sync.WaitGroup
}

// New makes the Agents of a session, without starting any.
func New(h Host) *Agents {
	a := &Agents{Host: h, Tasks: NewTasks(), end: make(chan struct{})}
	if h.Above != nil {
		a.Tasks = h.Above.Tasks
	}
	return a
}

// Check returns an error for a request that Run could not carry out. It starts nothing.
func (a *Agents) Check(r Request) (*Kind, error) {
	if a.Depth >= MaxDepth {
		return nil, fmt.Errorf("agents start each other at most %d deep; do this task yourself", MaxDepth)
	}
	if strings.TrimSpace(r.Prompt) == "" {
		return nil, errors.New("the prompt is empty; write the whole task, the agent knows nothing else")
	}
	if r.As != nil {
		return r.As, nil
	}
	name := r.Kind
	if r.Resume != "" {
		was, err := a.KindOf(r.Resume)
		if err != nil {
			return nil, err
		}
		if name = cmp.Or(name, was); !strings.EqualFold(name, was) {
			return nil, fmt.Errorf("the agent %s is of the kind %s and cannot go on as %s", r.Resume, was, name)
		}
	}
	return a.Catalog().Get(name)
}

// Run has an agent do a task and waits for its answer, unless the request or somebody (Tasks.Detach) sends it to the
// background. Cancelling ctx ends an agent that is waited for, with everything it started. A request to resume an agent
// that is at work hands the prompt to it. An error means that the agent was not started.
func (a *Agents) Run(ctx context.Context, r Request) (Outcome, error) {
	k, err := a.Check(r)
	if err != nil {
		return Outcome{}, err
	}
	if r.Resume != "" && a.delivered(ctx, r) {
		return Outcome{ID: r.Resume, Kind: k.Name, Delivered: true}, nil
	}
	t, err := a.start(ctx, k, r)
	if err != nil {
		return Outcome{}, err
	}
	away := Outcome{ID: t.id, Kind: k.Name, Background: true}
	if r.Background {
		return away, nil
	}
	defer a.wait()(ctx)
	select {
	case <-t.left:
		return away, nil
	case <-t.ended:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = true
	return t.out, t.err
}

// delivered hands the prompt to the agent if it is at work.
func (a *Agents) delivered(ctx context.Context, r Request) bool {
	t, err := a.Tasks.find(r.Resume)
	return err == nil && t.working() && t.steer(ctx, llm.UserText(r.Prompt)) == nil
}

// Limit are all the tools of an agent that works on something, such as a skill.
type Limit struct {
	Work  string
	Tools []string
}

type limitKey struct{}

// WithLimit is a context to start an agent in that has these tools in place of those of its kind.
func WithLimit(ctx context.Context, work string, tools []string) context.Context {
	return context.WithValue(ctx, limitKey{}, &Limit{work, tools})
}

// LimitOf is the limit of the agent that is opened in ctx, or nil.
func LimitOf(ctx context.Context) *Limit {
	l, _ := ctx.Value(limitKey{}).(*Limit)
	return l
}

// start lists an agent and lets it work.
func (a *Agents) start(ctx context.Context, k *Kind, r Request) (*task, error) {
	own, cancel := context.WithCancelCause(context.WithValue(context.Background(), limitKey{}, ctx.Value(limitKey{})))
	t := &task{
		owner: a, kind: k, id: r.Resume, started: time.Now(), cancel: cancel, left: make(chan struct{}),
		ended:      make(chan struct{}),
		background: r.Background, status: Waiting, unlink: func() bool { return true },
	}
	if t.id == "" {
		t.id = cmp.Or(r.ID, a.NewID())
	}
	r.ID = t.id
	t.request = r
	if !r.Background {
		t.unlink = context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	}
	if err := a.add(t); err != nil {
		t.unlink()
		cancel(err)
		return nil, err
	}
	a.note(t.record(r.Background))
	a.Tasks.tell(t)
	go func() {
		defer a.works.Done()
		t.run(own)
		cancel(nil)
	}()
	return t, nil
}

// add lists an agent, unless the session is closed.
func (a *Agents) add(t *task) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return errClosed
	}
	if err := a.Tasks.add(t); err != nil {
		return err
	}
	a.works.Add(1)
	return nil
}

// Close ends the agents that this session started and waits for them. None starts afterwards.
func (a *Agents) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	for _, t := range a.own() {
		t.cancel(errClosed)
	}
	a.works.Wait()
	a.settle()
	return nil
}

// own lists the agents that this session started.
func (a *Agents) own() []*task {
	return slices.DeleteFunc(a.Tasks.all(), func(t *task) bool { return t.owner != a })
}

// read takes the answer out of the messages of the run.
func (o *Outcome) read(messages []llm.Message) {
	for _, m := range messages {
		if m.Role != llm.Assistant {
			continue
		}
		if text := strings.TrimSpace(m.PlainText()); text != "" {
			o.Answer = text
		}
		o.Calls += len(m.Calls())
	}
}

// Problem explains why the agent stopped early.
func Problem(end event.TurnEnd, err error) string {
	switch {
	case end.Reason == event.EndCompleted && err == nil:
		return ""
	case end.Reason == event.EndMaxSteps:
		return "it reached its limit of steps"
	case end.Reason == event.EndBudget:
		return "the money for this session is used up"
	case end.Reason == event.EndDoomLoop:
		return "it repeated the same call without getting further"
	case end.Reason == event.EndRefused:
		return "the user refused one of its calls"
	case end.Reason == event.EndInterrupted:
		return "it was interrupted"
	case end.Reason == event.EndStopped:
		return "a hook ended it"
	case end.Err != "":
		return end.Err
	case err != nil:
		return err.Error()
	}
	return string(end.Reason)
}

// wait lends the slot of a session that is itself an agent to the agents it waits for. Otherwise agents that only wait
// for each other could use up all slots.
func (a *Agents) wait() (done func(context.Context)) {
	if a.Depth == 0 {
		return func(context.Context) {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting++; a.waiting == 1 {
		a.Slots.give()
	}
	return func(ctx context.Context) {
		a.mu.Lock()
		a.waiting--
		last := a.waiting == 0
		a.mu.Unlock()
		if last {
			a.Slots.takeBack(ctx)
		}
	}
}

// Slots limits how many agents work at once in one instance.
type Slots struct{ free chan struct{} }

// NewSlots makes n slots, at least 1 and at most 100.
func NewSlots(n int) *Slots {
	n = max(1, min(n, 100))
	s := &Slots{free: make(chan struct{}, n)}
	for range n {
		s.free <- struct{}{}
	}
	return s
}

func (s *Slots) take(ctx context.Context) (release func(), err error) {
	select {
	case <-s.free:
		return s.give, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// takeBack takes a slot that was lent. An agent that is to end does not wait for it: the slot is taken when one is
// free, at the latest the one that this agent gives in the end.
func (s *Slots) takeBack(ctx context.Context) {
	if _, err := s.take(ctx); err != nil {
		go func() { <-s.free }()
	}
}

func (s *Slots) give() { s.free <- struct{}{} }
