package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// admit hands a message to the hooks; messages of lathe's own are not judged.
func (t *turn) admit(ctx context.Context, m llm.Message, synthetic, steered bool) (llm.Message, error) {
	if t.cfg.Admit == nil || synthetic {
		return m, nil
	}
	return t.cfg.Admit(ctx, m, steered)
}

func (t *turn) attach(ctx context.Context, m llm.Message) llm.Message {
	if t.cfg.Attach == nil {
		return m
	}
	return t.cfg.Attach(ctx, m)
}

func (t *turn) takeSteers(ctx context.Context) error {
	if t.cfg.Boundaries && t.end.Steps == 0 {
		return nil
	}
	steers := t.TakeSteers()
	for i, m := range steers {
		whole, err := t.admit(ctx, t.attach(ctx, m), !slices.ContainsFunc(m.Parts, authored), true)
		var blocked *Blocked
		if errors.As(err, &blocked) {
			t.cfg.Publish(event.Notice{Level: "warning", Text: blocked.Error()})
			t.giveBack(m, err)
			continue
		}
		if err == nil {
			err = t.say(ctx, whole, true)
		}
		if err != nil {
			t.mu.Lock()
			t.steers = append(steers[i:len(steers):len(steers)], t.steers...)
			t.mu.Unlock()
			return err
		}
		t.doom.reset()
	}
	return nil
}

// giveBack returns a message that was not admitted, unless the hook that refused it wants it hidden.
func (t *turn) giveBack(m llm.Message, err error) {
	if blocked, ok := errors.AsType[*Blocked](err); !ok || !blocked.Secret {
		t.cfg.Publish(event.Returned{Message: m})
	}
}

// say adds a user message in the middle of a turn.
func (t *turn) say(ctx context.Context, m llm.Message, steered bool) error {
	err := t.record(func() error {
		return t.cfg.Transcript.AddUser(context.WithoutCancel(ctx), m, steered, !steered)
	}, event.UserMessage{Message: m, Steered: steered, Synthetic: !steered})
	t.unwritten = t.unwritten || err != nil
	return err
}
