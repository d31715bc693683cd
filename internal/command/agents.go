package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/subagent"
)

func agentCommands() []Command {
	return []Command{{
		Name: "agent", Group: groupModel, Args: "[name]", Help: "Work as an agent of another kind",
		Doc: "Its prompt takes the place of the system prompt; its tools, model, effort and steps hold from the next turn on, and are kept with the session. " +
			"`/agent default` goes back to lathe's own. A change loses the prompt cache.",
		Complete: completeAgents, Run: becomeAgent,
	}, {
		Name: "agents", Group: groupLathe, Args: "[name]", Help: "List the kinds of agents that Task can start",
		Doc:      "Each with its origin, tools and model; also files that were left out. docs/agents.md has more.",
		Complete: completeAgents, Run: listAgents,
	}}
}

func completeAgents(_ context.Context, h Host, typed string) []event.Candidate {
	var out []event.Candidate
	for _, k := range h.Extensions().Agents().All() {
		out = append(out, event.Candidate{Text: k.Name, Help: short(k.Description, 120)})
	}
	return choices(typed, out)
}

func becomeAgent(ctx context.Context, h Host, name string) (event.Output, error) {
	if name != "" {
		if err := h.Extensions().SetAgent(ctx, name); err != nil {
			return event.Output{}, err
		}
	}
	if now := h.Extensions().Agent(); now != "" {
		return text("This conversation is one of the agent %s.", code(now)), nil
	}
	return text("This conversation is one of lathe's own agent; `/agents` lists the others."), nil
}

func listAgents(_ context.Context, h Host, name string) (event.Output, error) {
	catalog := h.Extensions().Agents()
	if name != "" {
		k, err := catalog.Get(name)
		if err != nil {
			return event.Output{}, err
		}
		return event.Output{Text: describeAgent(k)}, nil
	}
	var b strings.Builder
	for _, k := range catalog.All() {
		fmt.Fprintf(&b, "- %s (%s) %s\n", code(k.Name), k.Source, code(short(k.Description, 160)))
	}
	if len(catalog.Notes) > 0 {
		b.WriteString("\nNotes:\n\n")
		for _, n := range catalog.Notes {
			b.WriteString("- " + code(n) + "\n")
		}
	}
	b.WriteString("\nA Markdown file in `.lathe/agents` or `.claude/agents`, of the project or yours, adds one.\n")
	return event.Output{Text: b.String()}, nil
}

func describeAgent(k *subagent.Kind) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) %s\n\n", code(k.Name), k.Source, code(k.Description))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "- %s: %s\n", name, code(text))
		}
	}
	tools := "all"
	if k.Tools != nil {
		tools = strings.Join(append([]string{}, k.Tools...), ", ")
	}
	if tools == "" {
		tools = "none"
	}
	line("tools", tools)
	line("without", strings.Join(slices.Clone(k.Without), ", "))
	line("model", k.Model)
	line("effort", k.Effort)
	if k.MaxSteps > 0 {
		line("most steps", fmt.Sprint(k.MaxSteps))
	}
	if k.ReadOnly {
		line("changes", "nothing")
	}
	if k.Temperature != nil {
		line("temperature", fmt.Sprint(*k.Temperature))
	}
	if p := k.Permissions; p != nil {
		line("allowed", strings.Join(p.Allow, ", "))
		line("asked", strings.Join(p.Ask, ", "))
		line("denied", strings.Join(p.Deny, ", "))
	}
	line("notes of", string(k.Memory))
	line("skills", strings.Join(k.Skills, ", "))
	line("colour", k.Color)
	line("file", k.Path)
	for _, n := range k.Notes {
		line("note", n)
	}
	return b.String()
}
