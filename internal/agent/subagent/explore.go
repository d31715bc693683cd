package subagent

import (
	"context"
	"errors"
	"slices"
)

// Explore has an agent with read-only tools answer a prompt, for work beside the conversation. Its session is one under
// the session's own. It is the built-in kind, not a file of that name, which may have other tools or judges of its own.
func (a *Agents) Explore(ctx context.Context, model, prompt string) (string, error) {
	return a.ExploreFor(ctx, "Judge the work", model, prompt)
}

// ExploreFor is Explore for a task with another title.
func (a *Agents) ExploreFor(ctx context.Context, title, model, prompt string) (string, error) {
	kind := explorer()
	out, err := a.Run(ctx, Request{
		Call: "explore-" + a.NewID(), As: &kind, Title: title, Prompt: prompt,
		Model: model,
	})
	switch {
	case err != nil:
		return "", err
	case out.Problem != "":
		return "", errors.New(out.Problem)
	}
	return out.Answer, nil
}

// explorer is the built-in kind that reads and changes nothing.
func explorer() Kind {
	list := BuiltIn()
	return list[slices.IndexFunc(list, func(k Kind) bool { return k.Name == "Explore" })]
}
