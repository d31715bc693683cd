package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// languageServers shows the language servers, or restarts them.
func languageServers(_ context.Context, h *Host, arg string) (event.Output, error) {
	p := h.Instance.Code.Pool()
	if verb, name, _ := strings.Cut(arg, " "); arg != "" {
		if verb != "restart" {
			return event.Output{}, fmt.Errorf("%q is not restart", verb)
		}
		name = strings.TrimSpace(name)
		if n := p.Restart(name); n == 0 {
			return event.Output{}, fmt.Errorf("no language server %sruns", strings.TrimLeft(name+" ", " "))
		}
		return event.Output{Text: "Restarting the language servers.\n"}, nil
	}
	var b strings.Builder
	running := p.Status()
	for _, s := range running {
		fmt.Fprintf(&b, "- %s in %s: %s", code(s.Name), code(s.Root), s.State)
		if s.Memory > 0 {
			fmt.Fprintf(&b, ", %d MB", s.Memory>>20)
		}
		fmt.Fprintf(&b, ", %s, %s, %s open", plural(s.Errors, "error"), plural(s.Warnings, "warning"), plural(s.Open, "file"))
		if s.Detail != "" {
			b.WriteString(": " + code(s.Detail))
		}
		b.WriteString("\n")
	}
	if len(running) == 0 {
		b.WriteString("No language server was started: each starts with the first file of its language.\n")
	}
	var installed []string
	for _, s := range p.Known(h.Instance.Dir()) {
		if s.State == "installed" {
			installed = append(installed, code(s.Name))
		}
	}
	if len(installed) > 0 {
		b.WriteString("\nInstalled: " + strings.Join(installed, ", ") + ".\n")
	}
	b.WriteString("\n`lathe lsp list` shows all that lathe knows.\n")
	return event.Output{Text: b.String()}, nil
}
