package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/provider"
)

func authCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{
		Use: "auth", Short: "Keep, show and remove the keys of providers", RunE: needCommand,
		Long: "Keys are kept in the keyring of the operating system, or, where there is none, in a file that only you can " +
			"read. A key in the environment or in the settings goes before one that is kept. No key is ever printed.",
	}
	c.AddCommand(authLogin(p, o), authLogout(p, o), authStatus(p, o))
	return c
}

func authLogin(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "login PROVIDER", Short: "Keep the key of a provider, or log in to GitHub Copilot", Args: oneProvider,
		Long: "Ask for the API key of a provider, which is not shown, and keep it; with another program's output as its " +
			"input, the first line is the key. " +
			"github-copilot logs in by a code that you type at GitHub. The accounts of ChatGPT and of Claude Pro or Max are " +
			"for their makers' own programs, so lathe takes API keys of OpenAI and Anthropic only.",
		RunE: func(c *cobra.Command, args []string) error {
			return p.withInstance(c, o, func(ctx context.Context,
				inst *conversation.Instance,
			) error {
				return p.login(ctx, o, inst, args[0])
			})
		},
	}
}

func authLogout(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "logout PROVIDER", Short: "Remove the key that is kept of a provider", Args: oneProvider,
		RunE: func(c *cobra.Command, args []string) error {
			return p.withInstance(c, o, func(_ context.Context, inst *conversation.Instance) error {
				if err := inst.Logout(args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(p.out, "No key of %s is kept any more.\n", args[0])
				return err
			})
		},
	}
}

func authStatus(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "status", Short: "List the providers that have a key, and where it is", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withInstance(c, o, func(_ context.Context, inst *conversation.Instance) error {
				return p.authStatus(inst.KeyStates(), asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return c
}

func (p *program) authStatus(states []provider.KeyState, asJSON bool) error {
	if asJSON {
		if states == nil {
			states = []provider.KeyState{}
		}
		return writeJSON(p.out, states)
	}
	if len(states) == 0 {
		_, err := fmt.Fprintln(p.out, "No provider has a key. lathe auth login PROVIDER keeps one.")
		return err
	}
	rows := make([][]string, 0, len(states))
	for _, s := range states {
		rows = append(rows, []string{s.Provider, s.Source})
	}
	_, err := io.WriteString(p.out, columns(rows, p.width()))
	return err
}

// foreignAccount returns the way to go on for a login that its maker keeps to its own programs; "": it is another
// name.
func foreignAccount(name string) string {
	switch strings.ToLower(name) {
	case "claude", "claude-pro", "claude-max", "claude.ai":
		return "the account of Claude Pro or Max is for Anthropic's own programs; make an API key at " +
			"https://console.anthropic.com/settings/keys and run: lathe auth login anthropic"
	case "chatgpt", "codex", "chatgpt-plus", "chatgpt-pro":
		return "the account of ChatGPT is for OpenAI's own programs; make an API key at " +
			"https://platform.openai.com/api-keys and run: lathe auth login openai"
	}
	return ""
}

// oneProvider wants the name of one provider.
func oneProvider(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("the providers are "+strings.Join(hosts.Names(), ", "), "%s needs the name of one provider",
			c.CommandPath())
	}
	if text := foreignAccount(args[0]); text != "" {
		return usage(text, "lathe cannot log in to %s", args[0])
	}
	return nil
}

// login keeps the key of a provider.
func (p *program) login(ctx context.Context, o *Options, inst *conversation.Instance, name string) error {
	if err := inst.KnownProvider(name); err != nil {
		return err
	}
	var inSystem bool
	var err error
	if h, _ := hosts.Named(name); h.Device {
		inSystem, err = inst.CopilotLogin(ctx, func(address, code string) {
			fmt.Fprintf(p.out, "Open %s and type the code %s. Waiting for it...\n", address, code)
		})
	} else {
		var key string
		if key, err = p.askKey(ctx, o, h); err == nil {
			inSystem, err = inst.Login(name, key)
		}
	}
	if err != nil {
		return err
	}
	place := "a file that only you can read"
	if inSystem {
		place = "the keyring of the operating system"
	}
	_, err = fmt.Fprintf(p.out, "Kept in %s. Use it with: lathe --provider %s\n", place, name)
	return err
}

// askKey asks for a key, which is not shown; without a terminal it is the first line of the input.
func (p *program) askKey(ctx context.Context, o *Options, h hosts.Host) (string, error) {
	s := &setup{program: p, ctx: ctx, options: o, lines: bufio.NewReader(p.in)}
	var key string
	var err error
	if p.inTTY {
		if h.Login != nil {
			s.say("Keys are made at %s\n", h.Login.Page)
		}
		key, err = s.secret("Paste the key (it is not shown):")
	} else {
		key, err = s.lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	key = strings.TrimSpace(key)
	switch {
	case err != nil:
		return "", usage("run it again", "no key was given")
	case key == "" || strings.ContainsAny(key, " \t\r\n"):
		return "", usage("give the key alone: one word", "that is no key")
	}
	return key, nil
}
