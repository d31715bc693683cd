package cli

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/face/acp"
	"github.com/lathe-dev/lathe/internal/store/session"
)

func acpCommand(p *program, o *Options) *cobra.Command {
	var login, draft bool
	c := &cobra.Command{
		Use: "acp", Short: "Speak with an editor over the Agent Client Protocol", Args: noArgs,
		Long: "Speak the Agent Client Protocol on stdin and stdout: an editor starts this command, and shows its sessions. " +
			"Each is a session in the background, which lathe attach opens in a terminal too. The flags count for new " +
			"sessions. docs/editors.md has the lines for each editor.",
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			if login {
				_, err := p.askProvider(c.Context(), o, "Who should answer?")
				return err
			}
			return p.acp(c.Context(), o, draft, passedOn(c.Flags()))
		},
	}
	f := c.Flags()
	addModelFlags(f, o)
	addPermissionFlags(f, o)
	f.BoolVar(&draft, "draft", false, "also speak version 2 of the protocol, which is a draft and may change")
	f.BoolVar(&login, "login", false, "choose a provider and keep its key, in this terminal")
	return c
}

// passedOn are the flags that were given, as arguments of a session. Its folder is the client's to say.
func passedOn(f *pflag.FlagSet) (out []string) {
	f.Visit(func(given *pflag.Flag) {
		if slices.Contains([]string{"cwd", "login", "draft"}, given.Name) {
			return
		}
		if list, ok := given.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				out = append(out, "--"+given.Name+"="+v)
			}
			return
		}
		out = append(out, "--"+given.Name+"="+given.Value.String())
	})
	return out
}

func (p *program) acp(ctx context.Context, o *Options, draft bool, args []string) error {
	paths := config.ResolvePaths(os.Environ(), "")
	if paths.DataHome == "" {
		return usage("set HOME or XDG_DATA_HOME", "there is no home folder, so no place for sessions")
	}
	version, _ := currentVersion()
	return acp.Serve(ctx, jsonrpc.NewLines(p.in, p.out, p.closeInput), acp.Options{
		Door: door(), Store: session.NewStore(paths.DataHome), Lathe: version, Args: args, Draft: draft,
		LoggedIn: func(context.Context) error { return p.withKeys(o, hasKey) },
		Logout:   func(context.Context) error { return p.withKeys(o, forgetKeys) },
	})
}

func (p *program) withKeys(o *Options, f func(*conversation.Instance) error) error {
	there := *o
	inst, err := p.instance(&there)
	if err != nil {
		return err
	}
	return errors.Join(f(inst), inst.Close())
}

func hasKey(inst *conversation.Instance) error {
	if len(inst.KeyStates()) == 0 {
		return conversation.ErrNoKey
	}
	return nil
}

// forgetKeys removes the keys that lathe keeps; those of the environment and of the settings stay.
func forgetKeys(inst *conversation.Instance) error {
	var errs []error
	for _, k := range inst.KeyStates() {
		if k.Source == "keyring" || strings.HasPrefix(k.Source, "credentials") {
			errs = append(errs, inst.Logout(k.Provider))
		}
	}
	return errors.Join(errs...)
}
