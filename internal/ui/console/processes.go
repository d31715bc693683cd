package console

import (
	"context"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// processCommand runs a slash command of a plugin process; ok is false where none has one of this name.
func (c *Console) processCommand(ctx context.Context, name, args string) (out event.Output, ok bool, err error) {
	res, ok, err := c.inst.Extensions().Processes.Run(ctx, c.session().ID(), name, args)
	if !ok || err != nil {
		return out, ok, err
	}
	c.used.note(name)
	out.Text = res.Text
	if res.Prompt != "" {
		m := llm.UserText(res.Prompt)
		out.Prompt = &m
	}
	return out, true, nil
}

// processCommands are the slash commands of the processes that are up.
func (c *Console) processCommands() (out []command.Skill) {
	for _, cmd := range c.inst.Extensions().Processes.Commands() {
		process, _, _ := strings.Cut(cmd.Name, ":")
		out = append(out, command.Skill{Name: cmd.Name, Args: cmd.Arguments, Help: cmd.Description, Source: "the process " +
			process, Typed: true})
	}
	return out
}

// withSegments adds the segments of plugin processes to the first line of the status line.
func (c *Console) withSegments(line string) string {
	segments := c.inst.Extensions().Processes.Status()
	if len(segments) == 0 {
		return line
	}
	first, rest, more := strings.Cut(line, "\n")
	if first != "" {
		segments = append([]string{first}, segments...)
	}
	out := strings.Join(segments, " · ")
	if more {
		out += "\n" + rest
	}
	return out
}
