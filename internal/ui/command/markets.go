package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
)

// marketRow is a marketplace. All texts are foreign.
type marketRow struct {
	Name, Source string
	Known        bool // false: only the settings name it
}

const marketHelp = "The plugins of a marketplace, to look at and to install. Add one with `/plugin marketplace add " +
	"SOURCE`: a folder, OWNER/REPOSITORY, or the address of a repository or of a `marketplace.json`."

// markets does the work of /plugin marketplace.
func markets(ctx context.Context, h *Host, args string) (event.Output, error) {
	verb, what, _ := strings.Cut(args, " ")
	what = strings.TrimSpace(what)
	done := map[string]string{
		"add": "was added", "update": "was fetched again",
		"remove": "was removed; its plugins stay",
	}[verb]
	switch {
	case verb == "", verb == "list" && what == "":
		return listMarkets(h)
	case verb == "list":
		return listMarket(ctx, h, what)
	case done == "":
		return event.Output{}, fmt.Errorf("%q is not one of list, add, update and remove", verb)
	case what == "":
		return event.Output{}, fmt.Errorf("name the marketplace: /plugin marketplace %s NAME", verb)
	}
	name, err := h.changeMarket(ctx, verb, what)
	if err != nil {
		return event.Output{}, err
	}
	return text("The marketplace %s %s.", code(name), done), nil
}

func listMarkets(h *Host) (event.Output, error) {
	list, err := h.markets()
	if err != nil {
		return event.Output{}, err
	}
	p := &event.Pick{
		Title: "Marketplaces", Command: "plugin marketplace list",
		Empty: "No marketplace is known; /plugin marketplace add SOURCE makes one known.",
		Actions: []event.PickAction{
			{Key: "ctrl+u", Label: "update", Command: "plugin marketplace update", Refresh: "plugin marketplace"},
			{Key: "ctrl+d", Label: "remove", Command: "plugin marketplace remove", Refresh: "plugin marketplace"},
		},
	}
	for _, m := range list {
		detail := m.Source
		if !m.Known {
			detail = "of the settings, not fetched: " + detail
		}
		p.Items = append(p.Items, event.PickItem{ID: m.Name, Label: m.Name, Detail: detail, Preview: code(m.Name) +
			", from " + code(m.Source) + "\n\n" + marketHelp})
	}
	return event.Output{Pick: p}, nil
}

// listMarket lists the plugins of a marketplace. Choosing one fetches and shows it; nothing of it runs before the user
// agrees.
func listMarket(ctx context.Context, h *Host, name string) (event.Output, error) {
	list, err := h.market(ctx, name)
	if err != nil {
		return event.Output{}, err
	}
	p := &event.Pick{Title: "Plugins of " + name, Command: "plugin install", Empty: "The marketplace " + name +
		" has no plugin."}
	for _, one := range list {
		state := ""
		switch {
		case one.Enabled:
			state = "enabled"
		case one.Installed:
			state = "disabled"
		}
		short, _, _ := strings.Cut(one.ID, "@")
		detail := strings.TrimSpace(state + " " + one.Version + "  " + one.Description)
		p.Items = append(p.Items, event.PickItem{
			ID: one.ID, Label: short, Detail: detail, Preview: entryPreview(one, state),
			Current: one.Enabled,
		})
	}
	return event.Output{Pick: p}, nil
}

// entryPreview is Markdown.
func entryPreview(p pluginRow, state string) string {
	out := code(strings.TrimSpace(p.ID+" "+p.Version)) + ", from " + code(p.Source) + "\n\n"
	if p.Description != "" {
		out += code(p.Description) + "\n\n"
	}
	if state != "" {
		return out + "It is installed and " + state + ".\n"
	}
	return out + "It is not installed. Choose it to see what it may run; you are asked before anything is installed.\n"
}

func marketChoices(h *Host) (out []event.Candidate) {
	list, _ := h.markets()
	out = append(out, event.Candidate{Text: "marketplace add"})
	for _, verb := range []string{"list", "update", "remove"} {
		for _, m := range list {
			out = append(out, event.Candidate{Text: "marketplace " + verb + " " + m.Name, Help: m.Source})
		}
	}
	return out
}

func (h *Host) markets() (out []marketRow, err error) {
	known, err := h.pluginStore().Markets()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out = append(out, marketRow{Name: name, Source: known[name].Source.String(), Known: true})
	}
	extra := plugin.Extra(h.Instance.Config())
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, ok := known[name]; !ok {
			out = append(out, marketRow{Name: name, Source: extra[name].String()})
		}
	}
	return out, nil
}

func (h *Host) market(ctx context.Context, name string) (out []pluginRow, err error) {
	c := h.Instance.Config()
	m, err := h.pluginStore().Market(ctx, name, plugin.Extra(c))
	if err != nil {
		return nil, err
	}
	records, err := h.pluginStore().Records()
	if err != nil {
		return nil, err
	}
	enabled := plugin.EnabledIn(c)
	for _, e := range m.Entries {
		id := e.Name + "@" + m.Name
		_, installed := records[id]
		out = append(out, pluginRow{
			ID: id, Version: e.Version, Source: e.Source.String(), Description: e.Description, Installed: installed,
			Enabled: installed && enabled[id],
		})
	}
	return out, nil
}

func (h *Host) changeMarket(ctx context.Context, verb, what string) (string, error) {
	switch verb {
	case "remove":
		return what, h.pluginStore().RemoveMarket(what)
	case "update":
		m, err := h.pluginStore().UpdateMarket(ctx, what)
		return marketName(m), err
	}
	src, err := plugin.ParseSource(what, h.Instance.Config().Paths().Dir)
	if err != nil {
		return "", err
	}
	m, err := h.pluginStore().AddMarket(ctx, src)
	return marketName(m), err
}

func marketName(m *plugin.Market) string {
	if m == nil {
		return ""
	}
	return m.Name
}
