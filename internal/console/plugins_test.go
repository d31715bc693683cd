package console

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/plugin"
)

// neededPlugin installs a plugin that needs another one, by one agreement, in /plugin.
func neededPlugin(t *testing.T, s *seat, p *place) {
	t.Helper()
	p.write(t, "low/.claude-plugin/plugin.json", `{"name": "low", "processes": {"bg": {"command": "./low"}}}`)
	p.write(t, "top/.claude-plugin/plugin.json", `{"name": "top", "dependencies": ["low"]}`)
	p.write(t, ".claude-plugin/marketplace.json", `{"name": "corp", "plugins": [{"name": "low", "source": "./low", "description": "Carries"}, {"name": "top", "source": "./top"}]}`)
	if _, err := s.inst.Extensions().Plugins.Store().AddMarket(context.Background(), plugin.Source{Kind: "directory", Path: p.dir}); err != nil {
		t.Fatal(err)
	}
	out := s.command("plugin", "install top@corp")
	if out.Pick.Title != "Install and enable top@corp and 1 that it needs?" || !strings.Contains(out.Text, "installed with it") || !strings.Contains(out.Text, "runs the process bg") {
		t.Errorf("offered %q %q", out.Pick.Title, out.Text)
	}
	s.shows("plugin", "agree top@corp", "installed and enabled")
	if got := itemsOf(s.command("plugin", "").Pick.Items); !slices.Equal(got, []string{"low@corp enabled", "top@corp enabled"}) {
		t.Errorf("there are %q", got)
	}
	s.refuses("plugin", "disable low", "top@corp needs low@corp")
	s.shows("plugin", "disable top", "was disabled")
	s.shows("plugin", "disable low", "was disabled")
	s.shows("plugin", "enable top", "was enabled")
	if got := itemsOf(s.command("plugin", "").Pick.Items); !slices.Equal(got, []string{"low@corp enabled", "top@corp enabled"}) {
		t.Errorf("there are %q", got)
	}
	s.shows("plugin", "remove low", "was removed. Warning: `top@corp` needs it")
}

// itemsOf are the labels of a list with their details.
func itemsOf(items []event.PickItem) (out []string) {
	for _, it := range items {
		out = append(out, strings.TrimSpace(it.Label+" "+it.Detail))
	}
	return out
}
