package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	memory "github.com/lathe-dev/lathe/internal/base/usage"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/face/gateway"
	"github.com/lathe-dev/lathe/internal/face/gateway/telegram"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// gate is a transport with what its host needs.
type gate struct {
	gateway.Transport
	access gateway.Access
	check  func(context.Context) (string, error)
}

// gateFlags are the flags of the commands that run a gateway.
type gateFlags struct{ allow, approvers []string }

func telegramCommand(p *program, o *Options) *cobra.Command {
	var f gateFlags
	c := &cobra.Command{
		Use: "telegram", Short: "Converse by a bot of Telegram", Args: noArgs,
		Long: `Let people converse with sessions by a bot of Telegram, until interrupted. TELEGRAM_BOT_TOKEN is the token that @BotFather
shows. Only ids of --allow, of the settings and of lathe gateway pair are heard. See docs/gateways.md.`,
		Example: "  lathe telegram --allow 123456789 --cwd ~/project",
		RunE: func(c *cobra.Command, _ []string) error {
			return p.runGates(c, o, f, func(cfg *config.Config) ([]gate, error) {
				g, err := p.telegramGate(cfg)
				return []gate{g}, err
			})
		},
	}
	addGateFlags(c.Flags(), o, &f)
	return c
}

func addGateFlags(f *pflag.FlagSet, o *Options, g *gateFlags) {
	f.StringSliceVar(&g.allow, "allow", nil, "the `id` of a user who may converse (repeatable)")
	f.StringSliceVar(&g.approvers, "approver", nil, "the `id` of a user who may approve; without it, users approve in their own "+
		"chats (repeatable)")
	f.IntVar(&o.MaxTurns, "max-turns", 0, "stop a turn after `n` model calls")
	addModelFlags(f, o)
	addPermissionFlags(f, o)
}

func gatewayCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "gateway", Short: "Converse from chats: Telegram, Microsoft Teams", RunE: needCommand,
		Long: "Let people converse with sessions from chats, as the key gateway of the settings says. See docs/gateways.md.",
	}
	var f gateFlags
	run := &cobra.Command{
		Use: "run", Short: "Run the gateways of the settings", Args: noArgs,
		Long: "Run the gateways that the settings configure, until interrupted.",
		RunE: func(c *cobra.Command, _ []string) error { return p.runGates(c, o, f, p.gates) },
	}
	addGateFlags(run.Flags(), o, &f)
	check := &cobra.Command{
		Use: "check", Short: "Try the configuration against the services", Args: noArgs,
		Long: "Try the configuration of the gateways against their services, and say what is missing.",
		RunE: func(c *cobra.Command, _ []string) error { return p.checkGates(c.Context(), o) },
	}
	c.AddCommand(run, check, pairCommand(p), pairsCommand(p), unpairCommand(p))
	return c
}

// gates are the gateways that the settings configure.
func (p *program) gates(cfg *config.Config) (out []gate, err error) {
	set := cfg.Settings.Gateway
	if cmp.Or(set.Telegram.Token, os.Getenv("TELEGRAM_BOT_TOKEN")) != "" {
		g, err := p.telegramGate(cfg)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	if set.Teams.AppID != "" {
		g, err := p.teamsGate(cfg)
		if err != nil {
			return nil, err
		}
		out = append(out, g)
	}
	if len(out) == 0 {
		return nil, usage("set gateway.telegram.token or gateway.teams.appId; see docs/gateways.md",
			"the settings configure no gateway")
	}
	return out, nil
}

func (p *program) telegramGate(cfg *config.Config) (gate, error) {
	set := cfg.Settings.Gateway.Telegram
	token := cmp.Or(set.Token, os.Getenv("TELEGRAM_BOT_TOKEN"))
	if token == "" {
		return gate{}, usage("@BotFather makes a bot and shows its token", "TELEGRAM_BOT_TOKEN is not set")
	}
	client, err := httpClient(cfg.Settings.Network)
	if err != nil {
		return gate{}, err
	}
	o := telegram.Options{Token: token, HTTP: client, Log: gateLog(p.err)}
	o.APIBase = strings.TrimRight(cmp.Or(os.Getenv("TELEGRAM_API_BASE"), set.APIBase), "/")
	if set.Webhook.Listen != "" {
		o.Webhook = &telegram.Webhook{Listen: set.Webhook.Listen, URL: set.Webhook.URL, Secret: set.Webhook.Secret}
	}
	t := telegram.New(o)
	return gate{t, accessOf(set.Users, set.Approvers, set.Chats), t.Check}, nil
}

func accessOf(users, approvers []string, chats map[string]config.GatewayChat) gateway.Access {
	a := gateway.Access{Users: users, Approvers: approvers, Chats: map[string]gateway.Rules{}}
	for id, c := range chats {
		a.Chats[id] = gateway.Rules{
			Users: c.Users, Approvers: c.Approvers, CWD: c.CWD, Mode: c.Mode, BudgetUSD: c.BudgetUSD,
		}
	}
	return a
}

func gateLog(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

// gateDir is the folder of a gateway.
func gateDir(name string) string {
	return filepath.Join(config.ResolvePaths(os.Environ(), "").StateHome, "gateway", name)
}

// runGates runs gateways until ctx ends, or one of them fails.
func (p *program) runGates(c *cobra.Command, o *Options, f gateFlags, open func(*config.Config) ([]gate, error)) error {
	o.set = c.Flags().Changed
	cfg, dir, err := loadConfig(o)
	if err != nil {
		return err
	}
	all, err := open(cfg)
	if err != nil {
		return err
	}
	// Sessions have the environment of this process, and no use for what follows.
	err = errors.Join(os.Unsetenv("TELEGRAM_BOT_TOKEN"), os.Unsetenv("TEAMS_APP_PASSWORD"))
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(err)
	runner := sandbox.New()
	defer runner.Close()
	p.kids.add(func() error { runner.Close(); return nil })
	ended := make(chan error, len(all))
	for _, g := range all {
		h := gateway.New(g.Transport, p.hostOptions(c, o, f, cfg, dir, g, runner))
		go func() {
			err := h.Run(ctx)
			cancel(err)
			ended <- err
		}()
	}
	for range all {
		err = errors.Join(err, <-ended)
	}
	return err
}

func (p *program) hostOptions(c *cobra.Command, o *Options, f gateFlags, cfg *config.Config, dir string, g gate,
	runner *sandbox.Runner,
) gateway.Options {
	set := cfg.Settings.Gateway
	access := g.access
	access.Users = append(slices.Clone(access.Users), f.allow...)
	access.Approvers = append(slices.Clone(access.Approvers), f.approvers...)
	if o.Given("permission-mode") || o.Bypass {
		for id, r := range access.Chats {
			r.Mode = ""
			access.Chats[id] = r
		}
	}
	mode := cmp.Or(string(modeOf(o.Mode)), set.Mode)
	if o.Bypass {
		mode = "bypassPermissions"
	}
	h := gateway.Options{
		Dir: gateDir(g.Name()), Place: jobPlace(), Access: access, CWD: dir, More: set.Projects, Args: gateArgs(c.Flags()),
		Mode: mode, Sandbox: cmp.Or(o.Sandbox, set.Sandbox), Log: gateLog(p.err).With("gateway", g.Name()),
		BudgetUSD: set.BudgetUSD, MaxSessions: set.MaxSessions, MaxMemoryMB: set.MaxMemoryMB,
		Patience: time.Duration(set.QuestionMinutes) * time.Minute, IdleMinutes: set.IdleMinutes,
		Memory: func(pid int) int64 { return memory.Of(pid).Memory },
	}
	if len(set.Transcribe) > 0 {
		h.Transcribe = func(ctx context.Context, path string) (string, error) {
			return transcribe(ctx, runner, set.Transcribe, path)
		}
	}
	return h
}

// gateArgs are the flags that sessions get as they are.
func gateArgs(f *pflag.FlagSet) (out []string) {
	f.Visit(func(f *pflag.Flag) {
		if slices.Contains([]string{"allow", "approver", "cwd", "permission-mode", "sandbox"}, f.Name) {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				out = append(out, "--"+f.Name+"="+v)
			}
			return
		}
		out = append(out, "--"+f.Name+"="+f.Value.String())
	})
	return out
}

// transcribe runs the user's command for a voice message.
func transcribe(ctx context.Context, r *sandbox.Runner, command []string, path string) (string, error) {
	argv := slices.Clone(command)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "{file}", path)
	}
	var out, errs bytes.Buffer
	exit, err := r.Run(ctx, sandbox.Spec{
		Argv: argv, Dir: filepath.Dir(path), Env: os.Environ(), Stdout: &out, Stderr: &errs,
	})
	if err != nil {
		return "", err
	}
	if exit.Code != 0 {
		return "", fmt.Errorf("%s ended with %d: %s", argv[0], exit.Code, term.EscapeLine(strings.TrimSpace(errs.String())))
	}
	return out.String(), nil
}

// checkGates tries the gateways against their services.
func (p *program) checkGates(ctx context.Context, o *Options) error {
	cfg, _, err := loadConfig(o)
	if err != nil {
		return err
	}
	all, err := p.gates(cfg)
	if err != nil {
		return err
	}
	d := &doctor{p: p, o: o}
	for _, g := range all {
		if found, err := g.check(ctx); err != nil {
			d.add(g.Name(), statusFail, "see docs/gateways.md", "%s", err)
		} else {
			d.ok(g.Name(), "%s", found)
		}
		pairs, err := gateway.OpenPairs(gateDir(g.Name())).List()
		switch {
		case err != nil:
			d.add(g.Name()+" users", statusFail, "", "%s", err)
		case len(g.access.Users)+len(pairs) == 0:
			d.add(g.Name()+" users", statusWarn, "lathe gateway pair "+g.Name()+", or gateway."+g.Name()+".users in the settings",
				"nobody is allowed")
		default:
			d.ok(g.Name()+" users", "%d listed, %d paired", len(g.access.Users), len(pairs))
		}
	}
	d.sandbox()
	return d.report(false)
}

// oneGate takes the name of a gateway.
func oneGate(c *cobra.Command, args []string) error {
	if len(args) < 1 || !slices.Contains([]string{"telegram", "teams"}, args[0]) {
		return usage("telegram or teams", "%s needs the name of a gateway", c.CommandPath())
	}
	return nil
}

func pairCommand(p *program) *cobra.Command {
	var approver bool
	c := &cobra.Command{
		Use: "pair telegram|teams", Short: "Print a code that lets one person converse", Args: oneGate,
		Long: "Print a code that lets one person converse, once they send it to the bot. It is valid for 15 minutes.",
		RunE: func(_ *cobra.Command, args []string) error {
			code, until, err := gateway.OpenPairs(gateDir(args[0])).Invite(approver)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.out, "Send this to the bot, before %s:\n\n    /pair %s\n", until.Format("15:04"), code)
			return err
		},
	}
	c.Flags().BoolVar(&approver, "approver", false, "the person may approve in their own chat, too")
	return c
}

func pairsCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "pairs telegram|teams", Short: "List who is paired", Args: oneGate,
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := gateway.OpenPairs(gateDir(args[0])).List()
			if err != nil {
				return err
			}
			rows := [][]string{{"ID", "NAME", "APPROVES", "SINCE"}}
			for _, q := range list {
				rows = append(rows, []string{q.ID, q.Name, fmt.Sprint(q.Approves), q.At.Format(time.DateOnly)})
			}
			_, err = io.WriteString(p.out, columns(rows, p.width()))
			return err
		},
	}
}

func unpairCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "unpair telegram|teams ID", Short: "End the pairing of somebody", Args: oneGate,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("lathe gateway pairs "+args[0]+" lists them", "unpair needs an id")
			}
			if err := gateway.OpenPairs(gateDir(args[0])).Remove(args[1]); err != nil {
				return err
			}
			_, err := fmt.Fprintln(p.out, "unpaired")
			return err
		},
	}
}
