package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/extend/plugin"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func pluginCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "plugin", Short: "Plugins: install, update and make them", RunE: needCommand,
		Long: `A plugin is a folder that brings commands, agents, skills, hooks, MCP servers, tools, output styles and programs.
Nothing of it runs before you have seen what it may do and agreed. See docs/plugins.md.`,
	}
	c.AddCommand(pluginListCommand(p, o), pluginInstallCommand(p, o), pluginUpdateCommand(p, o),
		pluginRemoveCommand(p, o), pluginSwitchCommand(p, o, true), pluginSwitchCommand(p, o, false),
		pluginValidateCommand(p, o), pluginNewCommand(p, o), pluginSchemaCommand(p), marketCommand(p, o))
	return c
}

// pluginRun has the parts of a subcommand on plugins.
type pluginRun struct {
	p     *program
	cfg   *config.Config
	store *plugin.Store
	ctx   context.Context
}

// plugins wraps the work of a subcommand.
func (p *program) plugins(o *Options, f func(r *pluginRun, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		o.set = c.Flags().Changed
		cfg, _, err := loadConfig(o)
		if err != nil {
			return err
		}
		runner := sandbox.New()
		defer runner.Close()
		p.kids.add(func() error { runner.Close(); return nil })
		r := &pluginRun{p: p, cfg: cfg, ctx: c.Context(), store: plugin.Open(cfg.Paths().DataHome, runner, os.Environ)}
		err = f(r, args)
		if e, ok := errors.AsType[*Error](err); ok || err == nil {
			if err == nil {
				return nil
			}
			return e
		}
		return &Error{Code: exitFailed, Err: err}
	}
}

func scopeFlag(c *cobra.Command) *string {
	return c.Flags().StringP("scope", "s", "user", "whose settings enable it: `user`, project or local")
}

func pluginListCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List the installed plugins", Args: noArgs}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	c.RunE = p.plugins(o, func(r *pluginRun, _ []string) error { return r.list(asJSON) })
	return c
}

// pluginJSON is an installed plugin.
type pluginJSON struct {
	ID      string `json:"id"`
	Enabled bool   `json:"enabled"`
	Version string `json:"version,omitempty"`
	Commit  string `json:"commit,omitempty"`
	Source  string `json:"source"`
	Path    string `json:"path"`
}

func (r *pluginRun) list(asJSON bool) error {
	all, err := r.store.Records()
	if err != nil {
		return err
	}
	enabled := plugin.EnabledIn(r.cfg)
	list := []pluginJSON{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		rec := all[id]
		list = append(list, pluginJSON{id, enabled[id], rec.Version, rec.Commit, rec.Source.String(), rec.Path})
	}
	if asJSON {
		return writeJSON(r.p.out, list)
	}
	var rows [][]string
	for _, v := range list {
		state := "disabled"
		if v.Enabled {
			state = "enabled"
		}
		rows = append(rows, []string{
			term.EscapeLine(v.ID), state, term.EscapeLine(v.Version), short(v.Commit),
			term.EscapeLine(v.Source),
		})
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(r.p.out, "no plugin is installed; lathe plugin install ./FOLDER, OWNER/REPOSITORY or "+
			"NAME@MARKETPLACE installs one")
		return err
	}
	_, err = io.WriteString(r.p.out, columns(rows, r.p.width()))
	return err
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

func pluginInstallCommand(p *program, o *Options) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "install PLUGIN", Short: "Show what a plugin may do, ask, install and enable it", Args: exactly("PLUGIN"),
		Long: `Fetch a plugin and show what it brings and what it may run; once you agree, a copy of it is kept and enabled. PLUGIN is
NAME@MARKETPLACE, NAME where one known marketplace has it, a folder (./NAME), OWNER/REPOSITORY at GitHub, or the address of a repository, with #BRANCH.`,
		Example: "  lathe plugin install ./my-plugin\n  lathe plugin install formatter@acme --scope project",
	}
	scope := scopeFlag(c)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		layer, err := config.ParseScope(*scope)
		if err != nil {
			return err
		}
		got, err := r.store.Fetch(r.ctx, args[0], r.cfg.Paths().Dir, plugin.Extra(r.cfg))
		if err != nil {
			return err
		}
		all, err := r.store.With(r.ctx, got, plugin.Extra(r.cfg))
		if err != nil {
			return err
		}
		defer all.Drop()
		return r.install(all, layer, yes)
	})
	return c
}

// install shows a plugin and those that it needs, asks once, and installs and enables them.
func (r *pluginRun) install(all *plugin.Bundle, layer config.Layer, yes bool) error {
	if fresh := r.describeAll(all); fresh > 0 {
		if err := r.agree(yes, "Install "+named(all)+"?"); err != nil {
			return err
		}
		if err := r.store.InstallAll(all); err != nil {
			return err
		}
	}
	for _, id := range all.IDs() {
		if err := r.enable(id, true, layer); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(r.p.out, "installed %s, enabled in the %s settings\n", term.EscapeLine(id),
			layer); err != nil {
			return err
		}
	}
	return nil
}

// describeAll prints the parts of each plugin of a bundle, the one that was asked for first, and counts those that are
// not installed as they are.
func (r *pluginRun) describeAll(all *plugin.Bundle) (fresh int) {
	for i, c := range slices.Backward(all.New) {
		if i < len(all.New)-1 {
			fmt.Fprintf(r.p.out, "\nNeeded, and installed with it: ")
		}
		r.describe(c)
		if !c.Same {
			fresh++
		}
	}
	for _, id := range all.Have {
		fmt.Fprintf(r.p.out, "\nNeeded, and installed already: %s\n", term.EscapeLine(id))
	}
	return fresh
}

// named is what a question asks for.
func named(all *plugin.Bundle) string {
	name := term.EscapeLine(all.Root().ID)
	if others := len(all.New) - 1; others > 0 {
		name += " and " + plural(others, "plugin") + " that it needs"
	}
	return name
}

// agree asks the person, unless the command line did already.
func (r *pluginRun) agree(yes bool, question string) error {
	switch {
	case yes:
	case !r.p.asks():
		return usage("look at what it may do, then add --yes",
			"nothing is installed without asking, and there is no terminal to ask on")
	case !r.p.confirm(r.ctx, question):
		return &Error{Code: exitFailed, Msg: "nothing was changed"}
	}
	return nil
}

// describe prints the parts of a plugin, and the difference from the installed one.
func (r *pluginRun) describe(c *plugin.Candidate) {
	m := c.Manifest
	fmt.Fprintf(r.p.out, "%s %s\n", term.EscapeLine(c.ID),
		term.EscapeLine(strings.TrimSpace(m.Version+"  "+m.Description)))
	fmt.Fprintf(r.p.out, "  from %s %s\n", term.EscapeLine(c.Source.String()), short(c.Commit))
	lines, notes := c.Report()
	for _, l := range lines {
		fmt.Fprintln(r.p.out, "  "+term.EscapeLine(l))
	}
	if len(lines) == 0 {
		fmt.Fprintln(r.p.out, "  it brings nothing that lathe uses")
	}
	for _, n := range notes {
		fmt.Fprintln(r.p.err, messagesName+": warning: "+term.EscapeLine(n))
	}
	if c.Diff != "" {
		fmt.Fprintf(r.p.out, "\nThe difference from the installed one:\n%s\n", term.Escape(c.Diff))
	}
}

// enable writes the setting enabledPlugins of a scope.
func (r *pluginRun) enable(id string, on bool, layer config.Layer) error {
	return r.cfg.Set(plugin.Key(id), fmt.Sprint(on), layer)
}

func pluginUpdateCommand(p *program, o *Options) *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "update [PLUGIN...]", Short: "Show what changed in plugins, ask, and update them",
		Long: "Fetch installed plugins again from where they came, all of them or the named ones. The difference is shown " +
			"before anything changes.",
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	c.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		all, err := r.store.Records()
		if err != nil {
			return err
		}
		if len(args) == 0 {
			args = slices.Sorted(maps.Keys(all))
		}
		for _, name := range args {
			if err := r.update(name, yes); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	return c
}

func (r *pluginRun) update(name string, yes bool) error {
	id, err := r.store.ID(name)
	if err != nil {
		return err
	}
	c, err := r.store.Update(r.ctx, id, plugin.Extra(r.cfg))
	if err != nil {
		return err
	}
	all, err := r.store.With(r.ctx, c, plugin.Extra(r.cfg))
	if err != nil {
		return err
	}
	defer all.Drop()
	if c.Same && len(all.New) == 1 {
		_, err := fmt.Fprintf(r.p.out, "%s is up to date\n", term.EscapeLine(id))
		return err
	}
	r.describeAll(all)
	if err := r.agree(yes, "Update "+named(all)+"?"); err != nil {
		return err
	}
	if err := r.store.InstallAll(all); err != nil {
		return err
	}
	if plugin.EnabledIn(r.cfg)[id] {
		for _, c := range all.New[:len(all.New)-1] {
			if err := r.enable(c.ID, true, plugin.EnabledBy(r.cfg, id)); err != nil {
				return err
			}
		}
	}
	_, err = fmt.Fprintf(r.p.out, "updated %s\n", term.EscapeLine(id))
	return err
}

func pluginRemoveCommand(p *program, o *Options) *cobra.Command {
	var keep bool
	c := &cobra.Command{
		Use: "remove PLUGIN", Aliases: []string{"uninstall"},
		Short: "Disable a plugin and delete its copy", Args: exactly("PLUGIN"),
	}
	c.Flags().BoolVar(&keep, "keep-data", false, "keep the folder of what it wrote")
	c.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		id, err := r.store.ID(args[0])
		if err != nil {
			return err
		}
		for _, layer := range []config.Layer{config.User, config.Project, config.Local} {
			_ = r.cfg.Unset(plugin.Key(id), layer) // most do not have it
		}
		needed, err := r.store.NeededBy(id, plugin.EnabledIn(r.cfg))
		if err != nil {
			return err
		}
		if err := r.store.Remove(id, keep); err != nil {
			return err
		}
		for _, other := range needed {
			fmt.Fprintf(r.p.err, "%s: warning: %s needs the removed plugin %s\n", messagesName, term.EscapeLine(other),
				term.EscapeLine(id))
		}
		_, err = fmt.Fprintf(r.p.out, "removed %s\n", term.EscapeLine(id))
		return err
	})
	return c
}

func pluginSwitchCommand(p *program, o *Options, on bool) *cobra.Command {
	word, done := "enable", "enabled"
	if !on {
		word, done = "disable", "disabled"
	}
	c := &cobra.Command{
		Use: word + " PLUGIN", Short: strings.ToUpper(word[:1]) + word[1:] + " an installed plugin",
		Args: exactly("PLUGIN"),
	}
	scope := scopeFlag(c)
	c.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		layer, err := config.ParseScope(*scope)
		if err != nil {
			return err
		}
		id, err := r.store.ID(args[0])
		if err != nil {
			return err
		}
		ids, err := r.store.Switched(id, on, plugin.EnabledIn(r.cfg))
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := r.enable(id, on, layer); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(r.p.out, "%s %s in the %s settings\n", done, term.EscapeLine(id), layer); err != nil {
				return err
			}
		}
		return nil
	})
	return c
}

func pluginValidateCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{Use: "validate [FOLDER]", Short: "Check a plugin or marketplace in a folder; nothing of it runs"}
	c.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		dir := r.cfg.Paths().Dir
		if len(args) > 0 {
			dir = args[0]
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(r.cfg.Paths().Dir, dir)
			}
		}
		lines, faults := plugin.Validate(dir)
		for _, l := range lines {
			fmt.Fprintln(r.p.out, term.EscapeLine(l))
		}
		for _, f := range faults {
			fmt.Fprintln(r.p.err, messagesName+": "+term.EscapeLine(f))
		}
		if len(faults) > 0 {
			return &Error{Code: exitFailed, Msg: plural(len(faults), "fault")}
		}
		return nil
	})
	return c
}

func pluginNewCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{Use: "new NAME", Short: "Make a plugin to begin with", Args: exactly("NAME")}
	c.RunE = p.plugins(o, func(r *pluginRun, args []string) error {
		dir, err := plugin.Create(r.cfg.Paths().Dir, args[0])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(r.p.out, "%s\nTry it: lathe --plugin-dir %s\n", term.EscapeLine(dir), term.EscapeLine(dir))
		return err
	})
	return c
}
