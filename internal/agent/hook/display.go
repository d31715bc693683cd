package hook

import (
	"context"
	"fmt"

	"github.com/lathe-dev/lathe/internal/agent"
)

// display is what says how a reply is shown: nil without hooks of MessageDisplay, and for agents, whose replies are
// results of calls.
func (h *Hooks) display() func(context.Context, agent.Showing) (string, bool) {
	if h.child() || !h.Any("MessageDisplay") {
		return nil
	}
	return h.showText
}

// showText has the hooks of MessageDisplay say what is shown of a piece of text. If several do, the first one counts.
func (h *Hooks) showText(ctx context.Context, piece agent.Showing) (string, bool) {
	if isWithin(ctx) {
		return "", false
	}
	h.mu.Lock()
	turn := h.prompt
	h.mu.Unlock()
	runs := h.fire(ctx, occasion{event: "MessageDisplay", fields: map[string]any{
		"turn_id": turn, "message_id": piece.Message, "index": piece.Index, "final": piece.Final, "delta": piece.Text,
	}})
	var first *Run
	for i, r := range runs {
		text := r.Output.Specific.DisplayContent
		switch {
		case text == nil || r.Exit == 2 || r.Err != nil:
		case first == nil:
			first = &runs[i]
		case *text != *first.Output.Specific.DisplayContent:
			h.disagree(first, r)
		}
	}
	if first == nil {
		return "", false
	}
	return *first.Output.Specific.DisplayContent, true
}

// disagree warns, once in a session, of two hooks that show the same piece differently.
func (h *Hooks) disagree(first *Run, other Run) {
	h.mu.Lock()
	told := h.disagreed
	h.disagreed = true
	h.mu.Unlock()
	if !told {
		h.warn(fmt.Sprintf("two hooks of MessageDisplay show the same text differently; %s counts, %s does not",
			first.Handler.Text(), other.Handler.Text()))
	}
}
