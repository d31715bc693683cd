package cli

import (
	"context"
	"errors"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// slash reads a message as a slash command. It is one only by itself, as a text.
func (c *controller) slash(q queued) (name, args string, ok bool) {
	if q.err != nil || q.plain || len(q.Parts) != 1 || c.o.NoCommands || c.o.Bare {
		return "", "", false
	}
	t, ok := q.Parts[0].(llm.Text)
	if !ok {
		return "", "", false
	}
	return command.Parse(t.Text)
}

// command runs a slash command and prints its text; if the command yields a prompt, that is answered. One that does not
// exist is a message for the model, as hosts expect.
func (c *controller) command(ctx context.Context, name, args string, q queued) (outcome, error) {
	k, ok := c.conv.(Commanded)
	if !ok {
		return c.h.turn(ctx, q.Message)
	}
	out, err := k.Command(ctx, name, args)
	if _, unknown := errors.AsType[*command.UnknownError](err); unknown {
		return c.h.turn(ctx, q.Message)
	}
	if err != nil {
		return c.fails(err)
	}
	if out.Prompt != nil {
		return c.h.turn(ctx, *out.Prompt)
	}
	c.turnStarts(nil)
	c.h.stats.reset()
	text := slashText(out)
	done := outcome{end: event.TurnEnd{Reason: event.EndCompleted}, answer: text}
	err = joinErrors(c.h.printer.begin(c.conv.About()), c.catchUp())
	if text != "" {
		err = joinErrors(err, c.w.write(&localOutputLine{Type: "system", Subtype: "local_command_output", Content: text}))
	}
	return done, joinErrors(err, c.h.printer.finish(c.h.stats, &done))
}

// catchUp prints the events of a command before its result. They were published while no one read.
func (c *controller) catchUp() (err error) {
	q, ok := c.conv.(interface{ queued() (event.Event, bool) })
	for ok {
		var e event.Event
		if e, ok = q.queued(); ok {
			c.h.stats.observe(e)
			err = joinErrors(err, c.h.printer.event(e))
		}
	}
	return err
}
