// Package agent is the loop: it calls the model, runs the tools it asks for while the reply still
// streams, and goes on until the model stops asking.
//
// The words: a turn is all of that, from a user message to the stop; a step is one model call and its
// tool calls. The loop knows no tool, no file and no terminal: all it needs is in [Config], functions and
// small interfaces. Every call of every tool passes one choke point, [Agent.Invoke].
//
// Promises: what was said is on disk before it is shown as complete; every call gets exactly one result,
// in call order, also when it was cancelled, denied, crashed or timed out; a call that was started is
// never run again; a tool's failure is text for the model and never ends the turn.
package agent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/session"
)

// Transcript is where a conversation is kept. A method that returned nil has made its record durable
// enough to survive the death of the process. session.Session is one; Memory is another.
type Transcript interface {
	// Messages is the conversation as to be sent: it only ever grows at its end, and the parts of a
	// message that was returned once stay the same slice.
	Messages() []llm.Message
	AddUser(ctx context.Context, msg llm.Message, steered, synthetic bool) error
	AddPart(ctx context.Context, index int, p llm.Part) error
	AddReply(ctx context.Context, msg llm.Message) error
	StartCall(ctx context.Context, callID string, sync bool) error
	EndCall(ctx context.Context, end session.CallEnd) error
	EndTurn(ctx context.Context, end session.TurnEnd) error
}

// Approval asks whether a prepared call may run.
type Approval struct {
	permission.Request
	Call    llm.ToolCall
	Title   string
	Preview event.View
	Revised bool // approved before with another input, which this one replaced
}

// Config is all the loop knows of the world. Model, Transcript and Tools are required; a nil function
// is skipped, except that a nil Authorize refuses everything.
type Config struct {
	Model      llm.Model
	Fallback   []llm.Model // tried in order when Model is overloaded or down
	Transcript Transcript
	MaxSteps   int     // 0: no limit
	BudgetUSD  float64 // 0: no limit; checked before each step
	Effort     llm.Effort
	MaxTokens  int           // output limit per reply; 0: the model's default
	RetryBase  time.Duration // first wait after a reply that broke off, doubling; 0: 1 s

	Tools     func() []Tool // read once per session
	System    func(context.Context) ([]llm.Part, error)
	Canonical func(name string, input []byte) (string, []byte) // other spellings of tools and parameters
	Spent     func() float64                                   // US dollars spent outside this loop (subagents)

	Authorize  func(context.Context, Approval) (permission.Decision, error) // policy, else asks and waits
	Ask        func(context.Context, event.Question) (event.Answer, error)
	BeforeStep func(context.Context) error
	BeforeTool func(context.Context, *llm.ToolCall) error
	AfterTool  func(context.Context, llm.ToolCall, *Result) error
	Snapshot   func(context.Context, *Plan) error
	BeforeStop func(context.Context, llm.Message) ([]llm.Message, error)
	Publish    func(event.Body)
	Record     func(write func() error, bodies ...event.Body) error // runs write and publishes, as one step; nil: one after the other
	Mode       func() permission.Mode
	Dir        func() string

	Clock func() time.Time                           // nil: time.Now
	Sleep func(context.Context, time.Duration) error // nil: a timer
}

// Agent runs the turns of one conversation, one at a time.
type Agent struct {
	cfg      Config
	repr     repairer
	doom     doom
	patience time.Duration // see abandonAfter

	mu      sync.Mutex
	model   llm.Model
	effort  llm.Effort
	choices int // how often the model was set
	steers  []llm.Message
	spent   float64           // US dollars of all turns
	unsaved []session.CallEnd // results that could not be written

	setup  sync.Mutex
	ready  bool // the fields below are set, and stay
	tools  map[string]*boundTool
	specs  []llm.ToolSpec
	system []llm.Part
}

// New makes an agent. It starts nothing.
func New(cfg Config) *Agent {
	if cfg.Publish == nil {
		cfg.Publish = func(event.Body) {}
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.RetryBase == 0 {
		cfg.RetryBase = time.Second
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	if cfg.Mode == nil {
		cfg.Mode = func() permission.Mode { return permission.Default }
	}
	if cfg.Dir == nil {
		cfg.Dir = func() string { return "" }
	}
	return &Agent{cfg: cfg, model: cfg.Model, effort: cfg.Effort, patience: abandonAfter}
}

// Steer hands over a message that is delivered before the next step of the running turn, or opens the
// next turn when none follows.
func (a *Agent) Steer(m llm.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steers = append(a.steers, m)
}

// TakeSteers empties the queue of messages that were not delivered.
func (a *Agent) TakeSteers() []llm.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.steers
	a.steers = nil
	return out
}

// Unsteer takes back the message that was handed over last and not delivered yet; false when there is none.
func (a *Agent) Unsteer() (llm.Message, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := len(a.steers)
	if n == 0 {
		return llm.Message{}, false
	}
	m := a.steers[n-1]
	a.steers = a.steers[: n-1 : n-1]
	return m, true
}

// SetModel changes the model from the next step on.
func (a *Agent) SetModel(m llm.Model, effort llm.Effort) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model, a.effort = m, effort
	a.choices++
}

// Model is the model of the next step.
func (a *Agent) Model() (llm.Model, llm.Effort) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.model, a.effort
}

// Spent is what all turns cost so far, in US dollars.
func (a *Agent) Spent() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

func (a *Agent) spend(usd float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spent += usd
}

// keep holds a result that could not be written, for save.
func (a *Agent) keep(end session.CallEnd) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unsaved = append(a.unsaved, end)
}

// save writes the results that could not be written when they came (the disk was full, say): the model is
// better told what its calls did than that it is unknown.
func (a *Agent) save(ctx context.Context) error {
	a.mu.Lock()
	ends := a.unsaved
	a.unsaved = nil
	a.mu.Unlock()
	for i, end := range ends {
		// Any other failure says that nothing waits for this result any more.
		if err := a.cfg.Transcript.EndCall(ctx, end); unwritten(err) {
			a.mu.Lock()
			a.unsaved = append(ends[i:len(ends):len(ends)], a.unsaved...)
			a.mu.Unlock()
			return err
		}
	}
	return nil
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

// turn is the state of one Run.
type turn struct {
	*Agent
	end       event.TurnEnd
	started   time.Time
	maxTokens int  // 0, or the raised limit
	raised    bool // the output limit was raised in this turn
	cut       int  // times the model was asked to go on after a cut reply
	broken    int  // replies in a row that broke off after a call had started
	pauses    int
	nudged    bool      // asked to go on after an empty reply
	fallback  int       // how many fallback models were used up
	first     llm.Model // the model that a fallback replaced
	chosen    int       // the number of the choice that put the fallback in its place
	unwritten bool      // the session could not be written
}

// Run runs one turn. The prompt is on disk before the model is called. The error is nil unless the turn
// failed: it is then an *llm.Error, or a failure to write the session.
func (a *Agent) Run(ctx context.Context, prompt llm.Message) (event.TurnEnd, error) {
	t := &turn{Agent: a, started: a.cfg.Clock()}
	defer t.goBack()
	a.doom.reset() // the user may ask for the same again
	a.cfg.Publish(event.TurnStart{Prompt: prompt})
	err := t.open(ctx, prompt)
	if err == nil {
		t.end.Reason, err = t.steps(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil && !t.unwritten:
		t.end.Reason, err = event.EndInterrupted, nil // whatever the cancellation made others return
	case err != nil:
		t.end.Reason, t.end.Err = event.EndFailed, err.Error()
	}
	t.end.Duration = a.cfg.Clock().Sub(t.started)
	write := func() error { return a.cfg.Transcript.EndTurn(context.WithoutCancel(ctx), stored(t.end)) }
	if e := a.record(write, t.end); e != nil {
		if err == nil {
			err, t.end.Reason, t.end.Err = e, event.EndFailed, e.Error()
		}
		a.cfg.Publish(t.end)
	}
	return t.end, err
}

// open puts the prompt on disk.
func (t *turn) open(ctx context.Context, prompt llm.Message) error {
	ctx = context.WithoutCancel(ctx)
	err := t.save(ctx)
	if err == nil {
		err = t.record(func() error { return t.cfg.Transcript.AddUser(ctx, prompt, false, false) }, event.UserMessage{Message: prompt})
	}
	t.unwritten = err != nil
	return err
}

func stored(e event.TurnEnd) session.TurnEnd {
	return session.TurnEnd{
		Reason: string(e.Reason), Err: e.Err, Usage: e.Usage, CostUSD: e.CostUSD, Steps: e.Steps,
		Duration: e.Duration,
	}
}

// steps runs steps until the turn ends.
func (t *turn) steps(ctx context.Context) (event.EndReason, error) {
	if err := t.prepare(ctx); err != nil {
		return "", err
	}
	for {
		if ctx.Err() != nil {
			return event.EndInterrupted, nil
		}
		if t.cfg.MaxSteps > 0 && t.end.Steps >= t.cfg.MaxSteps {
			return event.EndMaxSteps, nil
		}
		if t.overBudget() {
			return event.EndBudget, nil
		}
		if err := t.takeSteers(ctx); err != nil {
			return "", err
		}
		if t.cfg.BeforeStep != nil {
			if err := t.cfg.BeforeStep(ctx); err != nil {
				return "", err
			}
		}
		t.end.Steps++
		reply, outcome, err := t.step(ctx)
		if err != nil {
			if ctx.Err() == nil && t.useFallback(err) {
				t.end.Steps--
				continue
			}
			return "", err
		}
		reason, err := t.after(ctx, reply, outcome)
		if reason != "" || err != nil {
			return reason, err
		}
	}
}

// prepare builds what stays the same for the whole session: the tools and the system prompt. What failed
// is tried again by the next turn.
func (a *Agent) prepare(ctx context.Context) error {
	a.setup.Lock()
	defer a.setup.Unlock()
	if a.ready {
		return nil
	}
	if a.cfg.System != nil {
		system, err := a.cfg.System(ctx)
		if err != nil {
			return err
		}
		a.system = system
	}
	a.tools = map[string]*boundTool{}
	for _, tool := range a.cfg.Tools() {
		spec := tool.Spec()
		a.tools[spec.Name] = &boundTool{Tool: tool, spec: spec}
		a.specs = append(a.specs, spec)
	}
	a.ready = true
	return nil
}

func (t *turn) overBudget() bool {
	if t.cfg.BudgetUSD <= 0 {
		return false
	}
	sum := t.Spent()
	if t.cfg.Spent != nil {
		sum += t.cfg.Spent()
	}
	return sum >= t.cfg.BudgetUSD
}

func (t *turn) takeSteers(ctx context.Context) error {
	steers := t.TakeSteers()
	for i, m := range steers {
		if err := t.say(ctx, m, true); err != nil {
			t.mu.Lock()
			t.steers = append(steers[i:len(steers):len(steers)], t.steers...)
			t.mu.Unlock()
			return err
		}
		t.doom.reset()
	}
	return nil
}

// say adds a user message in the middle of a turn.
func (t *turn) say(ctx context.Context, m llm.Message, steered bool) error {
	err := t.record(func() error {
		return t.cfg.Transcript.AddUser(context.WithoutCancel(ctx), m, steered, !steered)
	}, event.UserMessage{Message: m, Steered: steered, Synthetic: !steered})
	t.unwritten = t.unwritten || err != nil
	return err
}

// useFallback switches to the next fallback model when err means that the present one cannot serve.
func (t *turn) useFallback(err error) bool {
	e := llm.AsError(err)
	if e == nil || t.fallback >= len(t.cfg.Fallback) {
		return false
	}
	switch e.Kind {
	case llm.KindOverloaded, llm.KindRateLimit, llm.KindServer, llm.KindNotFound, llm.KindStall, llm.KindNetwork:
	default:
		return false
	}
	next := t.cfg.Fallback[t.fallback]
	t.fallback++
	old, effort := t.Model()
	if t.first == nil {
		t.first = old
	}
	t.SetModel(next, effort)
	t.mu.Lock()
	t.chosen = t.choices
	t.mu.Unlock()
	t.cfg.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf(
		"%s cannot answer (%v); going on with %s", old.Info().ID, e.Kind, next.Info().ID)})
	return true
}

// goBack ends what useFallback did: the next turn tries the user's model again, unless somebody chose
// another one meanwhile.
func (t *turn) goBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first != nil && t.chosen == t.choices {
		t.model = t.first
	}
}
