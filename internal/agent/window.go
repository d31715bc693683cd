package agent

import (
	"context"

	"github.com/lathe-dev/lathe/internal/llm"
)

// maxOverflows is how often in a row a step is sent again after the window overflowed: once for each way of
// making a conversation shorter, and once more.
const maxOverflows = 4

// relieve calls OnWindow when the next prompt is at the mark or above.
func (t *turn) relieve(ctx context.Context) error {
	if t.cfg.OnWindow == nil {
		return nil
	}
	w := t.window()
	if w.Mark <= 0 || w.Used < w.Mark {
		return nil
	}
	if w.Used = t.plausible(w.Used); w.Used < w.Mark {
		return nil
	}
	_, err := t.onWindow(ctx, w)
	return err
}

// overflow makes room after the provider refused a prompt as too long, or stopped because of its length. It
// reports whether the step may be sent again; if not, the error is the one to end with.
func (t *turn) overflow(ctx context.Context, cause error) (bool, error) {
	if t.cfg.OnWindow == nil || t.overflows >= maxOverflows {
		return false, cause
	}
	t.overflows++
	w := t.window()
	w.Overflow, w.Err, w.Used = true, cause, t.plausible(w.Used)
	shrunk, err := t.onWindow(ctx, w)
	if err != nil {
		return false, err
	}
	return shrunk, cause
}

// Aside is a request that puts one more message of the user behind a conversation, which else is the same as the
// loop's last one: the provider finds it in its cache. Nil where the tools or the system prompt are not to be had.
func (a *Agent) Aside(ctx context.Context, msgs []llm.Message, question string) *llm.Request {
	box, err := a.tools.Load(), a.prepare(ctx)
	if box == nil && err == nil {
		box, err = a.refresh(ctx)
	}
	if err != nil {
		return nil
	}
	model, effort := a.Model()
	info := model.Info()
	r := newRepair(info)
	for _, m := range msgs {
		r.add(m)
	}
	r.add(llm.UserText(question))
	req := &llm.Request{
		System: a.system, Tools: box.list(info), Effort: effort, Temperature: a.cfg.Temperature, MaxTokens: a.limit(0),
		Messages: r.history(),
	}
	if a.cfg.Adjust != nil {
		a.cfg.Adjust(ctx, info, req)
	}
	return req
}

func (t *turn) onWindow(ctx context.Context, w Window) (bool, error) {
	before := t.cfg.Transcript.Revision()
	shrunk, err := guarded("making room in the context window", func() (bool, error) { return t.cfg.OnWindow(ctx, w) })
	if t.cfg.Transcript.Revision() == before {
		return shrunk, err
	}
	t.compacted = true
	if t.base > 0 {
		t.spent += max(0, w.Used-t.base)
		t.base = 0
	}
	return shrunk, err
}

// window is the state of the window before the next request.
func (t *turn) window() Window {
	model, _ := t.Model()
	info := model.Info()
	return Window{Model: info, Used: t.promptSize(t.cfg.Transcript.Messages()), Mark: t.cfg.WindowMark(info)}
}

// plausible replaces a provider's count by an estimate where it cannot be right: no prompt was answered that has twice
// the tokens of the window, and the tokens of a text are more than a third of the estimate.
func (t *turn) plausible(used int) int {
	model, _ := t.Model()
	estimate := llm.EstimateRequest(&llm.Request{
		System: t.system, Tools: t.tools.Load().specs,
		Messages: t.cfg.Transcript.Messages(),
	})
	if window := model.Info().ContextWindow; window > 0 && used > 2*window {
		return estimate
	}
	return max(used, estimate/3)
}

// promptSize is about how many tokens the prompt of these messages has: the provider's count for the newest
// reply, and an estimate of the messages after it. Before the first reply all of it is estimated.
func (a *Agent) promptSize(msgs []llm.Message) int {
	n, counted := llm.PromptTokens(msgs)
	if counted {
		return n
	}
	return n + llm.EstimateRequest(&llm.Request{System: a.system, Tools: a.tools.Load().specs})
}
