package tool

import (
	"context"
	"errors"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool/websearch"
)

// answerMax is how many tokens an answer about a page has at most.
const answerMax = 4000

// UseSmall lets WebFetch and WebSearch use the small model. count adds its use to the cost of the session.
func (e *Internet) UseSmall(small func(context.Context) (llm.Model, error), count func(purpose string, m llm.ModelInfo,
	u llm.Usage),
) {
	e.Ask = asker(small, count)
	e.small, e.count = small, count
}

// UseSearch lets WebSearch use the engine that the options choose, or the search of the small model's provider.
func (e *Internet) UseSearch(o websearch.Options) {
	e.Search = func(ctx context.Context) *websearch.Engine {
		o := o // calls run side by side
		if o.Model = e.small; e.count != nil {
			o.Count = func(m llm.ModelInfo, u llm.Usage) { e.count("web search", m, u) }
		}
		return o.Choose(ctx)
	}
}

// asker makes Env.Ask of the small model. count adds its use to the cost of the session.
func asker(small func(context.Context) (llm.Model, error), count func(purpose string, m llm.ModelInfo,
	u llm.Usage),
) func(ctx context.Context, system, prompt string) (string, error) {
	return func(ctx context.Context, system, prompt string) (string, error) {
		m, err := small(ctx)
		if err != nil {
			return "", err
		}
		var said llm.Message
		for delta, err := range m.Stream(ctx, &llm.Request{
			System: []llm.Part{llm.Text{Text: system}}, Messages: []llm.Message{llm.UserText(prompt)}, MaxTokens: answerMax,
			Effort: "off",
		}) {
			if err != nil {
				return "", err
			}
			if done, ok := delta.(llm.Done); ok {
				said = done.Message
			}
		}
		if said.Usage != nil {
			count("web page", m.Info(), *said.Usage)
		}
		if text := strings.TrimSpace(said.PlainText()); text != "" {
			return text, nil
		}
		return "", errors.New("it gave no answer")
	}
}
