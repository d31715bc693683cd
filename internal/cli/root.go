package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// commandNames are the words that are subcommands when they come first.
var commandNames = []string{
	"session", "undo", "redo", "snapshot", "stats", "config", "tool", "agents", "models",
	"auth", "best", "team", "hook", "prompt", "permission", "mcp", "lsp", "plugin", "sandbox", "doctor", "demo",
	"ps", "attach", "logs", "stop", "respawn", "rm", "daemon", "port", "dash", "schedule", "serve", "web",
	"gateway", "telegram", "teams", "fleet", "bench", "acp",
	"completion", "man", "help", "version", "__complete", "__completeNoDesc",
}

// reservedNames are commands to come: no prompt begins with such a word, so that a script means the same later.
var reservedNames = []string{
	"import", "update",
}

// newRoot builds the command tree: for a prompt only the root, so that no word of it can be taken for a
// subcommand and nothing is built in vain.
func newRoot(p *program, inv invocation) *cobra.Command {
	o := &Options{}
	root := &cobra.Command{
		Use:           "lathe [flags] [prompt...]",
		Short:         "A coding agent for the terminal",
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			o.given = func() (out []string) {
				c.Flags().Visit(func(f *pflag.Flag) { out = append(out, f.Name) })
				return out
			}
			return p.runPrompt(c.Context(), o, c.Flags(), args)
		},
	}
	root.SetIn(p.in)
	root.SetOut(p.out)
	root.SetErr(p.err)
	root.SetGlobalNormalizationFunc(normalize)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return p.withResult(o, flagError(c, err)) })
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { p.helpErr = showHelp(c) })
	root.SetUsageFunc(showHelp)
	root.CompletionOptions.DisableDefaultCmd = true
	root.PersistentFlags().BoolP("help", "h", false, "show this help")
	addPlaceFlags(root.PersistentFlags(), o)
	f := root.Flags()
	addPromptFlags(f, o)
	addModelFlags(f, o)
	addPermissionFlags(f, o)
	addCompatFlags(f)
	if inv.command {
		addCommands(root, p, o)
	}
	if inv.completing() {
		plainUsages(root)
	}
	return root
}

// addCommands adds every subcommand.
func addCommands(root *cobra.Command, p *program, o *Options) {
	root.SetHelpCommand(helpCommand(root))
	root.AddCommand(sessionCommand(p, o), undoCommand(p, o), redoCommand(p, o), snapshotCommand(p, o), statsCommand(p, o),
		configCommand(p, o), toolCommand(p, o), agentsCommand(p, o), modelsCommand(p, o), authCommand(p, o),
		bestCommand(p, o), teamCommand(p, o), hookCommand(p, o), promptCommand(p, o), permissionCommand(p, o),
		mcpCommand(p, o), lspCommand(p, o), pluginCommand(p, o), sandboxCommand(p, o), doctorCommand(p, o),
		psCommand(p), attachCommand(p, o), logsCommand(p, o), stopCommand(p), respawnCommand(p), rmCommand(p),
		daemonCommand(p), portCommand(p), dashCommand(p, o), scheduleCommand(p, o), serveCommand(p, o), webCommand(p, o),
		gatewayCommand(p, o), telegramCommand(p, o), teamsCommand(p, o), fleetCommand(p), benchCommand(p), acpCommand(p, o),
		demoCommand(p), completionCommand(p), manCommand(p), versionCommand(p))
	completeFlags(root, o)
}

// flagError names the nearest flag when one is unknown.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usage("see "+c.CommandPath()+" --help", "%s", plainFlagError(err))
	}
	name := unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() != "" {
		return usage("see "+c.CommandPath()+" --help", "unknown flag -%s", name)
	}
	names := flagNames(c)
	near, _ := fuzzy.Nearest(name, names, 1+len(name)/3)
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, name) }); near == "" && i >= 0 {
		near = names[i]
	}
	hint := "see " + c.CommandPath() + " --help"
	if near != "" {
		hint = "did you mean --" + near + "?"
	}
	return usage(hint, "unknown flag --%s", name)
}

// plainFlagError shortens pflag's text for a wrong value.
func plainFlagError(err error) string {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		return fmt.Sprintf("--%s: %q is not %s", bad.GetFlag().Name, bad.GetValue(), article(bad.GetFlag().Value.Type()))
	}
	var missing *pflag.ValueRequiredError
	if errors.As(err, &missing) {
		return fmt.Sprintf("--%s needs a value", missing.GetSpecifiedName())
	}
	return err.Error()
}

func article(kind string) string {
	switch kind {
	case "int":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	}
	return "a valid " + kind
}

// flagNames lists the visible flags of a command, sorted.
func flagNames(c *cobra.Command) []string {
	var out []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			out = append(out, f.Name)
		}
	}
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	slices.Sort(out)
	return slices.Compact(out)
}

func versionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.out, versionLine())
			return err
		},
	}
}

// noArgs is cobra.NoArgs with our kind of error.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(`a prompt that begins with this word: lathe -p "`+c.Name()+" "+strings.Join(args, " ")+`"`,
			"%s takes no arguments", c.CommandPath())
	}
	return nil
}

// needCommand is the RunE of a group of commands.
func needCommand(c *cobra.Command, args []string) error {
	var names []string
	for _, s := range c.Commands() {
		names = append(names, s.Name())
	}
	if len(args) == 0 {
		return usage("see "+c.CommandPath()+" --help", "%s needs one of: %s", c.CommandPath(), strings.Join(names, ", "))
	}
	hint := "it has: " + strings.Join(names, ", ")
	if near, _ := fuzzy.Nearest(args[0], names, max(2, len(args[0])/2)); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return usage(fmt.Sprintf(`%s A prompt that begins with this word: lathe -p "%s ..."`, hint, c.Name()),
		"%s has no command %q", c.CommandPath(), args[0])
}
