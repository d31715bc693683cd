package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lathe-dev/lathe/internal/command"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/plugin"
)

// plugins are the installed plugins for the command /plugin.
type plugins struct{ c *Console }

func (s settings) Plugins() command.Plugins { return plugins(s) }

// lookedAt is the plugin that was fetched and shown last.
type lookedAt struct {
	mu   sync.Mutex
	last *plugin.Candidate
}

// keep takes the place of the one before.
func (l *lookedAt) keep(c *plugin.Candidate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil {
		l.last.Drop()
	}
	l.last = c
}

// take hands over the one with this id; nil: another one, or none, was shown last.
func (l *lookedAt) take(id string) *plugin.Candidate {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil || l.last.ID != id {
		return nil
	}
	c := l.last
	l.last = nil
	return c
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
	return p.enable(id, on)
}

func (p plugins) enable(id string, on bool) error {
	_, err := settings(p).write(p.c.inst.Config().Set(key(id), fmt.Sprint(on), config.User))
	return err
}

func key(id string) string {
	quoted, _ := json.Marshal(id) // a text always can
	return "enabledPlugins[" + string(quoted) + "]"
}

func (p plugins) Remove(name string) error {
	id, err := p.store().ID(name)
	if err != nil {
		return err
	}
	for _, layer := range []config.Layer{config.User, config.Project, config.Local} {
		_ = p.c.inst.Config().Unset(key(id), layer) // most do not have it
	}
	_, err = settings(p).write(p.store().Remove(id, true))
	return err
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
	lines, notes := got.Report()
	p.c.looked.keep(got)
	return command.Offer{
		Plugin: command.Plugin{ID: got.ID, Version: got.Manifest.Version, Source: got.Source.String(), Description: got.Manifest.Description, Report: lines},
		Same:   got.Same, Diff: got.Diff, Notes: notes,
	}, nil
}

func (p plugins) Agree(id string) error {
	got := p.c.looked.take(id)
	if got == nil {
		return errors.New("look at the plugin first: /plugin install PLUGIN, or /plugin update ID")
	}
	defer got.Drop()
	if !got.Same {
		if err := p.store().Install(got); err != nil {
			return err
		}
	}
	p.c.inst.Extensions().Plugins.Reload()
	return p.enable(id, true)
}
