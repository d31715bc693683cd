package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/extend/mcp/client"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serve"
)

func mcpServeCommand(p *program, o *Options) *cobra.Command {
	var address string
	var noAgent, noTools bool
	c := &cobra.Command{
		Use: "serve", Short: "Be an MCP server: offer lathe's tools, and lathe itself", Args: noArgs,
		Long: `Offers lathe's file, search, web and command tools, and the tools lathe (a conversation with the agent) and lathe-reply (its
next message), to an MCP client over standard input and output, or with --http over Streamable HTTP.

Calls obey the permission rules and the mode of this command. What would be asked is asked by the client, if it can ask its user
(elicitation), and refused if it cannot. Clients over HTTP are programs on this machine that send the token.`,
		RunE: func(c *cobra.Command, _ []string) error {
			o.set = c.Flags().Changed
			if noAgent && noTools {
				return usage("", "--no-agent and --no-tools together offer nothing")
			}
			return p.mcpServe(c.Context(), o, address, !noTools, !noAgent)
		},
	}
	f := c.Flags()
	f.StringVar(&address, "http", "", "serve Streamable HTTP at an `address` of this machine, such as 127.0.0.1:8765; "+
		"LATHE_MCP_TOKEN is the token, else one is made and printed")
	f.BoolVar(&noAgent, "no-agent", false, "offer the tools only")
	f.BoolVar(&noTools, "no-tools", false, "offer the agent only")
	f.StringVar(&o.Model, "model", "", "the `model` of conversations that name none")
	addPermissionFlags(f, o)
	return c
}

func (p *program) mcpServe(ctx context.Context, o *Options, address string, tools, agent bool) (err error) {
	version, _ := currentVersion()
	so := serve.Options{
		Info: client.Info{Name: "lathe", Title: "lathe", Version: version},
		Instructions: "The tool lathe gives a task to a coding agent that works in the folder by itself; lathe-reply goes " +
			"on with its conversation.",
		Note: func(line string) { p.log.Info("mcp serve", "odd", line) },
	}
	if tools {
		s, end, err := p.servedTools(ctx, o)
		if err != nil {
			return err
		}
		defer func() { err = joinErrors(err, end()) }()
		so.Tools = append(so.Tools, s...)
	}
	if agent {
		a := &servedAgent{p: p, o: *o, open: map[string]*servedSession{}}
		defer func() { err = joinErrors(err, a.close()) }()
		so.Tools = append(so.Tools, a.tools()...)
	}
	if address == "" {
		return serve.Stdio(ctx, so, p.in, p.out, p.closeInput)
	}
	return p.mcpServeHTTP(ctx, so, address)
}

// closeInput ends a read that waits for more.
func (p *program) closeInput() error {
	if c, ok := p.in.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

func (p *program) mcpServeHTTP(ctx context.Context, so serve.Options, address string) error {
	secret := os.Getenv("LATHE_MCP_TOKEN")
	given := secret != ""
	if !given {
		secret = rand.Text()
	}
	err := serve.NewHTTP(so, secret).Listen(ctx, address, func(url string) {
		fmt.Fprintf(p.err, "%s: serving %s\n", messagesName, url)
		if !given {
			fmt.Fprintf(p.err, "%s: clients send the header Authorization: Bearer %s\n", messagesName, secret)
		}
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return &Error{Code: exitFailed, Err: err}
	}
	return nil
}
