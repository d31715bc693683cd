package console

import (
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
)

// neededPlugin installs a plugin that needs another one, by one agreement, in /plugin.
func neededPlugin(t *testing.T, s *seat, p *place) {
	t.Helper()
	p.write(t, "low/.claude-plugin/plugin.json", `{"name": "low", "processes": {"bg": {"command": "./low"}}}`)
	p.write(t, "top/.claude-plugin/plugin.json", `{"name": "top", "dependencies": ["low"]}`)
	p.write(t, ".claude-plugin/marketplace.json",
		`{"name": "corp", "plugins": [{"name": "low", "source": "./low", "description": "Carries"}, {"name": "top", "source": "./top"}]}`)
	s.refuses("plugin", "marketplace add", "name the marketplace")
	s.refuses("plugin", "marketplace list corp", "is not known")
	s.shows("plugin", "marketplace add "+p.dir, "`corp` was added")
	if got := itemsOf(s.command("plugin", "").Pick.Items); !slices.Equal(got, []string{"Marketplaces 1 to install from"}) {
		t.Errorf("the list has %q", got)
	}
	if pick := s.command("plugin", "marketplace").Pick; len(pick.Items) != 1 || pick.Command+" "+
		pick.Items[0].ID != "plugin marketplace list corp" {
		t.Errorf("marketplaces %+v", pick)
	}
	pick := s.command("plugin", "marketplace list corp").Pick
	if got := itemsOf(pick.Items); !slices.Equal(got, []string{"low Carries", "top"}) || pick.Command+" "+
		pick.Items[1].ID != "plugin install top@corp" {
		t.Errorf("plugins %q %+v", got, pick)
	}
	out := s.command("plugin", "install top@corp")
	if out.Pick.Title != "Install and enable top@corp and 1 that it needs?" || !strings.Contains(out.Text,
		"installed with it") || !strings.Contains(out.Text, "runs the process bg") {
		t.Errorf("offered %q %q", out.Pick.Title, out.Text)
	}
	s.shows("plugin", "agree top@corp", "installed and enabled")
	if got := itemsOf(s.command("plugin", "").Pick.Items); !slices.Equal(got,
		[]string{"low@corp enabled", "top@corp enabled", "Marketplaces 1 to install from"}) {
		t.Errorf("there are %q", got)
	}
	s.refuses("plugin", "disable low", "top@corp needs low@corp")
	s.shows("plugin", "disable top", "was disabled")
	s.shows("plugin", "disable low", "was disabled")
	s.shows("plugin", "enable top", "was enabled")
	if got := itemsOf(s.command("plugin", "").Pick.Items); !slices.Equal(got,
		[]string{"low@corp enabled", "top@corp enabled", "Marketplaces 1 to install from"}) {
		t.Errorf("there are %q", got)
	}
	s.shows("plugin", "disable top", "was disabled")
	if got := itemsOf(s.command("plugin", "marketplace list corp").Pick.Items); !slices.Equal(got,
		[]string{"low enabled   Carries", "top disabled"}) {
		t.Errorf("with its state %q", got)
	}
	s.shows("plugin", "enable top", "was enabled")
	s.shows("plugin", "remove low", "was removed. Warning: `top@corp` needs it")
	s.shows("plugin", "marketplace update corp", "fetched again")
	s.shows("plugin", "marketplace remove corp", "was removed; its plugins stay")
	s.refuses("plugin", "marketplace remove corp", "is not known")
}

// itemsOf are the labels of a list with their details.
func itemsOf(items []event.PickItem) (out []string) {
	for _, it := range items {
		out = append(out, strings.TrimSpace(it.Label+" "+it.Detail))
	}
	return out
}
