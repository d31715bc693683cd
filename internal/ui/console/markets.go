package console

import (
	"context"
	"maps"
	"slices"

	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

func (p plugins) Markets() (out []command.Market, err error) {
	known, err := p.store().Markets()
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		out = append(out, command.Market{Name: name, Source: known[name].Source.String(), Known: true})
	}
	extra := plugin.Extra(p.c.inst.Config())
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, ok := known[name]; !ok {
			out = append(out, command.Market{Name: name, Source: extra[name].String()})
		}
	}
	return out, nil
}

func (p plugins) Market(ctx context.Context, name string) (out []command.Plugin, err error) {
	c := p.c.inst.Config()
	m, err := p.store().Market(ctx, name, plugin.Extra(c))
	if err != nil {
		return nil, err
	}
	records, err := p.store().Records()
	if err != nil {
		return nil, err
	}
	enabled := plugin.EnabledIn(c)
	for _, e := range m.Entries {
		id := e.Name + "@" + m.Name
		_, installed := records[id]
		out = append(out, command.Plugin{
			ID: id, Version: e.Version, Source: e.Source.String(), Description: e.Description, Installed: installed,
			Enabled: installed && enabled[id],
		})
	}
	return out, nil
}

func (p plugins) ChangeMarket(ctx context.Context, verb, what string) (string, error) {
	switch verb {
	case "remove":
		return what, p.store().RemoveMarket(what)
	case "update":
		m, err := p.store().UpdateMarket(ctx, what)
		return marketName(m), err
	}
	src, err := plugin.ParseSource(what, p.c.inst.Config().Paths().Dir)
	if err != nil {
		return "", err
	}
	m, err := p.store().AddMarket(ctx, src)
	return marketName(m), err
}

func marketName(m *plugin.Market) string {
	if m == nil {
		return ""
	}
	return m.Name
}
