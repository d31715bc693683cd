package cli

import (
	"context"
	"errors"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// headless runs turns of one conversation and prints them.
type headless struct {
	conv    Conversation
	printer printer
	stats   *resultStats
	limits  limits
	last    bool                              // the run ends with this turn
	warn    func(n event.Notice)              // gets warnings that the printer does not write to stderr; nil: it does
	schema  bool                              // an answer must fit --json-schema
	asked   func(id string, q event.Question) // a question came up; nil: refuse
	closed  func(id string)                   // a question was answered, by whomever
	say     func(text string)                 // tells people on stderr what a turn waits for before it begins
	stop    func(context.CancelFunc)          // gets the cancel function of the turn that begins; may be nil
}

// readied is a conversation that waits before its first turn for parts that come from elsewhere.
type readied interface {
	Ready(ctx context.Context, say func(text string))
}

// once runs the one turn of a prompt run.
func (h *headless) once(ctx context.Context, m llm.Message) (outcome, error) {
	h.last = true
	out, err := h.turn(ctx, m)
	return out, joinErrors(err, h.printer.close())
}

// turn runs one turn and prints it. The error is a failure to print; how the turn went is in the outcome.
func (h *headless) turn(ctx context.Context, m llm.Message) (outcome, error) {
	h.stats.reset()
	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	if h.stop != nil {
		h.stop(interrupt)
		defer h.stop(nil)
	}
	if r, ok := h.conv.(readied); ok { // so that the first line has what the first request will
		r.Ready(ctx, h.say)
	}
	if err := h.printer.begin(h.conv.About()); err != nil {
		return outcome{}, err
	}
	// Events are read to the turn's end whatever happens: that is when the session is complete.
	events, noTurn := context.WithCancel(context.WithoutCancel(ctx))
	defer noTurn()
	done := make(chan error, 1)
	go func() {
		err := h.conv.Prompt(ctx, m)
		if errors.Is(err, ErrNotStarted) {
			noTurn()
		}
		done <- err
	}()
	failed := h.follow(events, interrupt)
	out := h.stats.outcomeOf(<-done)
	out.limits, out.goal = h.limits, h.stats.goal
	h.structured(&out)
	if failed != nil {
		return out, failed
	}
	if h.last {
		failed = h.sayEnded(ctx)
	}
	return out, joinErrors(failed, h.printer.finish(h.stats, &out))
}

// sayEnded waits for commands in the background and reports those that end with the run.
func (h *headless) sayEnded(ctx context.Context) error {
	text := endBackground(ctx, h.conv)
	if text == "" {
		return nil
	}
	return h.show(event.Event{Body: event.Notice{Level: "warning", Text: text}})
}

// show prints an event; a warning is on stderr too, whatever the format.
func (h *headless) show(e event.Event) error {
	if n, ok := e.Body.(event.Notice); ok && n.Level != "info" && h.warn != nil {
		h.warn(n)
	}
	return h.printer.event(e)
}

// follow prints events until the turn's end. When they cannot be printed it interrupts the turn, and still
// reads on.
func (h *headless) follow(ctx context.Context, interrupt func()) error {
	var failed error
	for h.stats.end == nil {
		e, err := h.conv.Next(ctx)
		if err != nil {
			return failed
		}
		h.stats.observe(e)
		h.questions(e)
		if failed != nil {
			continue
		}
		if failed = h.show(e); failed != nil {
			interrupt()
		}
	}
	return failed
}

// questions passes questions on, or refuses them when there is no one to ask.
func (h *headless) questions(e event.Event) {
	switch b := e.Body.(type) {
	case event.Asked:
		if h.asked != nil {
			h.asked(b.ID, b.Question)
			return
		}
		// A failure means that another answer came first.
		_ = h.conv.Answer(b.ID, event.Answer{Choice: event.ChoiceNo, Canceled: true, Text: "no person can answer here"})
	case event.Answered:
		if h.closed != nil {
			h.closed(b.ID)
		}
	}
}

// structured adds the answer that fits the schema to the outcome, or that there is none.
func (h *headless) structured(o *outcome) {
	if !h.schema {
		return
	}
	switch value := h.conv.Output(); {
	case o.end.Reason == event.EndCompleted && value != nil:
		o.structured = value
	case o.end.Reason == event.EndCompleted, errors.Is(o.err, ErrNoAnswer):
		o.schemaLeft = true
	}
}
