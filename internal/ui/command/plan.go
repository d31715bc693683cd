package command

import (
	"context"

	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

func planCommand() Command {
	return Command{
		Name: "plan", Group: groupRules, Args: "[prompt]",
		Help: "Plan first: nothing is changed until you have approved a plan",
		Doc: "With a prompt, it is sent in plan mode. When plan mode is on already, the plan so far is shown. Shift+Tab " +
			"and `/mode` lead out of it without an approval.",
		Run: plan,
	}
}

func plan(ctx context.Context, h *Host, args string) (event.Output, error) {
	on := h.Status().Mode == "plan"
	if !on {
		if err := h.SetMode(ctx, "plan"); err != nil {
			return event.Output{}, err
		}
	}
	if args != "" {
		m := llm.UserText(args)
		return event.Output{Prompt: &m}, nil
	}
	if !on {
		return text("Plan mode is on: nothing is changed until you have approved a plan."), nil
	}
	draft, err := consult.ReadFile(consult.FileOf(h.Session().Log()))
	if err != nil {
		return event.Output{}, err
	}
	if draft == "" {
		return text("Plan mode is on; there is no plan yet."), nil
	}
	return event.Output{Text: draft}, nil
}
