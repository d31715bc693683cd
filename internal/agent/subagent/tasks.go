package subagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Bounds of the agents of one main session.
const (
	mostWorking = 200 // in the background, those that wait for a slot included
	mostEnded   = 100 // that are remembered
)

// Status is the state of an agent's work.
type Status string

// Statuses.
const (
	Waiting   Status = "waiting" // for others to end, see Slots
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"  // it stopped early
	Stopped   Status = "stopped" // on request
	Lost      Status = "lost"    // lathe ended while it was at work
)

// State is an agent at one moment.
type State struct {
	ID, Kind, Title string
	Prompt          string // the whole task
	Depth           int    // 1: the main agent started it
	Call            string // the id of the call that started it
	Background      bool
	Status          Status
	Started         time.Time
	Duration        time.Duration // so far, or until it ended
	Steps           int
	CostUSD         float64 // with the agents that it started
	Answer, Problem string  // as in Outcome, once it has ended
}

// Working reports whether the agent has not ended.
func (s State) Working() bool { return s.Status.working() }

func (s Status) working() bool { return s == Waiting || s == Running }

// String describes the state in a line.
func (s State) String() string {
	out := fmt.Sprintf("%s, %d steps", s.Status, s.Steps)
	if s.Steps == 1 {
		out = string(s.Status) + ", 1 step"
	}
	if s.CostUSD > 0 {
		out += fmt.Sprintf(", $%.4f", s.CostUSD)
	}
	if s.Duration > 0 {
		out += ", " + s.Duration.Round(time.Second/10).String()
	}
	if s.Problem != "" && s.Status == Failed {
		out += ": " + s.Problem
	}
	return out
}

// ErrNoTask is returned for the id of an agent that is not known.
var ErrNoTask = errors.New("there is no such agent")

var (
	errStopped = errors.New("the agent was ended on request")
	errClosed  = errors.New("the session was closed")
	errEnded   = errors.New("the agent has ended")
)

// Tasks are the agents below one main session, at every depth: those that work, and the last ones that ended. It is
// safe for concurrent use.
type Tasks struct {
	mu     sync.Mutex
	list   []*task // in the order of their start
	notify func(State)
}

// NewTasks makes an empty list.
func NewTasks() *Tasks { return &Tasks{} }

// Notify sets the function that is called when an agent in the background starts or ends, from any goroutine.
func (l *Tasks) Notify(f func(State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notify = f
}

// List returns the agents in the order of their start.
func (l *Tasks) List() []State {
	var out []State
	for _, t := range l.all() {
		out = append(out, t.state())
	}
	return out
}

// Running counts the agents that work in the background.
func (l *Tasks) Running() int {
	n := 0
	for _, s := range l.List() {
		if s.Background && s.Working() {
			n++
		}
	}
	return n
}

// Get returns the agent with an id.
func (l *Tasks) Get(id string) (State, error) {
	t, err := l.find(id)
	if err != nil {
		return State{}, err
	}
	return t.state(), nil
}

// Messages is the conversation of an agent that works; nil for others.
func (l *Tasks) Messages(id string) []llm.Message {
	t, err := l.find(id)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	c := t.conv
	t.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.Messages()
}

// Stop ends an agent with everything it started, waits for that and returns its last state. One that has ended stays as
// it is.
func (l *Tasks) Stop(ctx context.Context, id string) (State, error) {
	t, err := l.find(id)
	if err != nil {
		return State{}, err
	}
	t.cancel(errStopped)
	select {
	case <-t.ended:
		return t.state(), nil
	case <-ctx.Done():
		return t.state(), context.Cause(ctx)
	}
}

// Steer hands a message to an agent that works; it is delivered at the agent's next step.
func (l *Tasks) Steer(ctx context.Context, id string, m llm.Message) error {
	t, err := l.find(id)
	if err != nil {
		return err
	}
	return t.steer(ctx, m)
}

// Await waits for the end of an agent, at most for d.
func (l *Tasks) Await(ctx context.Context, id string, d time.Duration) {
	t, err := l.find(id)
	if err != nil {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.ended:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Detach sends the agent that a call waits for to the background: the call returns at once. False when no call waits.
func (l *Tasks) Detach(call string) bool {
	for _, t := range l.all() {
		if t.request.Call == call && t.detach() {
			l.tell(t)
			return true
		}
	}
	return false
}

// InFront returns the calls of the main agent that wait for an agent.
func (l *Tasks) InFront() []string {
	var out []string
	for _, t := range l.all() {
		if s := t.state(); t.owner.Depth == 0 && !t.request.Held && s.Working() && !s.Background {
			out = append(out, s.Call)
		}
	}
	return out
}

func (l *Tasks) all() []*task {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func (l *Tasks) find(id string) (*task, error) {
	id = strings.TrimSpace(id)
	for _, t := range slices.Backward(l.all()) { // of several with one id the newest counts
		if t.id == id {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%w: %q", ErrNoTask, id)
}

// add lists an agent that starts. There is at most one at work with its id.
func (l *Tasks) add(t *task) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	working := 0
	for _, o := range l.list {
		if !o.working() {
			continue
		}
		if working++; o.id == t.id {
			return fmt.Errorf("the agent %s is at work", t.id)
		}
	}
	if t.background && working >= mostWorking {
		return fmt.Errorf("%d agents are at work already; wait for some of them, or end one with TaskStop", working)
	}
	l.list = append(l.list, t)
	over := len(l.list) - working - mostEnded
	l.list = slices.DeleteFunc(l.list, func(o *task) bool {
		if over <= 0 || o == t || !o.forgettable() {
			return false
		}
		over--
		return true
	})
	return nil
}

// tell reports a start or an end in the background.
func (l *Tasks) tell(t *task) {
	l.mu.Lock()
	f := l.notify
	l.mu.Unlock()
	if s := t.state(); f != nil && s.Background {
		f(s)
	}
}

// task is the work of one agent.
type task struct {
	owner   *Agents
	kind    *Kind
	request Request
	id      string
	started time.Time
	cancel  context.CancelCauseFunc
	unlink  func() bool   // takes it off the context of its call
	left    chan struct{} // closed when it was sent to the background
	ended   chan struct{}

	mu         sync.Mutex
	conv       Conversation  // while it works
	early      []llm.Message // that came before its first step
	background bool
	told       bool // its parent knows that it has ended
	status     Status
	out        Outcome
	err        error // it was not started
	costUSD    float64
}

func (t *task) working() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status.working()
}

func (t *task) forgettable() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.told && !t.status.working()
}

func (t *task) state() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := State{
		Prompt: t.request.Prompt, Depth: t.owner.Depth + 1,
		ID: t.id, Kind: t.kind.Name, Title: t.request.Title, Call: t.request.Call, Background: t.background,
		Status: t.status, Started: t.started,
		Duration: t.out.Duration, Steps: t.out.End.Steps, CostUSD: t.costUSD, Answer: t.out.Answer, Problem: t.out.Problem,
	}
	if t.err != nil {
		s.Problem = t.err.Error()
	}
	if s.Working() {
		s.Duration = time.Since(t.started)
	}
	if t.conv != nil {
		s.Steps, s.CostUSD = t.conv.Used()
	}
	return s
}

// take reports, once, that the agent has ended in the background.
func (t *task) take() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told || !t.background || t.status.working() {
		return false
	}
	t.told = true
	return true
}

func (t *task) detach() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.background || t.request.Held || !t.status.working() || !t.unlink() {
		return false
	}
	t.background = true
	close(t.left)
	t.owner.note(t.record(true))
	return true
}

// pollSteer is how often a message is offered to an agent whose turn is about to begin or to end.
const pollSteer = 10 * time.Millisecond

func (t *task) steer(ctx context.Context, m llm.Message) error {
	for {
		if t.steered(m) {
			return nil
		}
		select {
		case <-t.ended:
			return fmt.Errorf("%w; Task with resume %q asks it again", errEnded, t.id)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pollSteer):
		}
	}
}

func (t *task) steered(m llm.Message) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.conv != nil:
		return t.conv.Steer(m)
	case t.status == Waiting:
		t.early = append(t.early, m)
		return true
	}
	return false
}

// run waits for a slot, works and ends.
func (t *task) run(ctx context.Context) {
	release, err := t.owner.Slots.take(ctx)
	var out Outcome
	if err == nil {
		out, err = t.work(ctx)
		release()
	}
	t.unlink()
	t.mu.Lock()
	t.out, t.err, t.conv = out, err, nil
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopped), errors.Is(cause, errClosed):
		t.status = Stopped
	case err != nil || out.Problem != "":
		t.status = Failed
	default:
		t.status = Completed
	}
	t.mu.Unlock()
	close(t.ended)
	t.owner.signal()
	t.owner.Tasks.tell(t)
	if s := t.state(); s.Background && s.Status != Stopped && t.owner.Hooks != nil {
		t.owner.Hooks.AgentEnded(s.Kind, s.Title, string(s.Status))
	}
}

// work opens the conversation, prompts it and closes it.
func (t *task) work(ctx context.Context) (out Outcome, err error) {
	started, r := time.Now(), t.request
	tree, err := t.isolate(ctx)
	if err != nil {
		return out, fmt.Errorf("the agent could not be started: %w", err)
	}
	defer func() { out.leave(tree) }() // after its conversation has ended
	if r.Tree = tree; tree == nil {
		r.Tree = t.owner.Tree
	}
	c, err := t.owner.Open(ctx, t.kind, r)
	if err != nil {
		return out, fmt.Errorf("the agent could not be started: %w", err)
	}
	defer func() {
		_, usd := c.Used()
		t.mu.Lock()
		t.costUSD, t.conv = usd, nil
		t.mu.Unlock()
		if failed := c.Close(); failed != nil && out.Problem == "" {
			out.Problem = failed.Error()
		}
	}()
	m := llm.UserText(t.request.Prompt + setUp(ctx, tree, c))
	t.mu.Lock()
	t.conv, t.status = c, Running
	for _, e := range t.early {
		m.Parts = append(m.Parts, e.Parts...)
	}
	t.mu.Unlock()
	before := len(c.Messages())
	end, err := c.Prompt(ctx, m)
	out = Outcome{ID: c.ID(), Kind: t.kind.Name, End: end, Duration: time.Since(started), Problem: Problem(end, err)}
	messages := c.Messages()
	out.read(messages[min(before, len(messages)):]) // a compaction may have made it shorter
	if r.Then != nil {
		r.Then(ctx, out, c, tree)
	}
	return out, nil
}
