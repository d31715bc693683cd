package command

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

// Plugins are the installed plugins. All texts are foreign.
type Plugins interface {
	List() ([]Plugin, error)
	Switch(id string, on bool) error               // in the user's settings
	Remove(id string) (needed []string, err error) // by the plugins whose ids it returns
	// Look fetches a plugin, or with update a newer state of an installed one, and keeps it until Agree. Nothing of it
	// runs.
	Look(ctx context.Context, what string, update bool) (Offer, error)
	// Agree installs and enables the plugin that Look fetched last, and those that it needs. An update leaves a disabled
	// one disabled.
	Agree(id string) (enabled bool, err error)
	// Markets are the marketplaces that are known or named by the settings.
	Markets() ([]Market, error)
	// Market lists the plugins of one; one that only the settings name is fetched.
	Market(ctx context.Context, name string) ([]Plugin, error)
	// ChangeMarket adds a marketplace by its source, or updates or removes one by its name, which it returns.
	ChangeMarket(ctx context.Context, verb, what string) (name string, err error)
}

// Plugin is one that is installed, or that a marketplace has.
type Plugin struct {
	ID, Version, Source, Description string
	Enabled, Installed               bool
	Report                           []string // a line for each part
}

// Offer is a plugin that was fetched.
type Offer struct {
	Plugin
	Needed []Plugin // installed with it
	Same   bool     // as the installed one
	Diff   string   // from the installed one
	Notes  []string
}

func pluginCommand() Command {
	return Command{
		Name: "plugin", Aliases: []string{"plugins"}, Group: groupLathe,
		Args: "[install|update|enable|disable|remove|marketplace] [plugin]", Help: "Show, install and change plugins",
		Doc: "`/plugin install PLUGIN` shows the parts of a plugin (NAME@MARKETPLACE, a folder, OWNER/REPOSITORY) and " +
			"asks; nothing of it runs before. `/plugin update ID` shows the difference first. `/plugin marketplace` lists " +
			"marketplaces and their plugins; `/plugin marketplace add SOURCE` makes one known.",
		Complete: func(_ context.Context, h Host, typed string) []event.Candidate {
			verb, _, spoken := strings.Cut(typed, " ")
			var all []event.Candidate
			if !spoken {
				for _, v := range []string{"install", "update", "enable", "disable", "remove", "marketplace"} {
					all = append(all, event.Candidate{Text: v})
				}
				return choices(typed, all)
			}
			if verb == "marketplace" {
				return choices(typed, marketChoices(h.Settings().Plugins()))
			}
			list, _ := h.Settings().Plugins().List()
			for _, p := range list {
				all = append(all, event.Candidate{Text: verb + " " + p.ID, Help: p.Description})
			}
			return choices(typed, all)
		},
		Run: plugins,
	}
}

func plugins(ctx context.Context, h Host, args string) (event.Output, error) {
	verb, name, _ := strings.Cut(strings.TrimSpace(args), " ")
	name = strings.TrimSpace(name)
	all := h.Settings().Plugins()
	switch verb {
	case "":
		return listPlugins(all)
	case "marketplace":
		return markets(ctx, all, name)
	}
	if name == "" && !slices.Contains([]string{"install", "update", "enable", "disable", "remove", "agree"}, verb) {
		return showPlugin(all, verb)
	}
	if name == "" {
		return event.Output{}, fmt.Errorf("name the plugin: /plugin %s PLUGIN", verb)
	}
	switch verb {
	case "enable", "disable":
		if err := all.Switch(name, verb == "enable"); err != nil {
			return event.Output{}, err
		}
		return text("%s was %sd.", code(name), verb), nil
	case "remove":
		needed, err := all.Remove(name)
		if err != nil {
			return event.Output{}, err
		}
		if len(needed) > 0 {
			return text("%s was removed. Warning: %s needs it. Install it again with: /plugin install %s", code(name),
				code(strings.Join(needed, ", ")), code(name)), nil
		}
		return text("%s was removed. Install it again with: /plugin install %s", code(name), code(name)), nil
	case "install", "update":
		o, err := all.Look(ctx, name, verb == "update")
		if err != nil {
			return event.Output{}, err
		}
		return offer(o, verb), nil
	case "agree":
		enabled, err := all.Agree(name)
		if err != nil {
			return event.Output{}, err
		}
		if !enabled {
			return text("%s is installed, and stays disabled.", code(name)), nil
		}
		return text("%s is installed and enabled.", code(name)), nil
	}
	return event.Output{}, fmt.Errorf("%q is none of install, update, enable, disable, remove and marketplace", verb)
}

func listPlugins(all Plugins) (event.Output, error) {
	list, err := all.List()
	if err != nil {
		return event.Output{}, err
	}
	p := &event.Pick{
		Title: "Plugins", Command: "plugin", Empty: "No plugin is installed; /plugin install PLUGIN installs one, /plugin " +
			"marketplace add SOURCE makes a marketplace known.",
		Actions: []event.PickAction{
			{Key: "ctrl+e", Label: "enable", Command: "plugin enable", Undo: "plugin disable", Refresh: "plugin"},
			{Key: "ctrl+x", Label: "disable", Command: "plugin disable", Undo: "plugin enable", Refresh: "plugin"},
			{Key: "ctrl+u", Label: "update", Command: "plugin update"},
			{Key: "ctrl+d", Label: "remove", Command: "plugin remove", Undo: "plugin install", Refresh: "plugin"},
		},
	}
	for _, one := range list {
		state := "disabled"
		if one.Enabled {
			state = "enabled"
		}
		p.Items = append(p.Items, event.PickItem{ID: one.ID, Label: one.ID, Detail: strings.TrimSpace(state + " " +
			one.Version), Preview: describePlugin(one), Current: one.Enabled})
	}
	known, err := all.Markets()
	if err != nil {
		return event.Output{}, err
	}
	if len(known) > 0 {
		p.Items = append(p.Items, event.PickItem{
			ID: "marketplace", Label: "Marketplaces",
			Detail: fmt.Sprintf("%d to install from", len(known)), Preview: marketHelp,
		})
	}
	return event.Output{Pick: p}, nil
}

func showPlugin(all Plugins, name string) (event.Output, error) {
	list, err := all.List()
	if err != nil {
		return event.Output{}, err
	}
	for _, p := range list {
		if short, _, _ := strings.Cut(p.ID, "@"); p.ID == name || short == name {
			return event.Output{Text: describePlugin(p)}, nil
		}
	}
	return event.Output{},
		fmt.Errorf("no plugin %q is installed; /plugin lists them, /plugin install PLUGIN installs one", name)
}

// describePlugin is Markdown.
func describePlugin(p Plugin) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, from %s\n\n", code(strings.TrimSpace(p.ID+" "+p.Version)), code(p.Source))
	if p.Description != "" {
		b.WriteString(code(p.Description) + "\n\n")
	}
	for _, line := range p.Report {
		b.WriteString("- " + code(line) + "\n")
	}
	if len(p.Report) == 0 {
		b.WriteString("It brings nothing that lathe uses.\n")
	}
	return b.String()
}

// offer shows a plugin that was fetched, and asks. Only the items of this list agree.
func offer(o Offer, verb string) event.Output {
	if o.Same && verb == "update" {
		return text("%s is up to date.", code(o.ID))
	}
	says := describePlugin(o.Plugin)
	for _, needed := range o.Needed {
		says += "\nNeeded, and installed with it: " + describePlugin(needed)
	}
	for _, n := range o.Notes {
		says += "\nWarning: " + code(n) + "\n"
	}
	if o.Diff != "" {
		says += "\nThe difference from the installed one:\n\n" + fenced("diff", o.Diff) + "\n"
	}
	word := map[string]string{"install": "Install and enable", "update": "Update"}[verb]
	more := ""
	if len(o.Needed) > 0 {
		more = fmt.Sprintf(" and %d that it needs", len(o.Needed))
	}
	return event.Output{Text: says, Pick: &event.Pick{
		Title: word + " " + o.ID + more + "?", Command: "plugin",
		Items: []event.PickItem{
			{ID: "", Label: "No", Detail: "nothing is changed", Preview: says},
			{ID: "agree " + o.ID, Label: word, Detail: "from " + o.Source, Preview: says},
		},
	}}
}
