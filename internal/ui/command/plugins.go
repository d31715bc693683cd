package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
)

// pluginRow is one that is installed, or that a marketplace has.
type pluginRow struct {
	ID, Version, Source, Description string
	Enabled, Installed               bool
	Report                           []string // a line for each part
}

func pluginCommand() Command {
	return Command{
		Name: "plugin", Aliases: []string{"plugins"}, Group: groupLathe,
		Args: "[install|update|enable|disable|remove|marketplace] [plugin]", Help: "Show, install and change plugins",
		Doc: "`/plugin install PLUGIN` shows the parts of a plugin (NAME@MARKETPLACE, a folder, OWNER/REPOSITORY) and " +
			"asks; nothing of it runs before. `/plugin update ID` shows the difference first. `/plugin marketplace` lists " +
			"marketplaces and their plugins; `/plugin marketplace add SOURCE` makes one known.",
		Complete: func(_ context.Context, h *Host, typed string) []event.Candidate {
			verb, _, spoken := strings.Cut(typed, " ")
			var all []event.Candidate
			if !spoken {
				for _, v := range []string{"install", "update", "enable", "disable", "remove", "marketplace"} {
					all = append(all, event.Candidate{Text: v})
				}
				return choices(typed, all)
			}
			if verb == "marketplace" {
				return choices(typed, marketChoices(h))
			}
			list, _ := h.plugins()
			for _, p := range list {
				all = append(all, event.Candidate{Text: verb + " " + p.ID, Help: p.Description})
			}
			return choices(typed, all)
		},
		Run: plugins,
	}
}

func plugins(ctx context.Context, h *Host, args string) (event.Output, error) {
	verb, name, _ := strings.Cut(strings.TrimSpace(args), " ")
	name = strings.TrimSpace(name)
	switch verb {
	case "":
		return listPlugins(h)
	case "marketplace":
		return markets(ctx, h, name)
	}
	if name == "" && !slices.Contains([]string{"install", "update", "enable", "disable", "remove", "agree"}, verb) {
		return showPlugin(h, verb)
	}
	if name == "" {
		return event.Output{}, fmt.Errorf("name the plugin: /plugin %s PLUGIN", verb)
	}
	switch verb {
	case "enable", "disable":
		return done(h.switchPlugin(name, verb == "enable"), "%s was %sd.", code(name), verb)
	case "remove":
		needed, err := h.removePlugin(name)
		if err != nil {
			return event.Output{}, err
		}
		if len(needed) > 0 {
			return text("%s was removed. Warning: %s needs it. Install it again with: /plugin install %s", code(name),
				code(strings.Join(needed, ", ")), code(name)), nil
		}
		return text("%s was removed. Install it again with: /plugin install %s", code(name), code(name)), nil
	case "install", "update":
		fetched, err := h.lookAt(ctx, name, verb == "update")
		if err != nil {
			return event.Output{}, err
		}
		return offer(fetched, verb), nil
	case "agree":
		enabled, err := h.agree(name)
		if err != nil {
			return event.Output{}, err
		}
		if !enabled {
			return text("%s is installed, and stays disabled.", code(name)), nil
		}
		return text("%s is installed and enabled.", code(name)), nil
	}
	return event.Output{}, fmt.Errorf("%q is not one of install, update, enable, disable, remove and marketplace", verb)
}

func listPlugins(h *Host) (event.Output, error) {
	list, err := h.plugins()
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
	known, err := h.markets()
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

func showPlugin(h *Host, name string) (event.Output, error) {
	list, err := h.plugins()
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
func describePlugin(p pluginRow) string {
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

// offer shows a plugin that was fetched, with those that it needs, and asks. Only the items of this list agree.
func offer(fetched *plugin.Bundle, verb string) event.Output {
	root, needed := fetched.Root(), fetched.New[:len(fetched.New)-1]
	if verb == "update" && root.Same && len(needed) == 0 {
		return text("%s is up to date.", code(root.ID))
	}
	says, notes := describeCandidate(root)
	for _, c := range needed {
		text, more := describeCandidate(c)
		says += "\nNeeded, and installed with it: " + text
		notes = append(notes, more...)
	}
	for _, n := range notes {
		says += "\nWarning: " + code(n) + "\n"
	}
	if root.Diff != "" {
		says += "\nThe difference from the installed one:\n\n" + fenced("diff", root.Diff) + "\n"
	}
	word := map[string]string{"install": "Install and enable", "update": "Update"}[verb]
	more := ""
	if len(needed) > 0 {
		more = fmt.Sprintf(" and %d that it needs", len(needed))
	}
	return event.Output{Text: says, Pick: &event.Pick{
		Title: word + " " + root.ID + more + "?", Command: "plugin",
		Items: []event.PickItem{
			{ID: "", Label: "No", Detail: "nothing is changed", Preview: says},
			{ID: "agree " + root.ID, Label: word, Detail: "from " + root.Source.String(), Preview: says},
		},
	}}
}

// lookedAt is the plugin that was fetched and shown last, with those that it needs.
type lookedAt struct {
	mu     sync.Mutex
	last   *plugin.Bundle
	update bool
}

// keep takes the place of the one before.
func (l *lookedAt) keep(b *plugin.Bundle, update bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil {
		l.last.Drop()
	}
	l.last, l.update = b, update
}

// take hands over the one with this id; nil: another one, or none, was shown last.
func (l *lookedAt) take(id string) (b *plugin.Bundle, update bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.last.Root().ID != id {
		return nil, false
	}
	b, l.last = l.last, nil
	return b, l.update
}

func (h *Host) pluginStore() *plugin.Store { return h.Instance.Extensions().Plugins.Store() }

func (h *Host) plugins() (out []pluginRow, err error) {
	all, err := h.pluginStore().Records()
	if err != nil {
		return nil, err
	}
	enabled := plugin.EnabledIn(h.Instance.Config())
	for _, id := range slices.Sorted(maps.Keys(all)) {
		rec := all[id]
		one := pluginRow{ID: id, Version: rec.Version, Source: rec.Source.String(), Enabled: enabled[id]}
		if got, err := h.pluginStore().Load(id, rec, nil); err == nil {
			one.Description = got.Manifest.Description
			one.Report, _ = got.Report()
		} else {
			one.Report = []string{err.Error()}
		}
		out = append(out, one)
	}
	return out, nil
}

func (h *Host) switchPlugin(name string, on bool) error {
	id, err := h.pluginStore().ID(name)
	if err != nil {
		return err
	}
	ids, err := h.pluginStore().Switched(id, on, plugin.EnabledIn(h.Instance.Config()))
	if err != nil {
		return err
	}
	return h.enableAll(ids, on, config.User)
}

func (h *Host) enableAll(ids []string, on bool, layer config.Layer) error {
	for _, id := range ids {
		if _, err := h.written(h.Instance.Config().Set(plugin.Key(id), fmt.Sprint(on), layer)); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) removePlugin(name string) (needed []string, err error) {
	id, err := h.pluginStore().ID(name)
	if err != nil {
		return nil, err
	}
	if needed, err = h.pluginStore().NeededBy(id, plugin.EnabledIn(h.Instance.Config())); err != nil {
		return nil, err
	}
	for _, layer := range []config.Layer{config.User, config.Project, config.Local} {
		_ = h.Instance.Config().Unset(plugin.Key(id), layer) // most do not have it
	}
	_, err = h.written(h.pluginStore().Remove(id, true))
	return needed, err
}

func (h *Host) lookAt(ctx context.Context, what string, update bool) (*plugin.Bundle, error) {
	c, store := h.Instance.Config(), h.pluginStore()
	fetch := func() (*plugin.Candidate, error) { return store.Fetch(ctx, what, c.Paths().Dir, plugin.Extra(c)) }
	if update {
		id, err := store.ID(what)
		if err != nil {
			return nil, err
		}
		fetch = func() (*plugin.Candidate, error) { return store.Update(ctx, id, plugin.Extra(c)) }
	}
	got, err := fetch()
	if err != nil {
		return nil, err
	}
	all, err := store.With(ctx, got, plugin.Extra(c))
	if err == nil {
		h.looked.keep(all, update)
	}
	return all, err
}

// describeCandidate is a plugin that was fetched, as Markdown; the notes are warnings.
func describeCandidate(c *plugin.Candidate) (says string, notes []string) {
	lines, notes := c.Report()
	return describePlugin(pluginRow{
		ID: c.ID, Version: c.Manifest.Version, Source: c.Source.String(), Description: c.Manifest.Description,
		Report: lines,
	}), notes
}

func (h *Host) agree(id string) (enabled bool, err error) {
	all, update := h.looked.take(id)
	if all == nil {
		return false, errors.New("look at the plugin first: /plugin install PLUGIN, or /plugin update ID")
	}
	defer all.Drop()
	if err := h.pluginStore().InstallAll(all); err != nil {
		return false, err
	}
	h.Instance.Extensions().Plugins.Reload()
	ids := all.IDs()
	if update { // it stays as it is, in the settings that say so
		if !plugin.EnabledIn(h.Instance.Config())[id] {
			return false, nil
		}
		return true, h.enableAll(ids[:len(ids)-1], true, plugin.EnabledBy(h.Instance.Config(), id))
	}
	return true, h.enableAll(ids, true, config.User)
}
