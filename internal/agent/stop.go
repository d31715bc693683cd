package agent

import (
	"context"
	"fmt"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Limits on the attempts of a turn before it gives up.
const (
	maxCut    = 3  // "go on" after replies cut by the output limit
	maxBroken = 4  // broken replies in a row
	maxPauses = 10 // pause_turn in a row
)

const (
	goOnCut = "Your reply was cut off at the output limit. Go on exactly where it stopped, without repeating or " +
		"apologising; if one file or call is too long for one reply, split it into smaller ones."
	goOnEmpty = "Your last reply was empty. If the work is done, say in a few words what was done; otherwise go on."
)

// outcome sums up the calls of a step.
type outcome struct {
	calls       int
	refused     bool // the user refused a call and wants the turn to end
	interrupted bool
	ended       bool   // a tool ended the turn
	doomed      bool   // the model repeats itself although it was warned
	stopped     string // a hook ended the turn; it says why
	broke       error
	writeErr    error // the session could not be written
}

// after decides how the turn goes on after a step: a reason ends it, "" means another step.
func (t *turn) after(ctx context.Context, reply llm.Message, out outcome) (event.EndReason, error) {
	switch {
	case out.writeErr != nil:
		t.unwritten = true
		return "", out.writeErr
	case out.interrupted || ctx.Err() != nil:
		return event.EndInterrupted, nil
	case out.refused:
		return event.EndRefused, nil
	case out.doomed:
		return event.EndDoomLoop, nil
	case out.stopped != "":
		t.cfg.Publish(event.Notice{Level: "warning", Text: out.stopped})
		return event.EndStopped, nil
	case out.ended:
		return event.EndCompleted, nil
	case out.broke != nil:
		return "", t.afterBreak(ctx, out.broke)
	}
	t.broken = 0
	if reply.Stop != llm.StopContextWindow {
		t.overflows = 0
	}
	if out.calls > 0 {
		if reply.Stop == llm.StopMaxTokens { // the calls ran; the limit is lifted for the rest of the turn
			t.raise()
		}
		return "", nil
	}
	return t.afterText(ctx, reply)
}

// afterBreak waits before the next request after a reply that broke off; its calls have their results.
func (t *turn) afterBreak(ctx context.Context, err error) error {
	t.broken++
	if t.broken >= maxBroken {
		return fmt.Errorf("the connection to the model broke off %d times in a row: %w", t.broken, err)
	}
	delay := t.cfg.RetryBase << (t.broken - 1)
	t.cfg.Publish(event.Retry{Attempt: t.broken, Max: maxBroken - 1, Delay: delay, Err: err.Error()})
	return t.cfg.Sleep(ctx, delay)
}

// raise lifts the output limit to the model's own; false when it was there already, or is not known.
func (t *turn) raise() bool {
	m, _ := t.Model()
	limit := m.Info().MaxOutput
	if t.raised || !m.Info().Known || limit <= t.limit() {
		return false
	}
	t.raised, t.maxTokens = true, limit
	return true
}

// limit is the output limit in force; 0 leaves it to the provider.
func (t *turn) limit() int { return t.Agent.limit(t.maxTokens) }

func (a *Agent) limit(raised int) int {
	m, _ := a.Model()
	limit := max(raised, a.cfg.MaxTokens)
	if limit <= 0 && (!m.Info().Known || m.Info().MaxOutput == 0) {
		return 0 // its limits are not known, and a local server refuses a limit that exceeds it
	}
	if limit <= 0 {
		limit = llm.DefaultMaxTokens
	}
	if most := m.Info().MaxOutput; most > 0 && limit > most {
		limit = most
	}
	return limit
}

// afterText decides after a reply without calls.
func (t *turn) afterText(ctx context.Context, reply llm.Message) (event.EndReason, error) {
	switch reply.Stop {
	case llm.StopPauseTurn:
		if t.pauses++; t.pauses <= maxPauses {
			return "", nil
		}
	case llm.StopRefusal:
		return "", &llm.Error{
			Kind: llm.KindInvalid, Message: "the model refused to answer",
			Hint: "put the request differently, or choose another model with --model",
		}
	case llm.StopContextWindow:
		return "", t.afterFullWindow(ctx, reply)
	case llm.StopMaxTokens:
		if t.cut++; t.cut <= maxCut {
			t.raise()
			return "", t.say(ctx, llm.UserText(goOnCut), false)
		}
		return "", &llm.Error{
			Kind: "max_output_tokens", Message: fmt.Sprintf("the reply was cut off at the output limit %d times", t.cut),
			Hint: "raise maxOutputTokens, or ask for the work in smaller pieces",
		}
	case llm.StopEndTurn, llm.StopToolUse, llm.StopSequence, llm.StopBroken, llm.StopInterrupted:
	}
	if reply.PlainText() == "" && !t.nudged {
		t.nudged = true
		return "", t.say(ctx, llm.UserText(goOnEmpty), false)
	}
	return t.gate(ctx, reply)
}

// gate lets steered messages and then the hooks of BeforeStop continue the turn.
func (t *turn) gate(ctx context.Context, reply llm.Message) (event.EndReason, error) {
	t.mu.Lock()
	waiting := len(t.steers) > 0 && !t.cfg.Boundaries
	t.mu.Unlock()
	if waiting {
		return "", nil
	}
	more := false
	for _, h := range t.cfg.BeforeStop {
		said, err := t.sayAll(ctx, h.Name, func() ([]llm.Message, error) { return h.Run(ctx, reply) })
		if err != nil {
			return "", err
		}
		more = more || said
	}
	if more {
		return "", nil
	}
	return event.EndCompleted, nil
}

// afterFullWindow goes on after a reply that the end of the window cut off, when the conversation could be
// made shorter.
func (t *turn) afterFullWindow(ctx context.Context, reply llm.Message) error {
	again, err := t.overflow(ctx, &llm.Error{
		Kind: llm.KindTooLarge, Message: "the conversation is longer than the model's context window",
		Hint: "start a new session, or choose a model with a larger window with --model",
	})
	if !again {
		return err
	}
	if reply.PlainText() == "" {
		return nil
	}
	return t.say(ctx, llm.UserText(goOnCut), false)
}
