package subagent

import (
	"context"
	"errors"
)

// Explore has an agent with read-only tools answer a prompt, for work beside the conversation. Its session is one under the session's own.
func (a *Agents) Explore(ctx context.Context, model, prompt string) (string, error) {
	out, err := a.Run(ctx, Request{Call: "explore-" + a.NewID(), Kind: "Explore", Title: "Judge the work", Prompt: prompt, Model: model})
	switch {
	case err != nil:
		return "", err
	case out.Problem != "":
		return "", errors.New(out.Problem)
	}
	return out.Answer, nil
}
