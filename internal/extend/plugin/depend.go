package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mostNeeded bounds the plugins that one plugin may bring with it.
const mostNeeded = 50

// Needs are the plugins that a plugin needs, as NAME or NAME@MARKETPLACE.
func (p *Plugin) Needs() (out []string) {
	for _, raw := range p.Manifest.Dependencies {
		var d struct {
			Name        string `json:"name"`
			Marketplace string `json:"marketplace"`
		}
		if json.Unmarshal(raw, &d.Name) != nil && json.Unmarshal(raw, &d) != nil || d.Name == "" {
			continue
		}
		if d.Marketplace != "" && !strings.Contains(d.Name, "@") {
			d.Name += "@" + d.Marketplace
		}
		out = append(out, d.Name)
	}
	return out
}

// missing are notes about plugins that others need and that are not in the list.
func missing(list []*Plugin) (notes []string) {
	for _, p := range list {
		for _, need := range p.Needs() {
			if !slices.ContainsFunc(list, func(o *Plugin) bool { return o.ID == need || o.Name() == need }) {
				notes = append(notes,
					fmt.Sprintf("the plugin %s needs the plugin %s, which is not enabled: lathe plugin install %s", p.Name(), need,
						need))
			}
		}
	}
	return notes
}

// Bundle is a plugin that was fetched, with those that it needs.
type Bundle struct {
	New  []*Candidate // what is installed; each after those that it needs, so that the one that was asked for is the last
	Have []string     // the ids of plugins that it needs and that are installed already
}

// Root is the plugin that was asked for.
func (b *Bundle) Root() *Candidate { return b.New[len(b.New)-1] }

// Drop removes the fetched files. It may be called after InstallAll too.
func (b *Bundle) Drop() {
	for _, c := range b.New {
		c.Drop()
	}
}

// IDs are the plugins to enable, those that are needed first.
func (b *Bundle) IDs() []string {
	ids := slices.Clone(b.Have)
	for _, c := range b.New {
		ids = append(ids, c.ID)
	}
	return ids
}

// With fetches the plugins that a candidate needs and that are not installed: those without a marketplace from its own,
// others from a marketplace that the user added and that the candidate's marketplace allows. The bundle owns the
// candidate; after an error everything is dropped.
func (s *Store) With(ctx context.Context, c *Candidate, extra map[string]Source) (*Bundle, error) {
	w, err := s.needs()
	if err == nil {
		w.fetch = func(id string) (*Candidate, error) { return s.Fetch(ctx, id, "", extra) }
		err = w.visit(c.Plugin)
	}
	w.bundle.New = append(w.bundle.New, c)
	if err != nil {
		w.bundle.Drop()
		return nil, err
	}
	return &w.bundle, nil
}

// Chain lists an installed plugin behind those that it needs. One that is not installed is an error.
func (s *Store) Chain(id string) ([]string, error) {
	w, err := s.needs()
	if err != nil {
		return nil, err
	}
	r, ok := w.records[id]
	if !ok {
		return nil, fmt.Errorf("the plugin %s is not installed; lathe plugin list shows those that are", id)
	}
	p, err := s.Load(id, r, nil)
	if err != nil {
		return nil, err
	}
	if err := w.visit(p); err != nil {
		return nil, err
	}
	return append(w.bundle.Have, id), nil
}

// NeededBy lists the ids of the plugins among some installed ones that need a plugin.
func (s *Store) NeededBy(id string, among map[string]bool) (out []string, err error) {
	records, err := s.Records()
	name, _, _ := strings.Cut(id, "@")
	for _, other := range slices.Sorted(maps.Keys(records)) {
		if !among[other] || other == id {
			continue
		}
		p, err := s.Load(other, records[other], nil)
		if err == nil && slices.ContainsFunc(p.Needs(), func(need string) bool { return need == id || need == name }) {
			out = append(out, other)
		}
	}
	return out, err
}

// Switched lists the plugins to switch with one: on, those that it needs too. One that enabled plugins need is not
// switched off.
func (s *Store) Switched(id string, on bool, enabled map[string]bool) ([]string, error) {
	if on {
		return s.Chain(id)
	}
	needed, err := s.NeededBy(id, enabled)
	if err == nil && len(needed) > 0 {
		err = fmt.Errorf("%s needs %s; disable it first: lathe plugin disable %s", strings.Join(needed, " and "), id,
			needed[0])
	}
	return []string{id}, err
}

// InstallAll installs the plugins of a bundle.
func (s *Store) InstallAll(b *Bundle) error {
	for _, c := range b.New {
		if c.Same {
			continue
		}
		if err := s.Install(c); err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
	}
	return nil
}

// needing walks through what plugins need.
type needing struct {
	store   *Store
	records map[string]Record
	markets map[string]Known
	fetch   func(id string) (*Candidate, error) // nil: only installed ones
	path    []string                            // ids from the first plugin to the one that is visited
	ids     map[string]string                   // of the plugins seen, by name
	bundle  Bundle
}

func (s *Store) needs() (w *needing, err error) {
	w = &needing{store: s, ids: map[string]string{}}
	if w.records, err = s.Records(); err == nil {
		w.markets, err = s.Markets()
	}
	return w, err
}

// visit takes what a plugin needs into the bundle, itself not.
func (w *needing) visit(p *Plugin) error {
	if old, ok := w.ids[p.Name()]; ok && old != p.ID {
		return fmt.Errorf("%s and %s are needed together and have one name; only one of them can be enabled", old, p.ID)
	}
	w.ids[p.Name()] = p.ID
	if len(w.ids) > mostNeeded {
		return fmt.Errorf("%s needs more than %d plugins", w.path[0], mostNeeded)
	}
	w.path = append(w.path, p.ID)
	for _, need := range p.Needs() {
		id, err := w.id(p, need)
		if err == nil {
			err = w.take(id)
		}
		if err != nil {
			return err
		}
	}
	w.path = w.path[:len(w.path)-1]
	return nil
}

// take visits a plugin that is needed, and puts it behind what it needs itself.
func (w *needing) take(id string) error {
	if at := slices.Index(w.path, id); at >= 0 {
		return fmt.Errorf("plugins need each other: %s", strings.Join(append(slices.Clone(w.path[at:]), id), " needs "))
	}
	name, _, _ := strings.Cut(id, "@")
	if w.ids[name] == id {
		return nil
	}
	if r, ok := w.records[id]; ok {
		p, err := w.store.Load(id, r, nil)
		if err == nil {
			err = w.visit(p)
		}
		w.bundle.Have = append(w.bundle.Have, id)
		return err
	}
	by := w.path[len(w.path)-1]
	if w.fetch == nil {
		return fmt.Errorf("%s needs the plugin %s, which is not installed: lathe plugin install %s", by, id, id)
	}
	err := w.allowed(id)
	if err != nil {
		return err
	}
	c, err := w.fetch(id)
	if err != nil {
		return fmt.Errorf("%s needs the plugin %s: %w", by, id, err)
	}
	err = w.visit(c.Plugin)
	w.bundle.New = append(w.bundle.New, c)
	return err
}

// allowed refuses to fetch a plugin from a marketplace that the one of the first plugin does not name. What others
// allow counts for their own.
func (w *needing) allowed(id string) error {
	_, market, _ := strings.Cut(id, "@")
	for _, by := range w.path {
		_, from, _ := strings.Cut(by, "@")
		if _, listed := w.markets[from]; !listed { // of a folder or repository: any that the user added
			continue
		}
		m, err := w.store.Market(context.Background(), from, nil)
		if err == nil && from != market && !slices.Contains(m.Allows, market) {
			err = fmt.Errorf("%s needs the plugin %s, and the marketplace %s does not allow needs of %s "+
				"(allowCrossMarketplaceDependenciesOn); install it first, if you want it: lathe plugin install %s",
				w.path[len(w.path)-1], id, from, market, id)
		}
		return err
	}
	return nil
}

// id completes what a plugin names: from its own marketplace, or from one that the user added.
func (w *needing) id(p *Plugin, need string) (string, error) {
	name, market, _ := strings.Cut(need, "@")
	if err := CheckName(name); err != nil {
		return "", fmt.Errorf("%s needs the plugin %q: %w", p.ID, need, err)
	}
	_, own, _ := strings.Cut(p.ID, "@")
	_, listed := w.markets[own]
	switch {
	case w.records[need].Path != "":
		return need, nil
	case market == "" && listed:
		return name + "@" + own, nil
	case market == "":
		return w.anywhere(p, name)
	}
	if _, ok := w.markets[market]; !ok {
		return "", fmt.Errorf("%s needs the plugin %s of a marketplace that is not known; lathe plugin marketplace add "+
			"adds it", p.ID, need)
	}
	return need, nil
}

// anywhere finds what a plugin without a marketplace needs: installed, or in the one marketplace that has it.
func (w *needing) anywhere(p *Plugin, name string) (string, error) {
	if id, err := w.store.ID(name); err == nil {
		return id, nil
	}
	m, err := w.store.marketWith(context.Background(), name, "", nil)
	if err != nil {
		return "", fmt.Errorf("%s needs the plugin %s: %w", p.ID, name, err)
	}
	return name + "@" + m.Name, nil
}
