package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// Market is a marketplace. All texts are foreign.
type Market struct {
	Name, Source string
	Known        bool // false: only the settings name it
}

const marketHelp = "The plugins of a marketplace, to look at and to install. Add one with `/plugin marketplace add " +
	"SOURCE`: a folder, OWNER/REPOSITORY, or the address of a repository or of a `marketplace.json`."

// markets does the work of /plugin marketplace.
func markets(ctx context.Context, all Plugins, args string) (event.Output, error) {
	verb, what, _ := strings.Cut(args, " ")
	what = strings.TrimSpace(what)
	done := map[string]string{
		"add": "was added", "update": "was fetched again",
		"remove": "was removed; its plugins stay",
	}[verb]
	switch {
	case verb == "", verb == "list" && what == "":
		return listMarkets(all)
	case verb == "list":
		return listMarket(ctx, all, what)
	case done == "":
		return event.Output{}, fmt.Errorf("%q is none of list, add, update and remove", verb)
	case what == "":
		return event.Output{}, fmt.Errorf("name the marketplace: /plugin marketplace %s NAME", verb)
	}
	name, err := all.ChangeMarket(ctx, verb, what)
	if err != nil {
		return event.Output{}, err
	}
	return text("The marketplace %s %s.", code(name), done), nil
}

func listMarkets(all Plugins) (event.Output, error) {
	list, err := all.Markets()
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
func listMarket(ctx context.Context, all Plugins, name string) (event.Output, error) {
	list, err := all.Market(ctx, name)
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
func entryPreview(p Plugin, state string) string {
	out := code(strings.TrimSpace(p.ID+" "+p.Version)) + ", from " + code(p.Source) + "\n\n"
	if p.Description != "" {
		out += code(p.Description) + "\n\n"
	}
	if state != "" {
		return out + "It is installed and " + state + ".\n"
	}
	return out + "It is not installed. Choose it to see what it may run; you are asked before anything is installed.\n"
}

func marketChoices(all Plugins) (out []event.Candidate) {
	list, _ := all.Markets()
	out = append(out, event.Candidate{Text: "marketplace add"})
	for _, verb := range []string{"list", "update", "remove"} {
		for _, m := range list {
			out = append(out, event.Candidate{Text: "marketplace " + verb + " " + m.Name, Help: m.Source})
		}
	}
	return out
}
