package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// servers are the MCP servers for the command /mcp.
type servers struct {
	*mcp.Set
	c *Console
}

func (e extensions) Servers() command.Servers { return servers{e.c.inst.Servers(), e.c} }

func (s servers) List() (out []command.Server) {
	prompts := map[string][]string{}
	for _, p := range s.Prompts() {
		prompts[p.Server] = append(prompts[p.Server], "/"+p.Name)
	}
	for _, v := range s.Status() {
		one := command.Server{
			Name: v.Name, Scope: v.Scope, File: v.File, State: string(v.State), Err: v.Err, Tools: v.Tools,
			Prompts:  prompts[v.Name],
			Withheld: v.Withheld, Tokens: v.Tokens, Changes: s.Changes(v.Name), Login: s.LoginOf(v.Name),
		}
		for _, f := range v.Effects {
			one.Effects = append(one.Effects, [2]string{f.Word, f.Text})
		}
		if v.Server.Name != "" {
			one.Version = v.Server.Name + " " + v.Server.Version
		}
		out = append(out, one)
	}
	return out
}

// logTail is how much of a log is shown, in bytes.
const logTail = 4 << 10

func (s servers) Log(name string) string {
	log := s.Set.Log(name)
	if len(log) <= logTail {
		return log
	}
	log = log[len(log)-logTail:]
	_, rest, _ := strings.Cut(log, "\n")
	return rest
}

func (s servers) Approve(_ context.Context, name string) error {
	for _, v := range s.Status() {
		if v.Name == name && v.State == mcp.Unapproved {
			return s.Admit(name)
		}
	}
	if s.Changes(name) == "" {
		return fmt.Errorf("nothing of %s waits for approval", name)
	}
	return s.Accept(name)
}

// loginWait is how long a login waits for the user.
const loginWait = 10 * time.Minute

// Authorise begins a login beside the caller and returns as soon as its address is known. With pasted, the address at
// which a browser on another machine ended, it goes on with the login that waits for it.
func (s servers) Authorise(ctx context.Context, name, pasted string) (string, error) {
	if pasted != "" {
		return s.c.pasteLogin(name, pasted)
	}
	address, failed := make(chan string, 1), make(chan error, 1)
	paste := make(chan string, 1)
	s.c.mu.Lock()
	if s.c.logins == nil {
		s.c.logins = map[string]chan string{}
	}
	s.c.logins[name] = paste
	s.c.mu.Unlock()
	s.c.works.Go(func() {
		ctx, cancel := context.WithTimeoutCause(s.c.ctx, loginWait, fmt.Errorf("nobody logged in within %s", loginWait))
		defer cancel()
		err := s.Login(ctx, name, mcp.Browser{Pasted: paste, Open: func(ctx context.Context, a string) error {
			address <- a
			if s.c.opts.Browse != nil {
				s.c.opts.Browse(ctx, a)
			}
			return nil
		}})
		failed <- err
		if err == nil {
			s.c.notice("info", "%s: %s", name, s.LoginOf(name))
			s.c.session().Hooks().Notify(s.c.ctx, "auth_success", "you are logged in to the MCP server "+name)
		} else if s.c.ctx.Err() == nil && ctx.Err() != nil {
			s.c.notice("warning", "the login to %s: %v", name, err)
		}
	})
	select {
	case a := <-address:
		return fmt.Sprintf("Log in at:\n\n%s\n\nIf the browser is on another machine, give the address that it ends at: "+
			"`/mcp authorise %s ADDRESS`", a, name), nil
	case err := <-failed:
		return "", err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// pasteLogin gives the waiting login of a server the address that the user copied.
func (c *Console) pasteLogin(name, address string) (string, error) {
	c.mu.Lock()
	paste := c.logins[name]
	c.mu.Unlock()
	if paste == nil {
		return "", fmt.Errorf("no login to %s waits; begin one with /mcp authorise %s", name, name)
	}
	select {
	case paste <- address:
		return "The login goes on.", nil
	default:
		return "", fmt.Errorf("the login to %s has an address already", name)
	}
}

// prompted are the commands of plugin processes and the prompts of MCP servers.
func (c *Console) prompted() (out []command.Skill) {
	out = c.processCommands()
	for _, p := range c.inst.Servers().Prompts() {
		out = append(out, command.Skill{
			Name: p.Name, Args: p.Args, Help: p.Help, Source: "the MCP server " + p.Server,
			Typed: true,
		})
	}
	return out
}

// serverPrompt turns a prompt of an MCP server into a prompt. The session adds the text of the server's.
func (c *Console) serverPrompt(ctx context.Context, name, args string) (event.Output, error) {
	p, ok, err := c.inst.Servers().PromptNamed(ctx, name)
	switch {
	case err != nil:
		return event.Output{}, err
	case !ok:
		return event.Output{}, command.Unknown(name, append(extensions{c}.Skills(), c.prompted()...)...)
	}
	if _, err := p.Parse(args); err != nil {
		return event.Output{}, err
	}
	c.used.note(p.Name)
	m := llm.UserText("/" + strings.TrimSpace(name+" "+args))
	return event.Output{Prompt: &m}, nil
}
