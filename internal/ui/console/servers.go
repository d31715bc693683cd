package console

import (
	"context"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

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
		return event.Output{}, command.Unknown(name, append(command.Skills(c.inst), c.prompted()...)...)
	}
	if _, err := p.Parse(args); err != nil {
		return event.Output{}, err
	}
	c.used.note(p.Name)
	m := llm.UserText("/" + strings.TrimSpace(name+" "+args))
	return event.Output{Prompt: &m}, nil
}
