package compact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Triggers of a compaction.
const (
	Auto     = "auto"     // the window is filling up
	Overflow = "overflow" // the provider refused the prompt as too long
	Manual   = "manual"   // a person asked for it
)

// Conversation is the conversation to compact.
type Conversation interface {
	Messages() []llm.Message
	// Revision changes whenever Messages does otherwise than to grow.
	Revision() int
	// Compact replaces or edits the first Until messages, durably.
	Compact(ctx context.Context, c Change) error
}

// Change is one edit of a conversation: Messages take the place of the first Until messages, or reasoning is
// dropped from these; stubs are put in wherever the calls are.
type Change struct {
	Level         Level
	Trigger       string
	Until         int
	Messages      []llm.Message
	Stubs         map[string]string // call id -> text
	DropReasoning bool
	Before, After int    // tokens
	Failed        string // why no model wrote the summary
}

// Answer is a model's summary.
type Answer struct {
	Text  string
	Usage llm.Usage
}

// Compactor makes a conversation shorter when asked. Conversation is required. It is safe for concurrent use;
// one compaction runs at a time.
type Compactor struct {
	Conversation Conversation
	// Summarise sends the request to the model that writes summaries. Nil: an extract takes the summary's place.
	Summarise func(context.Context, *llm.Request) (Answer, error)
	// Aside puts a question behind the conversation, so that the model finds it in its cache; nil, or a nil result: the
	// model gets a transcript.
	Aside func(ctx context.Context, msgs []llm.Message, question string) *llm.Request
	Limit func() int                         // bytes of transcript that fit that model; nil: 400,000
	Save  func(context.Context, Stub) string // keeps a result and returns where, or ""; nil: nothing is kept
	// Kept is the rest of the message with the summary; nil: the user's texts only.
	Kept func(ctx context.Context, t Task, cut []llm.Message, userTexts []string) Kept
	// Gather starts to collect the input of Kept while the summary is requested. With ahead, the summary is prepared
	// before it is needed. Nil: nothing to collect.
	Gather    func(ctx context.Context, ahead bool)
	ResultKey func(llm.ToolCall) string // see Options.ResultKey

	run       sync.Mutex // held while a compaction runs
	mu        sync.Mutex
	ahead     *prepared
	userTexts []string // from messages that are gone
	quick     int      // summaries in a row after which the window was full again at once
	size      int      // messages after the last summary
}

// prepared is a summary made before it is needed.
type prepared struct {
	revision, cut int
	done          chan struct{}
	answer        Answer
	err           error
	cancel        context.CancelFunc
}

// Task is one occasion.
type Task struct {
	Trigger      string
	Used         int    // tokens of the prompt; 0: unknown
	Mark         int    // tokens at which a compaction is due
	Window       int    // tokens the model takes
	Instructions string // the user's, for the summary
	Running      bool   // in the middle of a turn
}

// Report is the outcome of a compaction. Level None: nothing could be made shorter.
type Report struct {
	Level         Level
	Trigger       string
	Before, After int
	Summary       string
	Failed        error // why a model wrote no summary, when an extract took its place
}

// Errors that end a turn.
var (
	ErrTooLarge = errors.New("the conversation cannot be made short enough for the model's window")
	ErrNothing  = errors.New("there is nothing to compact yet")
)

// Shares of the mark: a compaction aims at the first, so that the next one is a while away; a summary is
// prepared from the second on; a summary that is followed by fewer than minWork messages before the next was
// ineffective, and the third in a row of those ends the turn.
const (
	aim       = 60 // percent
	early     = 93 // percent
	minWork   = 4
	maxQuick  = 3
	roomAfter = 95 // percent of the window: with more than that no request can be answered
)

const defaultLimit = 400_000

// Run makes the conversation shorter. When ctx ends before the summary is there, nothing has changed.
func (c *Compactor) Run(ctx context.Context, t Task) (Report, error) {
	c.run.Lock()
	defer c.run.Unlock()
	msgs := c.Conversation.Messages()
	o := c.options(t)
	if t.Trigger == Manual { // a person who asks wants something to happen, however short it is
		o.Keep = max(1, min(defaultKeep, len(msgs)/2))
	}
	p := Make(msgs, t.Used, o)
	r := Report{Level: p.Level, Trigger: t.Trigger, Before: p.Before, After: p.After}
	if p.Level == Summary && p.Cut == 0 && len(p.Stubs) == 0 {
		if t.Trigger == Manual {
			return Report{}, ErrNothing
		}
		return Report{}, c.tooLarge(p, t)
	}
	if p.Level == Summary && t.Trigger != Manual && c.ineffective(len(msgs)) {
		return Report{}, fmt.Errorf("%w: it filled up again right after %d summaries; start a new session, or send less "+
			"at once", ErrTooLarge, maxQuick)
	}
	var answer Answer
	if p.Level == Summary && p.Cut > 0 {
		var err error
		if c.Gather != nil {
			c.Gather(ctx, false)
		}
		if answer, err = c.summary(ctx, &p, msgs, t); ctx.Err() != nil {
			return Report{}, ctx.Err()
		} else if err != nil {
			r.Failed, answer.Text = err, Extract(msgs[:p.Cut])
		}
	}
	r.Summary = answer.Text
	var err error
	if r.After, err = c.apply(ctx, p, msgs, t, r); err != nil {
		return Report{}, err
	}
	p.After = r.After
	if !p.Fits || t.Trigger == Overflow && r.After >= r.Before {
		return r, c.tooLarge(p, t)
	}
	return r, nil
}

// options are the bounds of this task.
func (c *Compactor) options(t Task) Options {
	mark := t.Mark
	if t.Trigger == Overflow && t.Used > 0 {
		mark = min(mark, t.Used*85/100)
	}
	o := Options{Target: mark * aim / 100, ResultKey: c.ResultKey}
	if t.Trigger == Manual {
		o.From = Summary
	}
	return o
}

// tooLarge is the error when the rest does not leave room for a reply, else nil: the mark lies below the window.
func (c *Compactor) tooLarge(p Plan, t Task) error {
	if t.Trigger != Overflow && (t.Window <= 0 || p.After < t.Window*roomAfter/100) {
		return nil
	}
	if t.Trigger == Overflow && p.After < p.Before*9/10 {
		return nil // try the rest
	}
	return fmt.Errorf("%w: about %d tokens stay; choose a model with a larger window, or start a new session",
		ErrTooLarge, p.After)
}

// ineffective counts summaries that were followed by next to nothing, and reports whether that is enough.
func (c *Compactor) ineffective(messages int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size == 0 || messages-c.size >= minWork {
		c.quick = 0
		return false
	}
	c.quick++
	return c.quick >= maxQuick
}

// Replace puts text in the place of a summary of the whole conversation. It asks no model.
func (c *Compactor) Replace(ctx context.Context, t Task, text string) error {
	c.run.Lock()
	defer c.run.Unlock()
	msgs := c.Conversation.Messages()
	if len(msgs) == 0 {
		return ErrNothing
	}
	if c.Gather != nil {
		c.Gather(ctx, false)
	}
	p := Plan{Level: Summary, Before: newHistory(msgs, t.Used).used, Cut: len(msgs)}
	_, err := c.apply(ctx, p, msgs, t, Report{Level: Summary, Trigger: t.Trigger, Summary: text})
	return err
}

// summary returns the summary of the messages that the plan cuts: the one that was prepared, when it covers enough, or
// a new one.
func (c *Compactor) summary(ctx context.Context, p *Plan, msgs []llm.Message, t Task) (Answer, error) {
	c.mu.Lock()
	ahead := c.ahead
	c.ahead = nil
	c.mu.Unlock()
	if ahead != nil {
		if t.Instructions == "" && ahead.revision == c.Conversation.Revision() && ahead.cut <= p.Cut && c.covers(ahead, *p,
			msgs, t) {
			select {
			case <-ahead.done:
			case <-ctx.Done():
				ahead.cancel()
				return Answer{}, ctx.Err()
			}
			if ahead.err == nil || errors.Is(ahead.err, ErrNoSummary) { // a model that refused would refuse again
				p.take(ahead.cut, msgs)
				return ahead.answer, ahead.err
			}
		}
		ahead.cancel()
	}
	return c.ask(ctx, msgs, p.Cut, t)
}

// covers reports whether a summary of the first ahead.cut messages leaves few enough.
func (c *Compactor) covers(ahead *prepared, p Plan, msgs []llm.Message, t Task) bool {
	p.take(ahead.cut, msgs)
	return p.After <= t.Mark*80/100
}

// take lets the plan cut fewer messages.
func (p *Plan) take(cut int, msgs []llm.Message) {
	for _, m := range msgs[cut:p.Cut] {
		p.After += llm.EstimateTokens(m)
	}
	p.Cut, p.Tail = cut, min(p.Tail, cut)
}

// ask requests a summary, and asks again if the answer is not one. A second such answer is kept, followed by an
// extract.
func (c *Compactor) ask(ctx context.Context, msgs []llm.Message, cut int, t Task) (Answer, error) {
	if c.Summarise == nil {
		return Answer{}, errors.New("there is no model to write a summary")
	}
	var answer Answer
	for range 2 {
		next, err := c.request(ctx, msgs, cut, t)
		if err != nil {
			return Answer{}, err
		}
		answer.Text, answer.Usage = next.Text, answer.Usage.Add(next.Usage)
		if text, err := Check(next.Text); err == nil {
			answer.Text = text
			return answer, nil
		}
	}
	if strings.TrimSpace(answer.Text) == "" {
		return answer, ErrNoSummary
	}
	answer.Text = tidy(answer.Text) + "\n\n" + Extract(msgs[:cut])
	return answer, nil
}

// request asks behind the conversation, or where that is refused or does not fit, with a transcript.
func (c *Compactor) request(ctx context.Context, msgs []llm.Message, cut int, t Task) (Answer, error) {
	if c.Aside != nil && t.Trigger != Overflow {
		if req := c.Aside(ctx, msgs, Question(t.Instructions)); req != nil {
			if answer, err := c.Summarise(ctx, req); err == nil || ctx.Err() != nil {
				return answer, err
			}
		}
	}
	limit := defaultLimit
	if c.Limit != nil {
		limit = c.Limit()
	}
	return c.Summarise(ctx, Request(msgs[:cut], t.Instructions, limit))
}

// apply writes the plan as one change and returns the tokens of the prompt after it: a crash leaves all of it or none.
func (c *Compactor) apply(ctx context.Context, p Plan, msgs []llm.Message, t Task, r Report) (after int, err error) {
	ctx = context.WithoutCancel(ctx)
	change := Change{
		Level: p.Level, Trigger: t.Trigger, Until: len(msgs), Stubs: c.stubs(ctx, p), DropReasoning: p.DropReasoning,
		Before: p.Before, After: p.After,
	}
	if p.DropReasoning {
		change.Until = p.Turn
	}
	if r.Failed != nil {
		change.Failed = r.Failed.Error()
	}
	if p.Level != Summary || p.Cut == 0 {
		return change.After, c.Conversation.Compact(ctx, change)
	}
	c.mu.Lock()
	userTexts := slices.Concat(c.userTexts, AllUserTexts(msgs[:p.Cut]))
	c.mu.Unlock()
	kept := Kept{UserTexts: userTexts}
	if c.Kept != nil {
		kept = c.Kept(ctx, t, msgs[:p.Cut], userTexts)
	}
	kept.Running = t.Running
	m := Message(r.Summary, kept)
	change.Until, change.Messages, change.DropReasoning = p.Cut, []llm.Message{m}, false
	change.After += llm.EstimateTokens(m)
	if err := c.Conversation.Compact(ctx, change); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.userTexts, c.size = userTexts, len(c.Conversation.Messages())
	return change.After, nil
}

// stubs keeps the results that go, and makes the texts that take their places.
func (c *Compactor) stubs(ctx context.Context, p Plan) map[string]string {
	if len(p.Stubs) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, s := range p.Stubs {
		path := ""
		if c.Save != nil {
			path = c.Save(ctx, s)
		}
		out[s.Call.ID] = s.Text(path)
	}
	return out
}

// SetUserTexts sets the user's texts from messages that an earlier process compacted, oldest first.
func (c *Compactor) SetUserTexts(texts []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.userTexts = texts
}

// AllUserTexts lists the texts that a person wrote in messages.
func AllUserTexts(msgs []llm.Message) []string {
	var out []string
	for _, m := range msgs {
		out = append(out, UserTexts(m)...)
	}
	return out
}

// UserTexts lists the texts that a person wrote in a message: those without an origin.
func UserTexts(m llm.Message) []string {
	var out []string
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && m.Role == llm.User && t.Origin == llm.OriginAuthor && t.Text != "" {
			out = append(out, t.Text)
		}
	}
	return out
}

// Note is called with the size of the prompt after every step. Shortly before a summary is due it has one
// written beside the work, so that the turn does not wait for it.
func (c *Compactor) Note(ctx context.Context, t Task) {
	if t.Mark <= 0 || t.Used < t.Mark*early/100 || c.Summarise == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	revision := c.Conversation.Revision()
	if c.ahead != nil && c.ahead.revision == revision {
		return
	}
	msgs := c.Conversation.Messages()
	p := Make(msgs, t.Used, c.options(t))
	if p.Level != Summary || p.Cut == 0 {
		return
	}
	if c.ahead != nil {
		c.ahead.cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	ahead := &prepared{revision: revision, cut: p.Cut, done: make(chan struct{}), cancel: cancel}
	c.ahead = ahead
	go func() {
		defer close(ahead.done)
		if c.Gather != nil {
			c.Gather(ctx, true)
		}
		ahead.answer, ahead.err = c.ask(ctx, msgs, p.Cut, Task{Trigger: Auto})
	}()
}
