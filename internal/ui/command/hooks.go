package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/event"
)

// hooks lists the hooks in force, tries those of an event, or switches them off and on.
func hooks(ctx context.Context, h *Host, arg string) (event.Output, error) {
	all := h.Session().Hooks()
	if try, ok := strings.CutPrefix(arg, "try "); ok {
		return tryHooks(ctx, all, strings.TrimSpace(try))
	}
	m := all.Machine()
	switch arg {
	case "":
	case "on", "off":
		m.SwitchOff(arg == "off")
	default:
		return event.Output{}, fmt.Errorf("%q is neither on nor off, nor try and an event", arg)
	}
	var b strings.Builder
	if m.Off() {
		b.WriteString("The hooks of the settings are off until lathe ends; `/hooks on` lets them run.\n\n")
	}
	list := all.List()
	if len(list) == 0 {
		b.WriteString("No hooks are in force.\n")
	}
	for _, x := range list {
		fmt.Fprintf(&b, "- %s", x.Event)
		if x.Matcher != "" {
			fmt.Fprintf(&b, " %s", code(x.Matcher))
		}
		if x.If != "" {
			fmt.Fprintf(&b, " if %s", code(x.If))
		}
		fmt.Fprintf(&b, ": %s (%s)\n", code(x.Text()), code(x.From))
	}
	for _, n := range m.Notes() {
		fmt.Fprintf(&b, "- left out: %s\n", code(n))
	}
	return event.Output{Text: b.String()}, nil
}

// tryHooks runs the hooks of an event as if it had happened: its name, then its own fields as a JSON object.
func tryHooks(ctx context.Context, all *hook.Hooks, arg string) (event.Output, error) {
	name, input, _ := strings.Cut(arg, " ")
	fields := map[string]any{}
	if input = strings.TrimSpace(input); input != "" {
		if err := json.Unmarshal([]byte(input), &fields); err != nil {
			return event.Output{}, fmt.Errorf("after the event comes a JSON object: %w", err)
		}
	}
	runs, err := all.Try(ctx, name, fields)
	if err != nil {
		return event.Output{}, err
	}
	var b strings.Builder
	if len(runs) == 0 {
		b.WriteString("No hook matches.\n")
	}
	for _, r := range runs {
		decision, why := r.Verdict()
		switch {
		case r.Err != nil:
			decision, why = "failed", r.Err.Error()
		case decision == "":
			decision = "decides nothing"
		}
		fmt.Fprintf(&b, "- %s: %s", code(r.Handler.Text()), decision)
		for _, text := range []string{why, r.Context()} {
			if text != "" {
				fmt.Fprintf(&b, ", %s", code(text))
			}
		}
		fmt.Fprintf(&b, " (%d ms)\n", r.Took.Milliseconds())
	}
	return event.Output{Text: b.String()}, nil
}
