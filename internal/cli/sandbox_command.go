package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/netproxy"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

func sandboxCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "sandbox", Short: "Run a command in the sandbox, or see what this machine offers", Args: noArgs,
		Long: `Commands of the model can be confined by the operating system: see docs/security.md. These subcommands show the sandbox
that this machine offers, and run a command of yours in it.`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(sandboxStatusCommand(p, o), sandboxRunCommand(p, o))
	return c
}

func sandboxStatusCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "Show the best sandbox that works here", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			s := confine.Detect()
			b, err := p.boundary(o)
			if asJSON {
				out := map[string]any{
					"tier": s.Tier.String(), "why": s.Why, "landlock": s.ABI, "userNamespace": s.User,
					"mode": string(confine.Off),
				}
				if b != nil && (!b.Standard() || b.Confined()) {
					out["mode"], out["default"] = string(b.Mode()), b.Standard()
				}
				if err != nil {
					out["error"] = err.Error()
				}
				return writeJSON(p.out, out)
			}
			fmt.Fprintln(p.out, escape(tierLine(s)))
			switch {
			case err != nil:
				fmt.Fprintln(p.out, "settings: "+escape(err.Error()))
			case b == nil:
				fmt.Fprintln(p.out, "settings: off; commands of the model run without it")
			case b.Standard() && !b.Confined():
				fmt.Fprintln(p.out, "settings: on by default, but only in the tier full; commands of the model run without it")
			case b.Standard():
				fmt.Fprintln(p.out, "settings: on by default ("+string(b.Mode())+
					"); --sandbox off, or sandbox.enabled: false, switches it off")
			default:
				fmt.Fprintln(p.out, "settings: "+string(b.Mode()))
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// tierLine describes the tier of this machine.
func tierLine(s confine.Support) string {
	switch s.Tier {
	case confine.Full:
		how := "own namespaces"
		if s.User {
			how += " with a user namespace"
		}
		if s.Carrier != "" {
			how = "namespaces by " + s.Carrier
		}
		return fmt.Sprintf("tier: full (%s, Landlock version %d, seccomp)", how, s.ABI)
	case confine.Landlock:
		return fmt.Sprintf("tier: landlock (version %d, seccomp); not full: %s", s.ABI, s.Why)
	case confine.Seatbelt:
		return "tier: seatbelt (sandbox-exec); not full: " + s.Why
	case confine.Restricted:
		return "tier: restricted (restricted token, job object); not full: " + s.Why
	}
	return "tier: none: " + s.Why
}

func sandboxRunCommand(p *program, o *Options) *cobra.Command {
	var hosts []string
	c := &cobra.Command{
		Use: "run -- command [argument...]", Short: "Run a command in the sandbox",
		Long: `Run a command in the sandbox that commands of the model get: the mode of --sandbox or of the settings, else workspace. The
current folder is the one that may be written. The network is a proxy that connects to the hosts of the settings and of
--allow-host; refused hosts are printed. The exit code is the command's.`,
		Example: "  lathe sandbox run -- make test\n  lathe sandbox run --sandbox read-only -- sh -c 'touch x'\n  lathe " +
			"sandbox run --allow-host registry.npmjs.org -- npm install",
		Args: atLeast("-- make test"),
		RunE: func(c *cobra.Command, args []string) error {
			if confine.Mode(o.Sandbox) == confine.Off {
				return usage("choose read-only or workspace", "--sandbox off: there is nothing to run the command in")
			}
			return p.runConfined(c.Context(), o, hosts, args)
		},
	}
	c.Flags().StringVar(&o.Sandbox, "sandbox", "", "a `mode`: read-only, workspace")
	c.Flags().StringArrayVar(&hosts, "allow-host", nil,
		"a `pattern` of hosts that the command may reach: example.com, *.example.com, 10.0.0.0/8; may be repeated")
	c.Flags().SetInterspersed(false)
	return c
}

// modeOfSettings returns the mode of a sandbox that is requested without one.
func modeOfSettings(cfg *config.Config) string {
	mode, _, _ := cfg.Get("sandbox.mode")
	return cmp.Or(strings.Trim(string(mode), `"`), string(confine.Workspace))
}

// boundary opens the sandbox that the settings and flags request.
func (p *program) boundary(o *Options) (*boundary.Boundary, error) {
	cfg, dir, err := loadConfig(o)
	if err != nil {
		return nil, err
	}
	return openBoundary(cfg, dir, sandboxFlag(o, cfg), nil)
}

// openBoundary opens a sandbox of that configuration and waits for the probe of the machine.
func openBoundary(cfg *config.Config, dir, flag string, hosts []string) (*boundary.Boundary, error) {
	b, err := beginBoundary(cfg, dir, flag, hosts)
	if err == nil {
		err = b.Ready()
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// beginBoundary does not wait.
func beginBoundary(cfg *config.Config, dir, flag string, hosts []string) (*boundary.Boundary, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one there are no secrets in it
	paths := cfg.Paths()
	return boundary.Begin(boundary.Options{
		Settings: cfg.Settings.Sandbox, Hosts: hosts, Flag: flag, Dir: dir, Home: home, Config: paths.ConfigHome,
		State: paths.StateHome, Cache: paths.CacheHome, Ask: cfg.Settings.Permissions.AskBeforeCommands,
	})
}

// runConfined runs a user's command with lathe's own stdin, stdout and stderr.
func (p *program) runConfined(ctx context.Context, o *Options, hosts, argv []string) (err error) {
	cfg, dir, err := loadConfig(o)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return err
	}
	b, err := openBoundary(cfg, dir, cmp.Or(o.Sandbox, modeOfSettings(cfg)), hosts)
	if err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	run, err := b.For([]string{dir}, boundary.Network{Record: p.printRefused})
	if err != nil {
		return err
	}
	r := sandbox.New()
	defer r.Close()
	exit, err := r.Run(ctx, sandbox.Spec{
		Argv: argv, Dir: dir, Env: sandbox.Overlay(os.Environ(), run.Environ()), Stdin: p.in, Stdout: p.out, Stderr: p.err,
		Confine: run.Confinement,
	})
	for _, line := range run.Done() {
		fmt.Fprintf(p.err, "%s: %s\n", messagesName, escape(line))
	}
	if err == nil && exit.Code != 0 {
		return &Error{Code: exit.Code, Msg: fmt.Sprintf("%s: exit code %d", argv[0], exit.Code), Quiet: true}
	}
	return err
}

// printRefused prints a refused connection.
func (p *program) printRefused(c netproxy.Connection) {
	if !c.Allowed {
		fmt.Fprintf(p.err, "%s: network: %s refused: %s\n", messagesName, escape(c.Host), escape(c.Reason))
	}
}

// noteSandbox warns about a sandbox that is weaker than requested, and fails if it must not be weaker.
func (p *program) noteSandbox(b *boundary.Boundary) error {
	if b == nil {
		return nil
	}
	if err := b.Ready(); err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	if note := b.Note(); note != "" {
		p.warning(note)
	}
	return nil
}

// sandbox reports the tier that works here.
func (d *doctor) sandbox() {
	s := confine.Detect()
	if s.Tier == confine.Full {
		d.ok("sandbox", "%s", strings.TrimPrefix(tierLine(s), "tier: "))
		return
	}
	d.add("sandbox", statusWarn, "commands can be confined only where this works: see docs/security.md", "%s",
		strings.TrimPrefix(tierLine(s), "tier: "))
}
