package console

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// admission is a prompt that was taken. Settled is closed when it is on disk, or cannot be.
type admission struct {
	stamp   int // counts them
	settled chan struct{}
	err     error
}

// settled is the admission of a prompt that the log has.
var settled = func() *admission {
	a := &admission{settled: make(chan struct{})}
	close(a.settled)
	return a
}()

// acquire reserves the console for a turn or a switch, until release.
func (c *Console) acquire() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return errClosed
	case c.busy:
		return ErrBusy
	}
	c.busy = true
	return nil
}

// release ends the reservation. A message that came meanwhile begins its turn.
func (c *Console) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hurry && len(c.queue) > 0 && !c.closed {
		c.beginNext()
		return
	}
	c.busy = false
}

// begin runs turns with a message. The caller holds the lock, and has found that the console is not busy.
func (c *Console) beginTurns(m llm.Message) {
	c.busy, c.turn, c.hurry = true, m.ID, false
	s := c.front
	c.works.Go(func() {
		c.publishState()
		c.recordChoices(c.ctx, s)
		c.turns(s, m)
	})
}

// beginNext begins the turn of the first message that waits.
func (c *Console) beginNext() {
	m := c.queue[0]
	c.queue = c.queue[1:]
	c.beginTurns(m)
}

// Prompt takes a message for the model; see [port.Session]. While a turn or a command runs, it waits.
func (c *Console) Prompt(ctx context.Context, p port.Prompt) (port.Receipt, error) {
	if p.ID == "" {
		p.ID = uuid.NewString()
	}
	m := p.Message
	m.ID, m.From = p.ID, p.From
	a, known, err := c.admit(p)
	if err != nil {
		return port.Receipt{}, err
	}
	if known {
		return port.Receipt{ID: p.ID, State: port.Known}, a.wait(ctx)
	}
	if !scheduled(p) {
		c.remember(m)
	}
	c.mu.Lock()
	if !c.busy && !c.closed {
		c.beginTurns(m)
		c.mu.Unlock()
		return port.Receipt{ID: p.ID, State: port.Begun}, a.wait(ctx)
	}
	s := c.front
	c.mu.Unlock()
	if err := c.journalQueue(s, queuedKind, queuedEntry{p.ID, &m}); err != nil {
		c.settle(p.ID, err)
		return port.Receipt{}, err
	}
	c.settle(p.ID, nil)
	return port.Receipt{ID: p.ID, State: c.deliver(m, p.When)}, nil
}

func (a *admission) wait(ctx context.Context) error {
	select {
	case <-a.settled:
		return a.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// admit records a prompt by its id. Known: it was taken before, perhaps by an earlier process.
func (c *Console) admit(p port.Prompt) (a *admission, known bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.taken[p.ID]; a != nil {
		return a, true, nil
	}
	if c.logged == nil {
		c.logged = promptsIn(c.front.Log())
	}
	if c.logged[p.ID] {
		return settled, true, nil
	}
	switch {
	case c.closed:
		return nil, false, errClosed
	case p.Turn != "" && p.Turn != c.turn:
		return nil, false, port.ErrTurnOver
	}
	a = &admission{stamp: len(c.taken), settled: make(chan struct{})}
	c.taken[p.ID] = a
	return a, false, nil
}

// settle says that a prompt is on disk, or why it cannot be. A prompt that failed may be sent again.
func (c *Console) settle(id string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.taken[id]
	if a == nil {
		return
	}
	select {
	case <-a.settled:
		return
	default:
	}
	if a.err = err; err != nil {
		delete(c.taken, id)
	}
	close(a.settled)
}

// deliver hands a message to the running turn, or lets it wait for the end. It returns the state for the receipt.
func (c *Console) deliver(m llm.Message, when port.When) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.touch()
	if !c.busy && !c.closed { // what ran has just ended
		c.beginTurns(m)
		return port.Begun
	}
	if when != port.AfterTurn {
		steered := m
		steered.Parts = append(c.pending[:len(c.pending):len(c.pending)], m.Parts...)
		if c.front.Steer(steered) {
			c.pending = nil
			if when == port.AtOnce {
				_, _ = c.detachRunning(c.front)
			}
			return port.ForStep
		}
	}
	c.hurry = c.hurry || c.turn == "" // a command runs
	c.queue = append(c.queue, m)
	return port.ForAfter
}

// promptsIn are the ids of the prompts of a log, also of those that were dropped.
func promptsIn(log *session.Session) map[string]bool {
	out := map[string]bool{}
	if log == nil {
		return out
	}
	all := log.Everything().Only(queuedKind, session.User{}.Kind())
	for _, e := range all.Entries(0, all.Len()) {
		switch b := e.Body.(type) {
		case session.User:
			out[b.Message.ID] = true
		case session.Unknown:
			var q queuedEntry
			if json.Unmarshal(b.JSON, &q) == nil {
				out[q.ID] = true
			}
		}
	}
	delete(out, "")
	return out
}

// turns runs a turn, then one for each message that waits. The console is busy.
func (c *Console) turns(s *conversation.Session, m llm.Message) {
	for {
		end, err := s.Prompt(c.ctx, c.withPending(m))
		if end.Reason != "" {
			err = nil // the turn has an event
		}
		c.settle(m.ID, err)
		if err != nil && c.ctx.Err() == nil {
			c.bus.Publish(s.ID(), nil, event.Notice{Level: "error", Text: err.Error()})
		}
		next := c.afterTurn(s, end.Reason)
		if next == nil {
			c.publishState()
			return
		}
		m = *next
		c.publishState()
	}
}

// afterTurn takes the next message, or ends the work. After a turn that failed nothing is sent automatically:
// messages stay in the queue, steered ones first. After one that was interrupted while messages waited the first
// steered one opens the next turn, and the others follow in it.
func (c *Console) afterTurn(s *conversation.Session, reason event.EndReason) *llm.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.touch()
	completed := reason == event.EndCompleted
	hurry := c.hurry && reason == event.EndInterrupted && !c.closed
	next := func(m llm.Message) *llm.Message {
		c.turn = m.ID
		return &m
	}
	if c.hurry = false; hurry {
		if m, ok := s.NextSteer(); ok {
			return next(m)
		}
	}
	if (completed || hurry) && len(c.queue) > 0 && !c.closed {
		m := c.queue[0]
		c.queue = c.queue[1:]
		return next(m)
	}
	woken := c.woken
	if c.woken = false; completed && woken && !c.closed {
		if m, ok := c.news(s); ok {
			return next(m)
		}
	}
	c.busy, c.turn = false, ""
	c.queue = append(s.TakeSteers(), c.queue...)
	if n := len(c.queue); n > 0 && !c.closed {
		c.bus.Publish(s.ID(), nil, event.Notice{Level: "info", Text: unsent(n)})
	}
	return nil
}

// withPending puts the output of user commands before a message.
func (c *Console) withPending(m llm.Message) llm.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) > 0 {
		m.Parts = append(c.pending[:len(c.pending):len(c.pending)], m.Parts...)
		c.pending = nil
	}
	return m
}

// remember adds a prompt to the history, and the files it named to the frequently used ones, which come first
// in completion.
func (c *Console) remember(m llm.Message) {
	text := m.PlainText()
	c.prompts.add(text)
	c.mu.Lock()
	index := c.index
	c.mu.Unlock()
	for word := range strings.FieldsSeq(text) {
		if path, ok := strings.CutPrefix(word, "@"); ok && path != "" {
			index.Used(strings.TrimRight(path, ".,;:!?)"))
		}
	}
}

// cut is what the model is told of a turn that a killed process left.
const cut = "<system-reminder>\nThe process that ran this session ended in the middle of the turn, and lathe was " +
	"restarted. Calls without a result were cut off and may have had an effect: look before you repeat one. Go on with " +
	"the work.\n</system-reminder>"

// GoOn goes on with the work that a killed process left: the turn that was cut, and messages that wait.
func (c *Console) GoOn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.busy || c.closed || c.front.Log() == nil:
	case running(c.front.Log().Branch()):
		m := llm.Message{ID: uuid.NewString(), Role: llm.User}
		m.Parts = []llm.Part{llm.Text{Text: cut, Origin: llm.OriginReminder}}
		c.beginTurns(m)
	case len(c.queue) > 0:
		c.beginNext()
	}
}

// Resting reports that nothing runs, in the foreground or in the background, and nothing waits for the user.
func (c *Console) Resting() bool {
	return c.State().Doing == event.Idle && c.Status().Background == 0
}

// Interrupt ends the running turn and the running user commands. Messages that wait are sent at once.
func (c *Console) Interrupt(_ context.Context, turn string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if turn != "" && turn != c.turn {
		return port.ErrTurnOver
	}
	c.hurry = c.busy
	for _, end := range c.shell {
		end()
	}
	c.front.Interrupt()
	return nil
}

// publishState publishes what the session does, if that changed.
func (c *Console) publishState() {
	c.told.Lock()
	defer c.told.Unlock()
	if now := c.State(); now != c.state {
		c.state = now
		c.bus.Publish(c.session().ID(), nil, now)
	}
}

// State returns what the session does.
func (c *Console) State() event.State {
	now := event.State{Doing: event.Idle}
	c.mu.Lock()
	now.Turn = c.turn
	c.mu.Unlock()
	if now.Turn != "" {
		now.Doing = event.Working
	}
	if open := c.bus.Questions(); len(open) > 0 {
		now.Doing, now.For = event.Blocked, "answer"
		if open[0].Body.(event.Asked).Question.Permission != nil {
			now.For = "permission"
		}
	}
	return now
}
