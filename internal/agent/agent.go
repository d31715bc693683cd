// Package agent is the loop: it calls the model, runs the tools it asks for while the reply still
// streams, and goes on until the model stops asking.
//
// The words: a turn is all of that, from a user message to the stop; a step is one model call and its
// tool calls. The loop knows no tool, no file and no terminal: all it needs is in [Config], functions and
// small interfaces. Every call of every tool passes one choke point, [Agent.Invoke].
//
// Promises: a message is on disk before it is shown as complete; every call gets exactly one result,
// in call order, also when it was cancelled, denied, crashed or timed out; a call that was started is
// never run again; a tool's failure is text for the model and never ends the turn.
package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// Agent runs the turns of one conversation, one at a time.
type Agent struct {
	cfg      Config
	repr     repairer
	doom     doom
	patience time.Duration // see abandonAfter
	poll     time.Duration // see pollPause

	mu      sync.Mutex
	model   llm.Model
	effort  llm.Effort
	choices int // how often the model was set
	steers  []llm.Message
	spent   float64           // US dollars of all turns, of Spend, and of the agents below
	steps   int               // of the present turn and of the agents below since it began
	unsaved []session.CallEnd // results that could not be written

	tools   atomic.Pointer[toolbox]
	invoked atomic.Int64 // calls made through Invoke that got an id

	setup  sync.Mutex
	ready  bool // system is set, and stays
	system []llm.Part
}

// New makes an agent. It starts nothing.
func New(cfg Config) *Agent {
	cfg.setDefaults()
	return &Agent{cfg: cfg, model: cfg.Model, effort: cfg.Effort, patience: abandonAfter, poll: pollPause}
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

// NextSteer withdraws the oldest message that is still waiting; false if no message is waiting.
func (a *Agent) NextSteer() (llm.Message, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.steers) == 0 {
		return llm.Message{}, false
	}
	m := a.steers[0]
	a.steers = a.steers[1:]
	return m, true
}

// Unsteer takes back the message with this id that was not delivered yet; false if no such message waits.
func (a *Agent) Unsteer(id string) (llm.Message, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.steers, func(m llm.Message) bool { return m.ID == id })
	if i < 0 {
		return llm.Message{}, false
	}
	m := a.steers[i]
	a.steers = slices.Concat(a.steers[:i], a.steers[i+1:])
	return m, true
}

// Steers are the messages that were not delivered yet.
func (a *Agent) Steers() []llm.Message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.steers)
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

// Spent is the cost so far of all turns, of the agents that this one started, and of Spend, in US dollars.
func (a *Agent) Spent() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// Used returns the steps of the present turn, and Spent.
func (a *Agent) Used() (steps int, usd float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.steps, a.spent
}

// SetBudget limits the cost, as BudgetUSD in the configuration does.
func (a *Agent) SetBudget(usd float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cfg.BudgetUSD = usd
}

// SetMaxSteps limits the steps of a turn, as MaxSteps in the configuration does.
func (a *Agent) SetMaxSteps(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cfg.MaxSteps = n
}

// Spend counts a cost against the limits of this agent and of those above, in US dollars. The cost of turns is
// counted without it.
func (a *Agent) Spend(usd float64) { a.count(usd, 0) }

// count adds to the use of this agent and of those above.
func (a *Agent) count(usd float64, steps int) {
	for ; a != nil; a = a.cfg.Parent {
		a.mu.Lock()
		a.spent += usd
		a.steps += steps
		a.mu.Unlock()
	}
}

// used returns the cost in US dollars and the steps that count against the limits, and the limits of both.
func (a *Agent) used() (usd float64, steps int, budget float64, most int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent, a.steps, a.cfg.BudgetUSD, a.cfg.MaxSteps
}

// keep holds a result that could not be written, for save.
func (a *Agent) keep(end session.CallEnd) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unsaved = append(a.unsaved, end)
}

// save writes the results that could not be written when they came (the disk was full, say): the model is
// better served by the results of its calls than by none.
func (a *Agent) save(ctx context.Context) error {
	a.mu.Lock()
	ends := a.unsaved
	a.unsaved = nil
	a.mu.Unlock()
	for i, end := range ends {
		// Any other failure says that nothing waits for this result any more.
		if err := a.record(func() error { return a.cfg.Transcript.EndCall(ctx, end) }); unwritten(err) {
			a.mu.Lock()
			a.unsaved = append(ends[i:len(ends):len(ends)], a.unsaved...)
			a.mu.Unlock()
			return err
		}
	}
	return nil
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
	overflows int       // times in a row that the window overflowed
	compacted bool      // the conversation was shortened since the hooks of the step ran
	// tokens of the first prompt of this turn, or since the conversation was shortened in it; 0: none yet
	base  int
	spent int // tokens of this turn that shortening the conversation took out of it
}

// Run runs one turn. The prompt is on disk before the model is called. The error is nil unless the turn
// failed: it is then an *llm.Error, or a failure to write the session.
func (a *Agent) Run(ctx context.Context, prompt llm.Message) (event.TurnEnd, error) {
	t := &turn{Agent: a, started: a.cfg.Clock()}
	defer t.goBack()
	a.doom.reset() // the user may ask for the same again
	a.mu.Lock()
	a.steps = 0
	a.mu.Unlock()
	err := t.open(ctx, prompt)
	if err == nil {
		t.end.Reason, err = t.steps(ctx)
	}
	var blocked *Blocked
	switch {
	case errors.As(err, &blocked):
		a.cfg.Publish(event.Notice{Level: "warning", Text: blocked.Error()})
		t.end.Reason, err = event.EndStopped, nil
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

// open puts the prompt on disk and then opens the turn. A turn whose prompt cannot be written opens without it.
func (t *turn) open(ctx context.Context, prompt llm.Message) error {
	synthetic := !slices.ContainsFunc(prompt.Parts, authored) // news that wakes the agent
	whole := t.attach(ctx, prompt)
	whole, err := t.admit(ctx, whole, synthetic, false)
	if err != nil {
		t.cfg.Publish(event.TurnStart{})
		t.giveBack(prompt, err)
		return err
	}
	ctx = context.WithoutCancel(ctx)
	err = t.save(ctx)
	if err == nil {
		err = t.record(func() error {
			err := t.cfg.Transcript.AddUser(ctx, whole, false, synthetic)
			if err == nil {
				t.cfg.Publish(event.TurnStart{Prompt: prompt})
			}
			return err
		}, event.UserMessage{Message: whole, Synthetic: synthetic})
	}
	if err != nil {
		t.cfg.Publish(event.TurnStart{})
	}
	t.unwritten = err != nil
	return err
}

// authored reports a part of a prompt that somebody sent, directly or as a command.
func authored(p llm.Part) bool {
	t, ok := p.(llm.Text)
	return !ok || t.Origin != llm.OriginReminder && t.Origin != llm.OriginContext && t.Origin != llm.OriginMemory
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
	for again := false; ; {
		if reason := t.limitReached(ctx); reason != "" {
			return reason, nil
		}
		if err := t.beforeStep(ctx, again); err != nil {
			return "", err
		}
		t.end.Steps++
		t.count(0, 1)
		reply, outcome, err := t.step(ctx)
		if err != nil {
			if again, err = t.stepAgain(ctx, err); !again {
				return "", err
			}
			t.end.Steps--
			t.count(0, -1)
			continue
		}
		again = false
		reason, err := t.after(ctx, reply, outcome)
		if reason != "" || err != nil {
			return reason, err
		}
	}
}

// limitReached is why no further step may begin, or "".
func (t *turn) limitReached(ctx context.Context) event.EndReason {
	if ctx.Err() != nil {
		return event.EndInterrupted
	}
	for a := t.Agent; a != nil; a = a.cfg.Parent {
		usd, steps, budget, most := a.used()
		switch {
		case most > 0 && steps >= most:
			return event.EndMaxSteps
		case budget > 0 && usd >= budget:
			return event.EndBudget
		}
	}
	return ""
}

// beforeStep gathers the parts of the next request: steered messages, those of the hooks, the tools. Before
// a step that is sent again the hooks have run already. They run once more after a compaction, which may have removed
// their messages from the conversation.
func (t *turn) beforeStep(ctx context.Context, again bool) error {
	if err := t.priced(); err != nil {
		return err
	}
	if err := t.takeSteers(ctx); err != nil {
		return err
	}
	if !again || t.compacted {
		if err := t.stepHooks(ctx); err != nil {
			return err
		}
	}
	if _, err := t.refresh(ctx); err != nil {
		return err
	}
	if err := t.relieve(ctx); err != nil {
		return err
	}
	if t.compacted {
		if err := t.stepHooks(ctx); err != nil {
			return err
		}
	}
	t.renew()
	return nil
}

// priced refuses a model whose cost will not be known where the cost is limited.
func (t *turn) priced() error {
	m, _ := t.Model()
	if m == nil || m.Info().CostKnown() {
		return nil
	}
	for a := t.Agent; a != nil; a = a.cfg.Parent {
		if _, _, budget, _ := a.used(); budget > 0 {
			return unpriced(m.Info(), budget)
		}
	}
	return nil
}

func unpriced(m llm.ModelInfo, budget float64) error {
	name, _, _ := strings.Cut(m.Host, "@")
	return &llm.Error{
		Kind: llm.KindInvalid, Provider: name, Message: fmt.Sprintf(
			"the limit of $%g cannot be held: the price of %s is not known", budget, m.ID),
		Hint: fmt.Sprintf("set inputPrice and outputPrice under providers.%s.models in your settings, or go without "+
			"--max-budget-usd", name),
	}
}

func (t *turn) stepHooks(ctx context.Context) error {
	t.compacted = false
	for _, h := range t.cfg.BeforeStep {
		if _, err := t.sayAll(ctx, h.Name, func() ([]llm.Message, error) { return h.Run(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// stepAgain reports whether a step that failed before any call is to be sent again: to another model, after
// the conversation was made shorter, or without the images that the provider refused.
func (t *turn) stepAgain(ctx context.Context, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, err
	}
	e := llm.AsError(err)
	switch {
	case e != nil && e.Kind == llm.KindTooLarge:
		return t.overflow(ctx, err)
	case e != nil && e.Kind == llm.KindImage:
		return t.withoutMedia(ctx, e)
	}
	return t.useFallback(err), err
}

// prepare builds the system prompt, which stays the same for the whole session. After a failure the next turn
// tries again.
func (a *Agent) prepare(ctx context.Context) error {
	a.setup.Lock()
	defer a.setup.Unlock()
	if a.ready || a.cfg.System == nil {
		return nil
	}
	system, err := a.cfg.System(ctx)
	if err != nil {
		return err
	}
	a.system, a.ready = system, true
	return nil
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
	t.cfg.Publish(event.ModelFallback{From: old.Info().ID, To: next.Info().ID, Reason: string(e.Kind)})
	t.cfg.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf(
		"%s cannot answer (%v); going on with %s", old.Info().ID, e.Kind, next.Info().ID)})
	return true
}

// goBack undoes useFallback: the next turn tries the user's model again, unless somebody chose
// another one meanwhile.
func (t *turn) goBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.first != nil && t.chosen == t.choices {
		t.model = t.first
	}
}
