package command

import (
	"context"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// goOn is the prompt of a turn that goes on after a request that failed.
const goOn = "The request to the model failed. Go on where you stopped."

// unanswered reports that the last turn did some work, and ended because its next request had no answer.
func unanswered(log *session.Session) bool {
	var last session.TurnEnd
	b := log.Branch().Only("turn_end")
	for _, e := range b.Entries(max(b.Len()-1, 0), b.Len()) {
		last, _ = e.Body.(session.TurnEnd)
	}
	messages := log.Messages()
	if len(messages) == 0 {
		return false
	}
	results := 0
	for _, p := range messages[len(messages)-1].Parts {
		if r, ok := p.(llm.ToolResult); ok {
			results++
			if r.IsError && strings.Contains(r.PlainText(), "the user interrupted") {
				return false
			}
		}
	}
	switch event.EndReason(last.Reason) {
	case event.EndInterrupted:
		return results > 0
	case event.EndCompleted, event.EndRefused, event.EndStopped:
		return false
	}
	return last.Err != "" && last.Steps > 1
}

func retry(ctx context.Context, h *Host, _ string) (event.Output, error) {
	log := h.Session().Log()
	if unanswered(log) {
		m := llm.UserText(goOn)
		return event.Output{Prompt: &m}, nil
	}
	all := userMessages(log)
	branch := onBranch(log, all)
	for _, i := range slices.Backward(branch) {
		if all[i].body.Steered {
			continue
		}
		m := session.StripContext(all[i].body.Message)
		if err := h.Checkout(ctx, all[i].parent); err != nil {
			return event.Output{}, err
		}
		return event.Output{Prompt: &m}, nil
	}
	return event.Output{}, errNothing
}
