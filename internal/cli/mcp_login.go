package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/tool"
)

// loginWait is how long a login waits for the user.
const loginWait = 10 * time.Minute

func mcpLoginCommand(p *program, o *Options) *cobra.Command {
	var noBrowser bool
	c := &cobra.Command{
		Use: "login NAME", Short: "Log in to a server over HTTP, with the browser", Args: exactly("NAME"),
		Long: `The address to log in at is printed, and opened in the browser. The browser may be on another machine: it then ends at an
address of localhost that cannot be shown; paste that address here.`,
		RunE: func(c *cobra.Command, args []string) error {
			return p.withInstance(c, o, func(ctx context.Context, inst *conversation.Instance) error {
				if _, err := serverNamed(inst.Servers(), args[0]); err != nil {
					return err
				}
				return p.mcpLogin(ctx, inst, args[0], noBrowser)
			})
		},
	}
	c.Flags().BoolVar(&noBrowser, "no-browser", false, "print the address only")
	return c
}

func (p *program) mcpLogin(ctx context.Context, inst *conversation.Instance, name string, noBrowser bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, loginWait, fmt.Errorf("the login did not finish within %s", loginWait))
	defer cancel()
	b := mcp.Browser{Pasted: p.pasted(), Open: func(ctx context.Context, address string) error {
		fmt.Fprintf(p.out, "Log in at:\n%s\n", term.EscapeLine(address))
		fmt.Fprintln(p.err, "Waiting. If the browser is on another machine, paste the address that it ends at.")
		if env := inst.ChildEnv(); !noBrowser && canBrowse(env) {
			go browse(ctx, inst, env, address)
		}
		return nil
	}}
	if err := inst.Servers().Login(ctx, name, b); err != nil {
		return &Error{Code: exitFailed, Err: fmt.Errorf("logging in to %s: %w", term.EscapeLine(name), err)}
	}
	_, err := fmt.Fprintf(p.out, "%s: %s\n", term.EscapeLine(name), term.EscapeLine(inst.Servers().LoginOf(name)))
	return err
}

// canBrowse reports whether a browser that is opened here is one that the user sees.
func canBrowse(env []string) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(env, func(kv string) bool {
			return strings.HasPrefix(kv, name+"=") && len(kv) > len(name)+
				1
		})
	}
	if has("SSH_CONNECTION") {
		return false
	}
	return runtime.GOOS == "darwin" || runtime.GOOS == "windows" || has("DISPLAY") || has("WAYLAND_DISPLAY")
}

// browse opens an address in the user's browser. That it failed needs no word: the address is on the screen.
func browse(ctx context.Context, inst *conversation.Instance, env []string, address string) {
	_, _ = inst.Runner().Run(ctx, sandbox.Spec{
		Argv: append(tool.Opener(runtime.GOOS), address), Dir: inst.Dir(),
		Env: env,
	})
}

// pasted returns the addresses among the lines of standard input.
func (p *program) pasted() <-chan string {
	out := make(chan string)
	go func() { // it ends with the input, at the latest with the program
		defer close(out)
		in := bufio.NewScanner(io.LimitReader(p.in, 1<<20))
		for in.Scan() {
			line := strings.TrimSpace(in.Text())
			if u, err := url.Parse(line); err == nil && u.Query().Has("state") {
				out <- line
			} else if line != "" {
				fmt.Fprintln(p.err, "That is not the address. It begins with http://localhost and has a state in it.")
			}
		}
	}()
	return out
}

func mcpLogoutCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "Revoke and delete the login of a server", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withServers(c, o, func(ctx context.Context, s *mcp.Set) error {
				if _, err := serverNamed(s, args[0]); err != nil {
					return err
				}
				if s.LoginOf(args[0]) == "" {
					_, err := fmt.Fprintf(p.out, "%s has no login\n", term.EscapeLine(args[0]))
					return err
				}
				if err := s.Logout(ctx, args[0]); err != nil {
					return &Error{Code: exitFailed, Err: err}
				}
				_, err := fmt.Fprintf(p.out, "logged out of %s\n", term.EscapeLine(args[0]))
				return err
			})
		},
	}
}
