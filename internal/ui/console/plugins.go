package console

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// plugins are the installed plugins for the command /plugin.
type plugins struct{ c *Console }

func (s settings) Plugins() command.Plugins { return plugins(s) }

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

func (p plugins) store() *plugin.Store { return p.c.inst.Extensions().Plugins.Store() }

func (p plugins) List() (out []command.Plugin, err error) {
	all, err := p.store().Records()
	if err != nil {
		return nil, err
	}
	enabled := plugin.EnabledIn(p.c.inst.Config())
	for _, id := range slices.Sorted(maps.Keys(all)) {
		rec := all[id]
		one := command.Plugin{ID: id, Version: rec.Version, Source: rec.Source.String(), Enabled: enabled[id]}
		if got, err := p.store().Load(id, rec, nil); err == nil {
			one.Description = got.Manifest.Description
			one.Report, _ = got.Report()
		} else {
			one.Report = []string{err.Error()}
		}
		out = append(out, one)
	}
	return out, nil
}

func (p plugins) Switch(name string, on bool) error {
	id, err := p.store().ID(name)
	if err != nil {
		return err
	}
	ids, err := p.store().Switched(id, on, plugin.EnabledIn(p.c.inst.Config()))
	if err != nil {
		return err
	}
	return p.enableAll(ids, on, config.User)
}

func (p plugins) enableAll(ids []string, on bool, layer config.Layer) error {
	for _, id := range ids {
		if err := p.enable(id, on, layer); err != nil {
			return err
		}
	}
	return nil
}

func (p plugins) enable(id string, on bool, layer config.Layer) error {
	_, err := settings(p).write(p.c.inst.Config().Set(plugin.Key(id), fmt.Sprint(on), layer))
	return err
}

func (p plugins) Remove(name string) (needed []string, err error) {
	id, err := p.store().ID(name)
	if err != nil {
		return nil, err
	}
	if needed, err = p.store().NeededBy(id, plugin.EnabledIn(p.c.inst.Config())); err != nil {
		return nil, err
	}
	for _, layer := range []config.Layer{config.User, config.Project, config.Local} {
		_ = p.c.inst.Config().Unset(plugin.Key(id), layer) // most do not have it
	}
	_, err = settings(p).write(p.store().Remove(id, true))
	return needed, err
}

func (p plugins) Look(ctx context.Context, what string, update bool) (command.Offer, error) {
	c := p.c.inst.Config()
	var got *plugin.Candidate
	var err error
	if update {
		id, err := p.store().ID(what)
		if err != nil {
			return command.Offer{}, err
		}
		if got, err = p.store().Update(ctx, id, plugin.Extra(c)); err != nil {
			return command.Offer{}, err
		}
	} else if got, err = p.store().Fetch(ctx, what, c.Paths().Dir, plugin.Extra(c)); err != nil {
		return command.Offer{}, err
	}
	all, err := p.store().With(ctx, got, plugin.Extra(c))
	if err != nil {
		return command.Offer{}, err
	}
	p.c.looked.keep(all, update)
	return offered(all), nil
}

// offered describes a plugin that was fetched, and those that it needs.
func offered(all *plugin.Bundle) command.Offer {
	one := func(c *plugin.Candidate) (command.Plugin, []string) {
		lines, notes := c.Report()
		return command.Plugin{
			ID: c.ID, Version: c.Manifest.Version, Source: c.Source.String(),
			Description: c.Manifest.Description, Report: lines,
		}, notes
	}
	root := all.Root()
	o := command.Offer{Same: root.Same && len(all.New) == 1, Diff: root.Diff}
	o.Plugin, o.Notes = one(root)
	for _, c := range all.New[:len(all.New)-1] {
		needed, notes := one(c)
		o.Needed, o.Notes = append(o.Needed, needed), append(o.Notes, notes...)
	}
	return o
}

func (p plugins) Agree(id string) (enabled bool, err error) {
	all, update := p.c.looked.take(id)
	if all == nil {
		return false, errors.New("look at the plugin first: /plugin install PLUGIN, or /plugin update ID")
	}
	defer all.Drop()
	if err := p.store().InstallAll(all); err != nil {
		return false, err
	}
	p.c.inst.Extensions().Plugins.Reload()
	ids := all.IDs()
	if update { // it stays as it is, in the settings that say so
		if !plugin.EnabledIn(p.c.inst.Config())[id] {
			return false, nil
		}
		return true, p.enableAll(ids[:len(ids)-1], true, plugin.EnabledBy(p.c.inst.Config(), id))
	}
	return true, p.enableAll(ids, true, config.User)
}
