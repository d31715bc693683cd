package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func marketCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{Use: "marketplace", Short: "Marketplaces: add, list, update and remove them", RunE: needCommand}
	add := &cobra.Command{
		Use: "add SOURCE", Short: "Fetch the list of a marketplace", Args: exactly("SOURCE"),
		Long: "Make a marketplace known: a folder (./NAME), OWNER/REPOSITORY at GitHub, the address of a repository, or " +
			"that of a marketplace.json. Only its list is used until you install a plugin.",
	}
	add.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		src, err := plugin.ParseSource(args[0], r.cfg.Paths().Dir)
		if err != nil {
			return err
		}
		m, err := r.store.AddMarket(r.ctx, src)
		if err != nil {
			return err
		}
		r.sayNotes(m.Notes)
		_, err = fmt.Fprintf(r.p.out, "added the marketplace %s with %s\n", term.EscapeLine(m.Name),
			plural(len(m.Entries), "plugin"))
		return err
	})
	list := &cobra.Command{Use: "list [NAME]", Short: "List the marketplaces, or the plugins of one"}
	list.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		if len(args) > 0 {
			return r.listMarket(args[0])
		}
		return r.listMarkets()
	})
	update := &cobra.Command{Use: "update [NAME...]", Short: "Fetch the lists of marketplaces again"}
	update.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		all, err := r.store.Markets()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			args = slices.Sorted(maps.Keys(all))
		}
		for _, name := range args {
			m, err := r.store.UpdateMarket(r.ctx, name)
			if err != nil {
				return err
			}
			r.sayNotes(m.Notes)
			fmt.Fprintf(r.p.out, "%s has %s\n", term.EscapeLine(m.Name), plural(len(m.Entries), "plugin"))
		}
		return nil
	})
	remove := &cobra.Command{Use: "remove NAME", Short: "Forget a marketplace; its plugins stay", Args: exactly("NAME")}
	remove.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		if err := r.store.RemoveMarket(args[0]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(r.p.out, "removed the marketplace %s\n", term.EscapeLine(args[0]))
		return err
	})
	c.AddCommand(add, list, update, remove)
	return c
}

func (r *pluginRun) listMarkets() error {
	all, err := r.store.Markets()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		rows = append(rows, []string{
			term.EscapeLine(name), term.EscapeLine(all[name].Source.String()),
			short(all[name].Commit),
		})
	}
	extra := plugin.Extra(r.cfg)
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if _, ok := all[name]; !ok {
			rows = append(rows, []string{
				term.EscapeLine(name), term.EscapeLine(extra[name].String()),
				"(of the settings, not fetched)",
			})
		}
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(r.p.out, "no marketplace is known; lathe plugin marketplace add OWNER/REPOSITORY adds one")
		return err
	}
	_, err = io.WriteString(r.p.out, columns(rows, r.p.width()))
	return err
}

func (r *pluginRun) listMarket(name string) error {
	m, err := r.store.Market(r.ctx, name, plugin.Extra(r.cfg))
	if err != nil {
		return err
	}
	r.sayNotes(m.Notes)
	var rows [][]string
	for _, e := range m.Entries {
		rows = append(rows, []string{
			term.EscapeLine(e.Name + "@" + m.Name), term.EscapeLine(e.Version),
			term.EscapeLine(e.Description),
		})
	}
	_, err = io.WriteString(r.p.out, columns(rows, r.p.width()))
	return err
}

// sayNotes names what cannot be used.
func (r *pluginRun) sayNotes(notes []string) {
	for _, n := range notes {
		fmt.Fprintln(r.p.err, messagesName+": "+term.EscapeLine(n))
	}
}
