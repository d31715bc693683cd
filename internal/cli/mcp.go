package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/extend/mcp/entry"
	"github.com/lathe-dev/lathe/internal/extend/mcp/serverset"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func mcpCommand(p *program, o *Options) *cobra.Command {
	c := &cobra.Command{Use: "mcp", Short: "MCP servers: declare, approve and test them", RunE: needCommand}
	c.AddCommand(mcpListCommand(p, o), mcpGetCommand(p, o), mcpTestCommand(p, o), mcpApproveCommand(p, o),
		mcpAddCommand(p, o), mcpAddJSONCommand(p, o), mcpRemoveCommand(p, o), mcpImportCommand(p, o),
		mcpLoginCommand(p, o), mcpLogoutCommand(p, o), mcpServeCommand(p, o))
	return c
}

// withServers runs f with the set of servers of the folder.
func (p *program) withServers(c *cobra.Command, o *Options, f func(ctx context.Context, s *mcp.Set) error) error {
	return p.withInstance(c, o, func(ctx context.Context,
		inst *conversation.Instance,
	) error {
		return f(ctx, inst.Servers())
	})
}

func (p *program) withInstance(c *cobra.Command, o *Options,
	f func(ctx context.Context, inst *conversation.Instance) error,
) error {
	o.set = c.Flags().Changed
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	defer inst.Close()
	if err := inst.Servers().Load(); err != nil {
		return &Error{Code: exitUsage, Err: err}
	}
	return f(c.Context(), inst)
}

func mcpListCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the MCP servers of this folder; none is started", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withServers(c, o, func(_ context.Context, s *mcp.Set) error {
				var rows [][]string
				ofAgents, faults := s.OfAgents()
				for _, v := range append(s.Status(), ofAgents...) {
					tools := ""
					if len(v.Tools) > 0 {
						tools = fmt.Sprintf("%d tools", len(v.Tools))
					}
					if s.LoginOf(v.Name) != "" {
						tools = strings.TrimPrefix(tools+", logged in", ", ")
					}
					rows = append(rows, []string{v.Name, v.Scope, string(v.State), tools, v.What})
				}
				for _, f := range append(s.Faults(), faults...) {
					fmt.Fprintf(p.err, "%s: warning: %s\n", messagesName, escape(f))
				}
				if len(rows) == 0 {
					_, err := fmt.Fprintln(p.out, "no MCP servers; add one with: lathe mcp add NAME -- COMMAND")
					return err
				}
				_, err := io.WriteString(p.out, columns(rows, p.width()))
				return err
			})
		},
	}
}

func mcpGetCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "get NAME", Short: "Show a server's entry, tools, and what waits for your approval", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withServers(c, o, func(_ context.Context, s *mcp.Set) error {
				v, err := serverNamed(s, args[0])
				if err != nil {
					return err
				}
				return p.printServer(s, v)
			})
		},
	}
}

func serverNamed(s *mcp.Set, name string) (mcp.Status, error) {
	ofAgents, _ := s.OfAgents()
	for _, v := range append(s.Status(), ofAgents...) {
		if v.Name == name {
			return v, nil
		}
	}
	return mcp.Status{}, usage("lathe mcp list shows the servers", "there is no MCP server %q", name)
}

func (p *program) printServer(s *mcp.Set, v mcp.Status) error {
	rows := [][]string{{"name", v.Name}, {"scope", v.Scope}, {"file", cmp.Or(v.File, "-")}, {"state", string(v.State)}}
	rows = append(rows, effectRows(v)...)
	if v.Err != "" {
		rows = append(rows, []string{"error", v.Err})
	}
	if login := s.LoginOf(v.Name); login != "" {
		rows = append(rows, []string{"login", login})
	}
	if v.Server.Name != "" {
		rows = append(rows, []string{"server", v.Server.Name + " " + v.Server.Version})
	}
	if v.Protocol != "" {
		rows = append(rows, []string{"protocol", v.Protocol})
	}
	if len(v.Tools) > 0 {
		rows = append(rows, []string{"tools", fmt.Sprintf("%s (about %d tokens)", strings.Join(v.Tools, ", "), v.Tokens)})
	}
	for _, w := range v.Withheld {
		rows = append(rows, []string{"left out", w})
	}
	text := columns(rows, 0)
	if d := s.Changes(v.Name); d != "" {
		text += "\nchanged since you accepted it (lathe mcp approve " + term.EscapeLine(v.Name) + "):\n" + term.Escape(d)
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// effectRows list what a server's entry does.
func effectRows(v mcp.Status) (rows [][]string) {
	for _, f := range v.Effects {
		rows = append(rows, []string{f.Word, f.Text})
	}
	return rows
}

func mcpTestCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", Short: "Start a server, list its tools and show what it printed", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withServers(c, o, func(ctx context.Context, s *mcp.Set) error {
				if _, err := serverNamed(s, args[0]); err != nil {
					return err
				}
				failed := s.Reconnect(ctx, args[0])
				v, err := serverNamed(s, args[0])
				if err != nil {
					return err
				}
				if err := p.printServer(s, v); err != nil {
					return err
				}
				if text := s.Log(args[0]); text != "" {
					fmt.Fprintf(p.out, "\nlog:\n%s", term.Escape(text))
				}
				if failed != nil {
					return &Error{Code: exitFailed, Err: failed}
				}
				return nil
			})
		},
	}
}

func mcpApproveCommand(p *program, o *Options) *cobra.Command {
	var revoke bool
	c := &cobra.Command{
		Use: "approve NAME", Short: "Let a server of the project start, or accept what a server changed of its tools",
		Args: exactly("NAME"),
		Long: `A server that a project declares starts only once you approved its entry, and asks again when the entry changes. One that an agent's file declares is
named AGENT/SERVER.
A tool whose description a server changed is left out until you accept the change.`,
		RunE: func(c *cobra.Command, args []string) error {
			return p.withServers(c, o, func(ctx context.Context, s *mcp.Set) error {
				if revoke {
					if err := s.Forget(args[0]); err != nil {
						return err
					}
					_, err := fmt.Fprintf(p.out, "%s is not approved\n", term.EscapeLine(args[0]))
					return err
				}
				v, err := serverNamed(s, args[0])
				if err != nil {
					return err
				}
				if v.State == mcp.Unapproved {
					err = s.Approve(args[0])
				} else if err = s.Reconnect(ctx, args[0]); err == nil {
					err = s.Accept(args[0])
				}
				if err != nil {
					return &Error{Code: exitFailed, Err: err}
				}
				_, err = fmt.Fprintf(p.out, "approved %s:\n%s", term.EscapeLine(v.Name), columns(effectRows(v), 0))
				return err
			})
		},
	}
	c.Flags().BoolVar(&revoke, "revoke", false, "approve it no longer")
	return c
}

// newEntry has the flags of mcp add.
type newEntry struct {
	scope, transport, helper string
	env, headers             []string
	auth                     entry.OAuth
}

func mcpAddCommand(p *program, o *Options) *cobra.Command {
	var n newEntry
	c := &cobra.Command{
		Use: "add NAME URL | NAME -- COMMAND [ARG...]", Short: "Declare a server",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage("lathe mcp add NAME -- COMMAND, or lathe mcp add --transport http NAME URL",
					"%s needs a name, and a command or an address", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			f, err := n.fields(args[1:])
			if err != nil {
				return err
			}
			raw, err := json.Marshal(f)
			if err != nil {
				return err
			}
			o.set = c.Flags().Changed
			return p.putServer(o, n.scope, args[0], raw)
		},
	}
	f := c.Flags()
	f.StringVarP(&n.scope, "scope", "s", "local",
		"`where`: local (you, this project), user (you, everywhere), project (.mcp.json)")
	f.StringVarP(&n.transport, "transport", "t", "", "`kind`: stdio, http or sse")
	f.StringArrayVarP(&n.env, "env", "e", nil, "a variable of the server, `NAME=VALUE`")
	f.StringArrayVarP(&n.headers, "header", "H", nil, "a header of its requests, `\"Name: value\"`")
	f.StringVar(&n.auth.ClientID, "client-id", "",
		"the `id` of a client that is registered for logging in; its secret is MCP_CLIENT_SECRET at the login")
	f.IntVar(&n.auth.CallbackPort, "callback-port", 0, "the `port` of localhost that the browser comes back to")
	f.StringVar(&n.auth.Scopes, "scopes", "", "the `scopes` to ask for, separated by spaces")
	f.StringVar(&n.helper, "headers-helper", "", "a `command` that prints headers as a JSON object")
	return c
}

func (n *newEntry) fields(args []string) (entry.Fields, error) {
	f := entry.Fields{Env: map[string]string{}, Headers: map[string]string{}, HeadersHelper: n.helper}
	for _, kv := range n.env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || name == "" {
			return f, usage("write --env NAME=VALUE", "--env: %q is no variable", kv)
		}
		f.Env[name] = value
	}
	for _, h := range n.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || name == "" {
			return f, usage(`write --header "Name: value"`, "--header: %q is no header", h)
		}
		f.Headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	kind := n.transport
	if kind == "" && (strings.HasPrefix(args[0], "https://") || strings.HasPrefix(args[0], "http://")) {
		kind = entry.HTTP
	}
	switch kind {
	case "", entry.Stdio:
		f.Command, f.Args = args[0], args[1:]
	case entry.HTTP, entry.SSE:
		f.Type, f.URL = kind, args[0]
		if n.auth != (entry.OAuth{}) {
			f.OAuth = &n.auth
		}
	default:
		return f, usage("use stdio, http or sse", "--transport: %q is not known", kind)
	}
	return f, nil
}

func mcpAddJSONCommand(p *program, o *Options) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "add-json NAME JSON", Short: "Declare a server by its entry", Args: exactly("NAME", "JSON"),
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			return p.putServer(o, scope, args[0], json.RawMessage(args[1]))
		},
	}
	c.Flags().StringVarP(&scope, "scope", "s", "local", "`where`: local, user or project")
	return c
}

// place is the file and the keys of a server's entry in a scope.
func serverPlace(cfg *config.Config, dir, scope, name string) (file string, keys []string, err error) {
	root := cmp.Or(cfg.Paths().Root, dir)
	switch entry.Scope(scope) {
	case entry.Local:
		return serverset.ClaudeJSON(cfg.Paths()), []string{"projects", root, "mcpServers", name}, nil
	case entry.User:
		return serverset.ClaudeJSON(cfg.Paths()), []string{"mcpServers", name}, nil
	case entry.Project:
		return filepath.Join(root, ".mcp.json"), []string{"mcpServers", name}, nil
	}
	return "", nil, usage("use local, user or project", "--scope: %q is not known", scope)
}

func (p *program) putServer(o *Options, scope, name string, raw json.RawMessage) error {
	cfg, dir, err := loadConfig(o)
	if err != nil {
		return err
	}
	places := serverset.PlacesOf(cfg, dir)
	e, err := places.Parse(name, raw, entry.Scope(scope))
	if err != nil {
		return usage("", "the server %s cannot be declared: %v", term.EscapeLine(name), err)
	}
	file, keys, err := serverPlace(cfg, dir, scope, name)
	if err != nil {
		return err
	}
	if err := entry.Put(file, keys, raw); err != nil {
		return &Error{Code: exitFailed, Err: err}
	}
	if e.Scope == entry.Project { // the user wrote it just now
		if err := entry.OpenApprovals(cfg.Paths().StateHome, cmp.Or(cfg.Paths().Root, dir)).Set(&e, true); err != nil {
			return &Error{Code: exitFailed, Err: err}
		}
	}
	_, err = fmt.Fprintf(p.out, "added %s to %s\n", term.EscapeLine(name), term.EscapeLine(file))
	return err
}

func mcpRemoveCommand(p *program, o *Options) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "remove NAME", Short: "Remove a server's entry", Args: exactly("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			cfg, dir, err := loadConfig(o)
			if err != nil {
				return err
			}
			scopes := []string{scope}
			if scope == "" {
				scopes = []string{"local", "project", "user"}
			}
			for _, s := range scopes {
				file, keys, err := serverPlace(cfg, dir, s, args[0])
				if err != nil {
					return err
				}
				switch err := entry.Remove(file, keys); {
				case err == nil:
					_, err = fmt.Fprintf(p.out, "removed %s from %s\n", term.EscapeLine(args[0]), term.EscapeLine(file))
					return err
				case !errors.Is(err, entry.ErrNoEntry):
					return &Error{Code: exitFailed, Err: err}
				}
			}
			return usage("lathe mcp list shows the servers", "no file that lathe writes declares an MCP server %q", args[0])
		},
	}
	c.Flags().StringVarP(&scope, "scope", "s", "", "`where`: local, user or project; the first that has it")
	return c
}

func mcpImportCommand(p *program, o *Options) *cobra.Command {
	var scope string
	c := &cobra.Command{
		Use: "import [FILE]", Short: "Take over the servers of Claude Desktop, Codex, VS Code, Cursor and opencode, or of " +
			"a file",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("", "import takes one file")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			cfg, dir, err := loadConfig(o)
			if err != nil {
				return err
			}
			sources := entry.Existing(entry.Sources(cfg.Paths().Home, filepath.Dir(cfg.Paths().ConfigHome),
				cmp.Or(cfg.Paths().Root, dir)))
			if len(args) == 1 {
				sources = []entry.Source{{Program: "file", File: args[0]}}
			}
			if len(sources) == 0 {
				return usage("give a file: lathe mcp import FILE", "no file of another program was found")
			}
			for _, s := range sources {
				if err := p.importFrom(o, s, scope); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&scope, "scope", "s", "user", "`where` the entries go: local, user or project")
	return c
}

// importFrom adds the servers of a file; one that cannot be used is named and left out.
func (p *program) importFrom(o *Options, s entry.Source, scope string) error {
	found, err := s.Import()
	if err != nil {
		return &Error{Code: exitFailed, Err: err}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if err := p.putServer(o, scope, name, found[name]); err != nil {
			fmt.Fprintf(p.err, "%s: warning: %s: %s\n", messagesName, escape(s.File), escape(err.Error()))
		}
	}
	return nil
}
