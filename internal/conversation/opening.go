package conversation

import (
	"context"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// Opening is everything that a new conversation sends before the user's first words.
type Opening struct {
	Model   string
	System  []prompt.Section
	Tools   []llm.ToolSpec
	Context []prompt.Section // of the first message, with the texts as they are sent
	Notice  string           // sections and instructions that do not reach the model whole
}

// Opening builds the opening of a new conversation with the session's settings. Nothing is sent.
func (s *Session) Opening(ctx context.Context) Opening {
	model := s.Model().ID
	p := prompt.Begin(ctx, s.contextOptions(model))
	out := Opening{Model: model, System: prompt.SystemSections(s.systemOptions()), Tools: s.Specs(), Context: p.Sent(ctx)}
	out.Notice = p.Notice()
	return out
}
