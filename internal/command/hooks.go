package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// hooks lists the hooks in force, or switches them off and on.
func hooks(_ context.Context, h Host, arg string) (event.Output, error) {
	m := h.Extensions().Hooks()
	switch arg {
	case "":
	case "on", "off":
		m.SwitchOff(arg == "off")
	default:
		return event.Output{}, fmt.Errorf("%q is neither on nor off", arg)
	}
	var b strings.Builder
	if m.Off() {
		b.WriteString("The hooks of the settings are off until lathe ends; `/hooks on` lets them run.\n\n")
	}
	all := m.List()
	if len(all) == 0 {
		b.WriteString("No hooks are in force.\n")
	}
	for _, x := range all {
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
