package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
)

func agentCommands() []Command {
	return []Command{{
		Name: "agent", Group: groupModel, Args: "[name]", Help: "Work as an agent of another kind",
		Doc: "Its prompt takes the place of the system prompt; its tools, model, effort and steps hold from the next turn " +
			"on, and are kept with the session. " +
			"`/agent default` goes back to lathe's own. A change loses the prompt cache.",
		Complete: completeAgents, Run: becomeAgent,
	}, {
		Name: "agents", Group: groupLathe, Args: "[name | new | edit name | running | id]",
		Help: "List, make and edit kinds of agents, and watch those at work",
		Doc: "Each with its origin, tools and model; also files that were left out. new asks for the place, the tools and " +
			"the model, then for the name and the description, and opens " +
			"the prompt in your editor; edit opens a file of yours. The id of an agent shows its state and its last " +
			"calls. Changes count from the next call on. docs/agents.md has " +
			"more.",
		Complete: completeAgents, Run: runAgents,
	}}
}

func completeAgents(_ context.Context, h *Host, typed string) []event.Candidate {
	var out []event.Candidate
	for _, k := range h.Instance.Extensions().Agents.Catalog().All() {
		out = append(out, event.Candidate{Text: k.Name, Help: short(k.Description, 120)})
	}
	return choices(typed, out)
}

func becomeAgent(ctx context.Context, h *Host, name string) (event.Output, error) {
	if name != "" {
		if err := h.Session().SetAgent(ctx, name); err != nil {
			return event.Output{}, err
		}
	}
	if now := h.Session().Agent(); now != "" {
		return text("This conversation is one of the agent %s.", code(now)), nil
	}
	return text("This conversation is one of lathe's own agent; `/agents` lists the others."), nil
}

func runAgents(_ context.Context, h *Host, args string) (event.Output, error) {
	catalog := h.Instance.Extensions().Agents.Catalog()
	switch verb, rest := cutWord(args); verb {
	case "":
		return listAgents(h, catalog), nil
	case "new":
		return newAgent(catalog, rest)
	case "edit":
		return editAgent(catalog, rest)
	case "running":
		return runningAgents(h), nil
	}
	if out, ok := agentPage(h, args, ""); ok {
		return out, nil
	}
	k, err := catalog.Get(args)
	if err != nil {
		for _, n := range catalog.Notes {
			if strings.Contains(n, args+".md") { // its file is there and cannot be used
				err = errors.New(n)
			}
		}
		return event.Output{}, err
	}
	return event.Output{Text: describeAgent(k)}, nil
}

// listAgents is the list of kinds, with an entry for a new one and one for those at work.
func listAgents(h *Host, catalog *subagent.Catalog) event.Output {
	p := &event.Pick{
		Title: "Agents", Command: "agents",
		Actions: []event.PickAction{{Key: "ctrl+e", Label: "edit", Command: "agents edit"}},
	}
	p.Items = append(p.Items, event.PickItem{
		ID: "new", Label: "New agent", Detail: "asks step by step",
		Preview: "The file is Markdown in a folder `agents`; docs/agents.md has its fields.",
	})
	if n := len(runningAgents(h).Pick.Items); n > 0 {
		p.Items = append(p.Items, event.PickItem{
			ID: "running", Label: "At work", Detail: fmt.Sprint(n),
			Preview: "Agents that work now, with their state and cost: look into, steer and end them.",
		})
	}
	for _, k := range catalog.All() {
		p.Items = append(p.Items, event.PickItem{ID: k.Name, Label: k.Name, Detail: k.Source + ": " +
			short(k.Description, 160), Preview: describeAgent(k)})
	}
	out := event.Output{Pick: p}
	if len(catalog.Notes) > 0 {
		var b strings.Builder
		b.WriteString("Notes:\n\n")
		for _, n := range catalog.Notes {
			b.WriteString("- " + code(n) + "\n")
		}
		out.Text = b.String()
	}
	return out
}

// runningAgents is the list of agents, as /tasks has them, without commands.
func runningAgents(h *Host) event.Output {
	p := taskPick("agents running")
	p.Title, p.Empty = "Agents at work", "No agent is at work."
	for _, t := range tasksOf(h.Session()) {
		if t.Agent && t.Running {
			p.Items = append(p.Items, taskItem(t))
		}
	}
	return event.Output{Pick: p}
}

// toolChoices are the sets of tools that a new kind begins with; nil: all.
var toolChoices = []struct {
	name, help string
	tools      []string
}{
	{"all", "all tools", nil},
	{"read", "reads and searches, changes nothing", []string{"Read", "Glob", "Grep"}},
	{"edit", "reads and edits, runs nothing", []string{"Read", "Glob", "Grep", "Edit", "Write"}},
	{"run", "reads and runs commands", []string{"Read", "Glob", "Grep", "Bash"}},
}

var modelChoices = []string{"inherit", "small", "haiku", "sonnet", "opus"}

// newAgent makes a kind step by step: a place, its tools and its model are chosen, one after the other, and joined by
// slashes; then the name and the description are typed.
func newAgent(catalog *subagent.Catalog, args string) (event.Output, error) {
	chosen, text := cutWord(args)
	steps := strings.Split(chosen, "/")
	pick := func(title string, items ...event.PickItem) event.Output {
		return event.Output{Pick: &event.Pick{
			Title: title, Command: "agents new", Items: items,
			Empty: "No folder for agents is read here.",
		}}
	}
	places := catalog.Places()
	place := slices.IndexFunc(places, func(p subagent.Place) bool { return p.Name == steps[0] })
	if place < 0 {
		var items []event.PickItem
		for _, p := range places {
			items = append(items, event.PickItem{ID: p.Name, Label: p.Dir, Detail: p.Help})
		}
		return pick("New agent: where is its file?", items...), nil
	}
	tools := slices.IndexFunc(toolChoices, func(c struct {
		name, help string
		tools      []string
	},
	) bool {
		return len(steps) > 1 && c.name == steps[1]
	})
	if tools < 0 {
		var items []event.PickItem
		for _, c := range toolChoices {
			items = append(items, event.PickItem{ID: steps[0] + "/" + c.name, Label: c.help, Detail: strings.Join(c.tools,
				", ")})
		}
		return pick("New agent: its tools", items...), nil
	}
	if len(steps) < 3 {
		var items []event.PickItem
		for _, m := range modelChoices {
			items = append(items, event.PickItem{
				ID: chosen + "/" + m, Label: m,
				Detail: map[string]string{
					"inherit": "the model of the conversation",
					"small":   "the small model of the settings",
				}[m],
			})
		}
		return pick("New agent: its model", items...), nil
	}
	name, description, ok := strings.Cut(text, ":")
	if !ok {
		return event.Output{
			Insert: "/agents new " + chosen + " ",
			Text: "Type its name, a colon and when to use it, for example `reviewer: Reviews a change. Use it after larger " +
				"edits.` Enter makes the file.",
		}, nil
	}
	model := strings.Join(steps[2:], "/")
	if model == "inherit" {
		model = ""
	}
	name = strings.TrimSpace(name)
	path, err := subagent.Make(places[place].Dir, name, strings.TrimSpace(description), toolChoices[tools].tools, model)
	if err != nil {
		return event.Output{}, err
	}
	return event.Output{
		Text: "Made " + code(path) + ". Its prompt is the text below the second line of dashes.",
		Edit: &event.Edit{Path: path, Then: "agents " + name},
	}, nil
}

// editAgent opens the file of a kind.
func editAgent(catalog *subagent.Catalog, name string) (event.Output, error) {
	k, err := catalog.Get(name)
	if err != nil {
		return event.Output{}, err
	}
	if k.Path == "" {
		return event.Output{}, fmt.Errorf("%s has no file: it is from %s. /agents new makes one, and a file of the name "+
			"replaces it", k.Name, k.Source)
	}
	return event.Output{Edit: &event.Edit{Path: k.Path, Then: "agents " + k.Name}}, nil
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
