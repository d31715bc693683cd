package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/repl"
	"github.com/lathe-dev/lathe/internal/ui/tui"
)

// hasProcess reports whether the session of this terminal gets a process of its own. One that a session started has
// none: it may not speak to the others.
func (p *program) hasProcess(o *Options) bool {
	return !o.NoBackground && !o.NoPersistence && !o.Plain && !dumb() && runtime.GOOS != "windows" &&
		p.inTTY && p.outTTY && !jobPlace().Inside()
}

// beside opens the session in a process beside this one, which shows it. The session goes on when the terminal is gone.
// The screen is there before the session is: what is typed meanwhile waits.
func (p *program) beside(ctx context.Context, o *Options, words []string) error {
	show := faceOf{first: strings.TrimSpace(strings.Join(words, " "))}
	for {
		err := p.besideOnce(ctx, o, show, words)
		f, ok := errors.AsType[*supervisor.Failure](err)
		switch {
		case !ok:
			return err
		case f.NoKey:
			if show.note, err = p.setUp(ctx, o); err != nil {
				return startError(err)
			}
			continue
		}
		if running, ok := jobOf(f.Session); ok {
			return p.goOnLive(ctx, o, running, words)
		}
		return &Error{Code: f.Code, Err: f}
	}
}

// besideOnce starts the process and shows its session. The error is a [*supervisor.Failure] if that cannot begin.
func (p *program) besideOnce(ctx context.Context, o *Options, show faceOf, words []string) error {
	dir, err := workingFolder(o)
	if err != nil {
		return err
	}
	d := door()
	start := supervisor.Start{Kind: "interactive", Name: o.Name, CWD: dir, Args: backgroundArgs(p.args, words)}
	j, err := d.Beside(start)
	if err != nil {
		return &Error{Code: exitFailed, Err: err, Hint: "lathe --no-background needs no process beside the terminal's"}
	}
	if show.config, _, err = loadConfig(o); err != nil {
		return err // and the session process ends for the same reason
	}
	if show.note == "" {
		p.warn(show.config)
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	dial, first := d.Join, sync.Once{}
	s := port.NewStay(nil, func(ctx context.Context) (*port.Client, error) {
		c, err := dial(ctx, j.ID)
		if _, ok := errors.AsType[*supervisor.Failure](err); ok {
			giveUp(err)
		}
		if err == nil {
			first.Do(func() {
				dial = d.Dial
				go func() { _ = d.Adopt(ctx, j.ID) }() // else the supervisor finds the process when it is asked to wake it
			})
		}
		return c, err
	})
	defer func() { _ = s.Close() }()
	show.job = j.ID
	return p.face(ctx, o, s, show)
}

// faceOf is what a terminal shows of a session behind the port, and how.
type faceOf struct {
	job    string // its id; empty: it is on another machine
	config *config.Config
	first  string // the prompt of the command line
	note   string // for the person
}

// gather is how many milliseconds pieces of a text gather for a terminal, which paints 60 times a second.
const gather = 16

// face shows a session behind the port until the user leaves.
func (p *program) face(ctx context.Context, o *Options, s *port.Stay, f faceOf) error {
	events := s.Later(port.From{History: p.history(o), Gather: gather})
	defer events.Close()
	if o.Plain || dumb() {
		ro := p.replOptions()
		ro.Close = func() error { events.Close(); return nil }
		return repl.Run(ctx, s, events, ro)
	}
	now, stop := followed(ctx, f.config)
	defer stop()
	to := p.screenOptions(o, f.config, &looks{config: now})
	to.Job, to.Note = f.job, f.note
	if f.first != "" {
		to.Initial = llm.UserText(f.first)
	}
	res, err := tui.Run(ctx, s, events, to)
	if errors.Is(err, tui.ErrGone) {
		return &Error{Code: exitHangup, Err: err, Quiet: true}
	}
	if err != nil {
		return err
	}
	err = p.leave(context.WithoutCancel(ctx), s, f.job, res)
	if err == nil && res.List {
		return p.dash(ctx, o)
	}
	return err
}

// endWait is how long leaving waits for the session process to end.
const endWait = 20 * time.Second

// leave tells the session process that the user leaves, and waits for its end if it ends.
func (p *program) leave(ctx context.Context, s *port.Stay, job string, res tui.Result) error {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	var left supervisor.Left
	err := s.Call(ctx, supervisor.MethodLeave, supervisor.Leave{Stay: res.Stay}, &left)
	if _, answered := errors.AsType[*port.Failure](err); err != nil && !answered && !res.Stay {
		err = nil // it ended before its answer went out
		if res.Turns > 0 {
			left.Session = res.Session
		}
	}
	switch {
	case err != nil:
		return err
	case !left.Stays:
		s.Ended(ctx)
		if left.Session != "" {
			_, err = fmt.Fprintf(p.out, "Go on with: lathe --resume %s\n", left.Session)
		}
	case job != "" && !res.List:
		_, err = fmt.Fprintf(p.out, "The session goes on. Open it with: lathe attach %s\n", job)
	}
	return err
}

// jobOf is the live job that has a session open.
func jobOf(session string) (supervisor.Job, bool) {
	jobs, _ := jobPlace().List() // those that can be read
	for _, j := range jobs {
		if session != "" && j.SessionID == session && j.Live() {
			return j, true
		}
	}
	return supervisor.Job{}, false
}

// followed returns the settings of the moment. Stop ends the watch of their files.
func followed(ctx context.Context, cfg *config.Config) (now func() *config.Config, stop func()) {
	var current atomic.Pointer[config.Config]
	current.Store(cfg)
	ctx, stop = context.WithCancel(ctx)
	go func() { // where files cannot be watched, the look stays as it was
		_ = cfg.Watch(ctx, func(c *config.Config, _ []config.Change) { current.Store(c) })
	}()
	return current.Load, stop
}
