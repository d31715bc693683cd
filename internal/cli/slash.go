package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/mcp"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/command"
	"github.com/lathe-dev/lathe/internal/ui/console"
)

// runSlash runs a slash command in place of a prompt: lathe -c -p "/cost". If it yields a prompt (as
// /retry does), that is answered.
func (p *program) runSlash(ctx context.Context, o *Options, name, args string) error {
	if _, ok := command.Find(name); !ok && !mcp.IsPrompt(name) {
		return usage("a prompt may begin with a path, or with any other word", "%v", command.Unknown(name))
	}
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	c, err := p.console(ctx, o, inst, false)
	if err != nil {
		return errors.Join(startError(err), inst.Close())
	}
	about := p.slashAbout(c, inst)
	stats := newResultStats(about.Info)
	compactions := compactionsOf(ctx, c, stats)
	out, err := c.Command(ctx, port.Command{Name: name, Args: args})
	kept, set := c.Farewell(), c.Status().Goal // they may have been changed
	if kept != "" {
		about.Session = kept
	}
	if err = errors.Join(err, c.Close(), inst.Close()); err != nil {
		return &Error{Code: exitFailed, Err: err}
	}
	if out.Prompt != nil {
		next := *o
		// A new session that nothing was written to is begun by the prompt. One that was opened goes on, even if the command
		// took it back to its beginning.
		if opened := o.Continue || o.Resume != ""; kept != "" || opened {
			next.Resume, next.Continue, next.Fork, next.SessionID = about.Session, false, false, ""
		} else {
			next.setGoal = set
		}
		return p.answer(ctx, &next, *out.Prompt)
	}
	return p.printSlash(o, about, stats, slashText(out), compactions())
}

// compactionsOf returns a function that, once the console is closed, returns the compactions since: a command has no
// output of its own for them, since front ends draw the event. Stats take in the requests that the command made.
func compactionsOf(ctx context.Context, c *console.Console, stats *resultStats) func() []event.Compacted {
	r, err := c.Attach(context.WithoutCancel(ctx), port.From{History: 1})
	if err != nil {
		return func() []event.Compacted { return nil }
	}
	done := make(chan []event.Compacted, 1)
	go func() {
		var all []event.Compacted
		for {
			e, err := r.Next(context.WithoutCancel(ctx))
			if err != nil {
				done <- all
				return
			}
			stats.observe(e)
			if b, ok := e.Body.(event.Compacted); ok && len(e.Agent) == 0 {
				all = append(all, b)
			}
		}
	}()
	return func() []event.Compacted { return <-done }
}

func (p *program) slashAbout(c *console.Console, inst *conversation.Instance) About {
	s := c.Status()
	return About{
		Session: s.Session, Dir: s.Dir, Model: s.Model, Mode: s.Mode, KeySource: inst.KeySource(),
		Info: func(id string) llm.ModelInfo { return llm.Lookup("", id) },
	}
}

// printSlash prints the result of a command in the output format.
func (p *program) printSlash(o *Options, about About, t *resultStats, text string,
	compactions []event.Compacted,
) error {
	for _, b := range compactions {
		text += b.String() + "\n"
	}
	if o.OutputFormat == "text" {
		if p.outTTY {
			text = escape(text)
		}
		if text = strings.TrimRight(text, "\n"); text == "" {
			return nil
		}
		_, err := io.WriteString(p.out, text+"\n")
		return err
	}
	pr := newStreamPrinter(p.jsonLines(), o, p.warnings)
	done := outcome{end: event.TurnEnd{Reason: event.EndCompleted}, answer: text}
	err := pr.begin(about)
	for _, b := range compactions {
		err = errors.Join(err, pr.event(event.Event{Body: b}))
	}
	return errors.Join(err, pr.finish(t, &done), pr.close())
}

// slashText is the outcome of a command where the user cannot choose or edit.
func slashText(out event.Output) string {
	var b strings.Builder
	add := func(s string) {
		if s = strings.TrimRight(s, "\n"); s != "" {
			b.WriteString(s + "\n")
		}
	}
	if d, ok := out.View.(event.Diff); ok {
		add(d.Unified)
	}
	add(out.Text)
	add(out.Copy)
	add(out.Insert)
	if out.Page != nil {
		add(out.Page.Title)
		add("")
		add(out.Page.Text)
	}
	if out.Pick != nil {
		add(out.Pick.Title)
		for _, i := range out.Pick.Items {
			line := strings.Repeat("  ", i.Depth) + i.ID
			if i.Label != i.ID {
				line += "  " + i.Label
			}
			if i.Detail != "" {
				line += "  (" + i.Detail + ")"
			}
			add(line)
		}
		if len(out.Pick.Items) == 0 {
			add(out.Pick.Empty)
		} else {
			add(fmt.Sprintf("choose with: lathe -p \"/%s ...\"", out.Pick.Command))
		}
	}
	if out.Edit != nil {
		add("edit " + out.Edit.Path)
	}
	if out.Open != "" {
		add("the view " + out.Open + " needs the terminal: start lathe without -p")
	}
	return b.String()
}
