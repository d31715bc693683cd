package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// live is a conversation in a session process, as a run with -c or --resume uses it.
type live struct {
	job     supervisor.Job
	client  *port.Client
	events  port.Events
	session string // the id of the one in front
	about   About
}

// liveFlags are those that a live session leaves as they are: it has its own settings.
var liveFlags = []string{
	"print", "continue", "resume", "output-format", "verbose", "raw", "include-partial-messages", "cwd", "plain", "inline",
	"debug", "debug-file",
}

// liveJob is the job that has a session open, if the error says that one has.
func liveJob(err error) (supervisor.Job, bool) {
	locked, ok := errors.AsType[*session.LockedError](err)
	if !ok {
		return supervisor.Job{}, false
	}
	return jobOf(locked.ID)
}

// checkLive refuses flags that a session process would not follow.
func checkLive(o *Options, j supervisor.Job) error {
	for _, name := range flagNamesOf(o) {
		if !slices.Contains(liveFlags, name) {
			return usage("leave the flag out, or add --fork-session to go on in a copy",
				"--%s: the session runs in the background (%s) with settings of its own", name, j.ID)
		}
	}
	return nil
}

// openLive attaches to a session that a process has open.
func (p *program) openLive(ctx context.Context, o *Options, j supervisor.Job) (Conversation, error) {
	if err := checkLive(o, j); err != nil {
		return nil, err
	}
	face := attachFace()
	face.Kind = "script"
	c, err := port.Dial(ctx, jobPlace().Socket(j.ID), face)
	if err != nil {
		return nil, err
	}
	events, err := c.Attach(context.WithoutCancel(ctx), port.From{History: 1})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	l := &live{job: j, client: c, events: events}
	for { // what was before is no part of this run
		e, err := events.Next(ctx)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		switch b := e.Body.(type) {
		case event.Status:
			l.session = b.Session
			l.about = About{Session: b.Session, Dir: b.Dir, Model: b.Model, Mode: b.Mode, KeySource: "none", Effort: b.Effort}
			l.about.Info = func(id string) llm.ModelInfo { return llm.Lookup("", id) }
		case event.State:
			return l, nil
		}
	}
}

// goOnLive opens a session that a process has open in this terminal, and sends the words of the command line.
func (p *program) goOnLive(ctx context.Context, o *Options, j supervisor.Job, words []string) error {
	if err := checkLive(o, j); err != nil {
		return err
	}
	if text := strings.TrimSpace(strings.Join(words, " ")); text != "" {
		c, err := door().Dial(ctx, j.ID)
		if err != nil {
			return err
		}
		_, err = c.Prompt(ctx, port.Prompt{Message: llm.UserText(text)})
		if err := errors.Join(err, c.Close()); err != nil {
			return err
		}
	}
	return p.attach(ctx, o, j.ID)
}

func (l *live) About() About { return l.about }

func (l *live) Next(ctx context.Context) (event.Event, error) { return l.events.Next(ctx) }

// Prompt sends the message. The end of ctx interrupts the turn.
func (l *live) Prompt(ctx context.Context, m llm.Message) error {
	r, err := l.client.Prompt(ctx, port.Prompt{Message: m})
	if err != nil {
		return notStarted{err}
	}
	context.AfterFunc(ctx, func() { _ = l.client.Interrupt(context.WithoutCancel(ctx), r.ID) })
	return nil
}

func (l *live) Answer(id string, a event.Answer) error {
	return l.client.Answer(context.Background(), port.Answer{Session: l.session, ID: id, Answer: a})
}

func (l *live) Output() json.RawMessage { return nil }

func (l *live) SetModel(ctx context.Context, name string) error {
	_, err := l.client.Command(ctx, port.Command{Name: "model", Args: name})
	return err
}

func (l *live) SetMode(ctx context.Context, mode permission.Mode) error {
	_, err := l.client.Command(ctx, port.Command{Name: "mode", Args: string(mode)})
	return err
}

// Close detaches. The session goes on.
func (l *live) Close() error { return l.client.Close() }
