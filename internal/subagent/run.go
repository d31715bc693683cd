package subagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// MaxDepth is the deepest level at which an agent may run; the main agent is at 0.
const MaxDepth = 5

// Conversation is the session of one agent.
type Conversation interface {
	ID() string
	Prompt(context.Context, llm.Message) (event.TurnEnd, error)
	Messages() []llm.Message
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

// Host is the session that starts agents. All fields are required.
type Host struct {
	Catalog func() *Catalog
	Depth   int // of the session's own agent
	Slots   *Slots
	// Open opens the session of a new agent or of one to continue.
	Open func(ctx context.Context, k *Kind, r Request) (Conversation, error)
	// KindOf returns the kind of an agent that was started before.
	KindOf func(id string) (string, error)
}

// Agents starts the agents of one session. It is safe for concurrent use.
type Agents struct {
	Host

	mu      sync.Mutex
	waiting int             // calls waiting for an agent
	active  map[string]bool // ids of the agents that work
}

// New makes the Agents of a session, without starting any.
func New(h Host) *Agents { return &Agents{Host: h, active: map[string]bool{}} }

// Check returns an error for a request that Run could not carry out. It starts nothing.
func (a *Agents) Check(r Request) (*Kind, error) {
	if a.Depth >= MaxDepth {
		return nil, fmt.Errorf("agents start each other at most %d deep; do this task yourself", MaxDepth)
	}
	if strings.TrimSpace(r.Prompt) == "" {
		return nil, errors.New("the prompt is empty; write the whole task, the agent knows nothing else")
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

// Run has an agent do a task and waits for its answer. Cancelling ctx ends the agent and everything it started. An error
// means that the agent was not started.
func (a *Agents) Run(ctx context.Context, r Request) (Outcome, error) {
	k, err := a.Check(r)
	if err != nil {
		return Outcome{}, err
	}
	defer a.wait()()
	release, err := a.Slots.take(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer release()
	return a.work(ctx, k, r)
}

func (a *Agents) work(ctx context.Context, k *Kind, r Request) (out Outcome, err error) {
	if r.Resume != "" && !a.enter(r.Resume) {
		return out, fmt.Errorf("the agent %s is at work; wait for its answer", r.Resume)
	}
	started := time.Now()
	c, err := a.Open(ctx, k, r)
	if err != nil {
		a.leave(r.Resume)
		return out, fmt.Errorf("the agent could not be started: %w", err)
	}
	a.enter(c.ID())
	defer func() {
		a.leave(c.ID())
		if failed := c.Close(); failed != nil && out.Problem == "" {
			out.Problem = failed.Error()
		}
	}()
	before := len(c.Messages())
	end, err := c.Prompt(ctx, llm.UserText(r.Prompt))
	out = Outcome{ID: c.ID(), Kind: k.Name, End: end, Duration: time.Since(started), Problem: problem(end, err)}
	messages := c.Messages()
	out.read(messages[min(before, len(messages)):]) // a compaction may have made it shorter
	return out, nil
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

// problem explains why the agent stopped early.
func problem(end event.TurnEnd, err error) string {
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
	case end.Err != "":
		return end.Err
	case err != nil:
		return err.Error()
	}
	return string(end.Reason)
}

// enter marks an agent as at work; false when it is already.
func (a *Agents) enter(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.active[id] {
		return false
	}
	a.active[id] = true
	return true
}

func (a *Agents) leave(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.active, id)
}

// wait lends the slot of a session that is itself an agent to the agents it waits for. Otherwise agents that only wait for
// each other could use up all slots.
func (a *Agents) wait() (done func()) {
	if a.Depth == 0 {
		return func() {}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.waiting++; a.waiting == 1 {
		a.Slots.give()
	}
	return func() {
		a.mu.Lock()
		a.waiting--
		last := a.waiting == 0
		a.mu.Unlock()
		if last {
			a.Slots.mustTake()
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

func (s *Slots) mustTake() { <-s.free }

func (s *Slots) give() { s.free <- struct{}{} }
