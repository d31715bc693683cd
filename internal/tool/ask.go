package tool

import (
	"context"
	"errors"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// answerMax is how many tokens an answer about a page has at most.
const answerMax = 4000

// Asker makes Env.Ask of the small model. count adds its use to the cost of the session.
func Asker(small func(context.Context) (llm.Model, error), count func(purpose string, m llm.ModelInfo, u llm.Usage)) func(ctx context.Context, system, prompt string) (string, error) {
	return func(ctx context.Context, system, prompt string) (string, error) {
		m, err := small(ctx)
		if err != nil {
			return "", err
		}
		var said llm.Message
		for delta, err := range m.Stream(ctx, &llm.Request{
			System: []llm.Part{llm.Text{Text: system}}, Messages: []llm.Message{llm.UserText(prompt)}, MaxTokens: answerMax, Effort: "off",
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
