package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation/ruleset"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
	"github.com/lathe-dev/lathe/internal/tool"
)

func permissionCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "permission", Short: "Try permission rules, explain decisions", RunE: needCommand,
		Long: "What may run without asking is decided by rules, modes and what a call would do: see docs/permissions.md. " +
			"Nothing is run here.",
	}
	c.AddCommand(permissionCheckCommand(p, o), permissionExplainCommand(p, o))
	return c
}

func permissionCheckCommand(p *program, o *Options) *cobra.Command {
	var home, mode, tier string
	c := &cobra.Command{
		Use: "check", Short: "Decide on calls and rules, one JSON object a line", Args: noArgs,
		Long: `Read JSON lines and answer one each. A call: {"id": 1, "tool": "Bash", "input": {"command": "git log | head"}}; the answer has "decision"
(allow, ask or deny), "class", "reason", "rule" and "accesses", and for a command the "tier" of the sandbox and its "boundary": read, view, write, open
(to write, with the network) or outside. A rule: {"id": 2, "rule": "Bash(ls *)", "effect": "allow", "input": "ls -la"}; the answer
says whether it matches. A line that cannot be read is answered by "error".

Only the given folders and settings count: they need not exist, nothing of the machine is looked at, your own settings are not read, and the folder
counts as trusted.`,
		RunE: func(c *cobra.Command, _ []string) error {
			k, err := newChecker(o, home, mode, tier)
			if err != nil {
				return err
			}
			return k.run(c.Context(), p.in, p.out)
		},
	}
	c.Flags().StringVar(&home, "home", "", "the home `folder` to decide for; the process's when not given")
	c.Flags().StringVar(&mode, "mode", "", "the permission `mode`: "+strings.Join(permission.ModeNames(), ", "))
	c.Flags().StringVar(&tier, "tier", "full", "the sandbox's `tier` to decide for: full, none")
	return c
}

// newChecker makes the policy of an imaginary machine from the command line.
func newChecker(o *Options, home, mode, tier string) (*checker, error) {
	dir, err := workingFolder(o)
	if err != nil {
		return nil, err
	}
	if home, err = homeFolder(home); err != nil {
		return nil, err
	}
	settings := strings.TrimSpace(o.Settings)
	if settings != "" && !strings.HasPrefix(settings, "{") {
		if settings, err = filepath.Abs(settings); err != nil { // the folder decided for need not be there
			return nil, usage("give an absolute path", "--settings: %v", err)
		}
	}
	cfg, err := config.Load(config.Options{
		Dir: dir, Home: home, ConfigHome: filepath.Join(home, ".config", "lathe"), Environ: []string{"HOME=" + home},
		SettingsFlag: settings,
		Sources:      []config.Layer{}, ManagedPaths: []string{}, Trust: func(string, string) bool { return true },
	})
	if err != nil {
		return nil, &Error{Code: exitUsage, Err: err}
	}
	tools := tool.Catalogue()
	rules, notes, err := ruleset.Read(cfg, ruleset.Options{
		Tools: tools, Dir: dir, Home: home,
		Resolve: func(path string) string { return path },
	})
	if err != nil {
		return nil, &Error{Code: exitUsage, Err: err}
	}
	k := &checker{
		tools: tools, machine: call.NewMachine(tools, dir, home), notes: notes,
		mode: permission.Mode(cfg.Settings.Permissions.DefaultMode),
	}
	if mode != "" {
		k.mode = permission.Mode(mode)
	}
	if !slices.Contains(permission.Modes, k.mode) {
		return nil, usage("choose one of "+strings.Join(permission.ModeNames(), ", "),
			"--mode: there is no permission mode %q", mode)
	}
	k.machine.RootDirs = append(k.machine.RootDirs, cfg.Settings.Permissions.AdditionalDirectories...)
	if k.box, err = imaginedBoundary(cfg, dir, home, o.Sandbox, tier); err != nil {
		return nil, err
	}
	k.policy = k.machine.Policy(rules)
	k.policy.ForbidBypass(cfg.BypassForbidden() != nil)
	return k, nil
}

// imaginedBoundary is the sandbox of the tier full, as the settings want it; nil for the tier none.
func imaginedBoundary(cfg *config.Config, dir, home, flag, tier string) (*boundary.Boundary, error) {
	switch tier {
	case confine.None.String():
		return nil, nil
	case confine.Full.String():
	default:
		return nil, usage("choose full or none", "--tier: there is no tier %q to decide for", tier)
	}
	b, err := boundary.Begin(boundary.Options{
		Settings: cfg.Settings.Sandbox, Flag: flag, Dir: dir, Home: home, Ask: cfg.Settings.Permissions.AskBeforeCommands,
		Detect: func() confine.Support { return confine.Support{Tier: confine.Full} },
	})
	if err != nil {
		return nil, &Error{Code: exitUsage, Err: err}
	}
	return b, nil
}

// homeFolder is the home to decide for, absolute.
func homeFolder(home string) (string, error) {
	if home == "" {
		h, err := os.UserHomeDir()
		if err != nil {
			return "", usage("give --home", "there is no home folder: %v", err)
		}
		home = h
	}
	abs, err := filepath.Abs(home)
	if err != nil {
		return "", usage("give an absolute path", "--home: %v", err)
	}
	return abs, nil
}

func permissionExplainCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "explain COMMAND", Short: "Say what a command would do, and what is decided on it",
		Long: "Take a command line apart as the Bash tool does: its parts with what each does, what it would read, write " +
			"and reach, the checks that fire, and the " +
			"rule or the reason that decides, in this folder with its settings. Nothing is run.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && strings.TrimSpace(args[0]) != "" {
				return nil
			}
			return usage(fmt.Sprintf("for example: %s 'git log | head'", c.CommandPath()),
				"%s takes one command line, in quotes", c.CommandPath())
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			return p.explain(c.Context(), o, args[0])
		},
	}
	addPermissionFlags(c.Flags(), o)
	return c
}
