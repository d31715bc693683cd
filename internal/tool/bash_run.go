package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
)

// bashSink takes a command's output: for the call that waits for it, and after Detach for the background.
type bashSink struct {
	mu   sync.Mutex
	text *bashText
	next *shellRun
}

func (s *bashSink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		return s.next.Write(p)
	}
	return s.text.Write(p)
}

// bashProc is a command that has started.
type bashProc struct {
	proc   *sandbox.Proc
	cancel context.CancelCauseFunc
	cause  func() error // why it was cancelled; nil while it was not
	after  func()       // removes the files made for it
	drain  func()       // waits for the output of a terminal; nil: Proc does
	cwd    cwdFile
	run    *boundary.Run // nil: not confined
}

// confine returns the command's sandbox, nil without one.
func (c *bashCall) confine(environ []string) (*boundary.Run, error) {
	if c.outside || !c.env.Boundary.Confined() {
		return nil, nil
	}
	var folders []string
	for _, r := range c.env.Roots.List() {
		if !r.ReadOnly {
			folders = append(folders, r.Path)
		}
	}
	run, err := c.env.Boundary.ForLine(folders, c.hidden(), c.linked(environ), c.reach, c.network(),
		c.env.Isolated.Moved)
	if err == nil && !c.in.Leave && strings.Contains(c.in.Command, "git") { // also one that hides in a string
		if !run.LendConfig() && !c.in.Background && c.env.Boundary.Configures(c.line()) {
			run.OpenConfig()
		}
	}
	if err == nil && c.in.Leave {
		run.Leave()
	}
	if err == nil && c.recorded() {
		run.Recorded()
	}
	return run, err
}

// linked are the work trees and the programs of the command.
func (c *bashCall) linked(environ []string) boundary.Linked {
	l := linked(c.accesses)
	for _, kv := range environ {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			l.Programs = filepath.SplitList(path)
		}
	}
	return l
}

// linked are the paths of a command where work trees beside the project may be.
func linked(accesses []permission.Access) (l boundary.Linked) {
	for _, a := range accesses {
		switch {
		case a.Command != nil:
			l.Made, l.Named = append(l.Made, a.Command.Trees...), append(l.Named, a.Command.GitDirs...)
		case a.Kind == permission.Read || a.Kind == permission.Write:
			l.Named = append(l.Named, a.Target)
		}
	}
	return l
}

// network lets the session decide on the hosts that the command wants to reach, and record them.
func (c *bashCall) network() boundary.Network {
	if c.env.Hosts == nil {
		return boundary.Network{}
	}
	var named []string
	if c.reach == permission.ReachWrite && c.env.Boundary.Standard() {
		for _, a := range c.accesses {
			if a.Kind == permission.Net {
				named = append(named, a.Target)
			}
		}
	}
	return c.clock.patient(c.env.Hosts(c.id, bashTitle(c.in), named))
}

// readOnly reports whether the command is known to change nothing.
func (c *bashCall) readOnly() bool {
	return len(c.accesses) > 0 && c.accesses[0].Command != nil && c.accesses[0].Command.Class.ReadOnly()
}

// wait waits for the end of the command and of its output.
func (p *bashProc) wait() sandbox.Exit {
	exit := p.proc.Wait()
	if p.drain != nil {
		p.drain()
	}
	return exit
}

// swept returns notes on protected files that the command created and that were set aside.
func (p *bashProc) swept() []string {
	if p.run == nil {
		return nil
	}
	return p.run.Done()
}

// start starts the command. It is ended through cancel only, so that it can outlive the call.
func (c *bashCall) start(ctx context.Context, cancel context.CancelCauseFunc, out io.Writer) (*bashProc, error) {
	environ, err := c.environ(ctx)
	var confined *boundary.Run
	if err == nil {
		confined, err = c.confine(environ)
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	p := &bashProc{
		cancel: cancel, cause: func() error { return context.Cause(ctx) }, cwd: newCwdFile(confined),
		run: confined,
	}
	argv, cleanup, err := c.argv(p.cwd, confined != nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	p.after = func() { cleanup(); p.cwd.remove(); cancel(nil) }
	out = c.env.masked(out)
	spec := sandbox.Spec{Argv: argv, Dir: c.dir, Stdout: out, Stderr: out, Leave: c.in.Leave, Env: environ}
	if confined != nil {
		spec.Confine, spec.Env = confined.Confinement, sandbox.Overlay(environ, confined.Environ())
	}
	if err = c.launch(ctx, p, spec); err != nil {
		p.after()
		return nil, err
	}
	return p, nil
}

// launch starts the command, on a terminal where the call asks for one.
func (c *bashCall) launch(ctx context.Context, p *bashProc, spec sandbox.Spec) error {
	if !c.in.Pty {
		var err error
		p.proc, err = c.env.Runner.Start(ctx, spec)
		return err
	}
	t, err := openTerminal()
	if err != nil {
		return err
	}
	out := spec.Stdout
	spec.Stdin, spec.Stdout, spec.Stderr = t.end, t.end, t.end
	spec.Env = sandbox.Overlay(spec.Env, map[string]string{"TERM": "xterm"})
	p.proc, err = c.env.Runner.Start(ctx, spec)
	if err != nil {
		return errors.Join(err, t.close())
	}
	p.drain = t.copy(out)
	return nil
}

// run runs the command and waits for it, unless it belongs into the background.
func (c *bashCall) run(ctx context.Context) (*agent.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if err := c.startDir(); err != nil {
		return nil, err
	}
	c.reach = agent.Decided(ctx).Reach
	if c.plain && !c.named.plain() {
		return nil, fmt.Errorf("another command has changed shell %q since this one was decided on; call it again",
			c.named.name)
	}
	if c.safe == nil {
		if note := c.env.Profile.take(ctx, c.env, c.shell); note != "" {
			c.notes = append(c.notes, note)
		}
	}
	if c.in.Background {
		c.started = time.Now()
		return c.runBehind()
	}
	r, err := c.runFore(ctx)
	if err == nil && c.again {
		c.notes = []string{"The first run failed and left nothing. The user approved the command, and it ran again from " +
			"its beginning, as above. " + c.refusal}
		c.again, c.refusal, c.reach = false, "", permission.ReachWrite
		r, err = c.runFore(ctx)
	}
	if err != nil || c.refusal == "" || !c.mayLeave(ctx) {
		return r, err
	}
	c.notes = []string{"The first run, in the sandbox, failed. The user allowed one run outside of it, which is the " +
		"one above. " + c.refusal}
	c.outside, c.refusal, c.reach = true, "", permission.ReachWrite
	return c.runFore(ctx)
}

// runFore runs the command while the call waits for it.
func (c *bashCall) runFore(ctx context.Context) (*agent.Result, error) {
	c.started = time.Now()
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	timeout := c.timeout()
	over := make(chan struct{})
	c.clock = newClock(timeout, func() { close(over) })
	defer c.clock.stop()
	sink := &bashSink{text: c.output(ctx, func() { cancel(errBashFlood) })}
	defer sink.text.close()
	fore := c.env.Background.wait(c.id, c.env.Owner)
	defer c.env.Background.done(fore)
	p, err := c.start(own, cancel, sink)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.proc.Done():
	case <-fore.leave:
		if stop() { // else it is being ended: too late to leave
			return c.detach(p, sink, 0), nil
		}
	case <-over:
		if !c.in.Leave && c.env.Background.room() == nil && stop() {
			return c.detach(p, sink, timeout), nil
		}
		cancel(errBashTimeout)
	}
	defer p.after()
	return c.ended(ctx, p, timeout, sink.text), nil
}

// ended takes in how the command ended.
func (c *bashCall) ended(ctx context.Context, p *bashProc, timeout time.Duration, text *bashText) *agent.Result {
	exit := p.wait()
	var cause error
	if exit.Cancelled {
		cause = p.cause()
	}
	if dir, ok := p.cwd.read(); ok {
		c.endDir(dir)
	}
	c.keepState(p)
	out := text.finish()
	c.refused(p, exit, out.text)
	if c.again = c.refusal != "" && c.mayWrite(ctx); c.again {
		p.run.Drop()
	} else {
		if c.reach == permission.ReachView || c.reach == permission.ReachRead {
			c.refusal = "" // one question is enough
		}
		c.dropped = c.takeView(ctx, p.run)
	}
	if c.safe == nil || !c.safe.reads {
		c.env.Cache.InvalidateSearches()
		c.env.Reads.CommandRan()
	}
	c.notes = append(c.notes, p.swept()...)
	return c.result(exit, cause, timeout, out)
}

// refused notes what the sandbox refused the command.
func (c *bashCall) refused(p *bashProc, exit sandbox.Exit, output string) {
	switch {
	case p.run == nil || exit.Cancelled:
	case exit.Code == 0 && !c.readOnly():
		if why := p.run.RefusedPart(c.dir, output); why != "" {
			c.notes = append(c.notes, why)
		}
	case exit.Code != 0:
		if why := p.run.Refusal(c.dir, output); why != "" {
			c.notes, c.refusal = append(c.notes, why), why
		}
		if hint := c.env.Boundary.Hint(c.line(), output); hint != "" {
			c.notes = append(c.notes, hint)
		}
	}
}

// runBehind starts the command in the background.
func (c *bashCall) runBehind() (*agent.Result, error) {
	if err := c.env.Background.room(); err != nil {
		return nil, err
	}
	spool, err := c.env.blobWriter(context.Background(), c.id+".txt")
	if err != nil {
		return nil, fmt.Errorf("the output of the command could not be kept: %w. Run it without run_in_background, or "+
			"make room in the temporary folder", err)
	}
	own, cancel := context.WithCancelCause(context.Background())
	s := c.shellRun(cancel, func() error { return context.Cause(own) })
	s.spool = spool
	p, err := c.start(own, cancel, s)
	if err != nil {
		return nil, errors.Join(err, spool.Close())
	}
	c.adopt(s, p)
	return c.behind(s, fmt.Sprintf("Command running in background with ID: %s.", s.id), ""), nil
}

// detach hands a running command over to the background: on request of the user, or after the time that a call waits.
func (c *bashCall) detach(p *bashProc, sink *bashSink, limit time.Duration) *agent.Result {
	s := c.shellRun(p.cancel, p.cause)
	sink.mu.Lock()
	text, spool, err := sink.text.handOver()
	s.size, s.read, s.came = sink.text.saved, sink.text.saved, sink.text.size
	if s.spool, s.fault = spool, err; err != nil {
		s.spool = noBlob{}
	}
	sink.next = s
	sink.mu.Unlock()
	c.adopt(s, p)
	if limit == 0 {
		return c.behind(s, "The user moved the command to the background, where it is running with ID: "+s.id+".", text)
	}
	r := c.behind(s, fmt.Sprintf("The command did not end within %s. It is still running in the background with ID: %s; "+
		"do not start it again.", limit, s.id), text)
	r.Meta["backgroundedByUser"], r.Meta["assistantAutoBackgrounded"], r.Meta["timedOutAfterMs"] = false, true,
		limit.Milliseconds()
	return r
}

func (c *bashCall) shellRun(cancel context.CancelCauseFunc, cause func() error) *shellRun {
	return &shellRun{
		callID: c.id, owner: c.env.Owner, command: c.in.Command, dir: c.dir, started: c.started, cancel: cancel,
		cause: cause, flood: c.flood, status: ShellRunning,
	}
}

func (c *bashCall) adopt(s *shellRun, p *bashProc) {
	c.detached = true
	cache, reads := c.env.Cache, c.env.Reads
	later := *c // the call itself ends now
	later.notes = nil
	ended := func() sandbox.Exit {
		exit := p.wait()
		later.takeView(context.Background(), p.run)
		for _, note := range later.notes {
			_, _ = io.WriteString(s, "\n("+note+")\n")
		}
		for _, line := range p.swept() {
			_, _ = io.WriteString(s, "\n("+line+")\n")
		}
		return exit
	}
	c.env.Background.adopt(s, ended, func() {
		p.after()
		cache.InvalidateSearches()
		reads.CommandRan()
	})
}

// behind is the result of a call whose command runs on.
func (c *bashCall) behind(s *shellRun, head, output string) *agent.Result {
	if output != "" {
		head += " Its output so far:"
	}
	c.notes = append(c.notes, fmt.Sprintf("Read new output with TaskOutput, "+
		"task_id %q; end it with TaskStop. It is ended with the session.", s.id))
	r := agent.TextResult(compose(head, output, c.notes))
	r.Title = bashTitle(c.in)
	r.View = event.Command{Command: c.in.Command, Dir: c.dir, Output: output, Background: s.id}
	r.Meta = map[string]any{
		"stdout": output, "stderr": "", "interrupted": false, "isImage": false, "backgroundTaskId": s.id,
		"backgroundedByUser": !c.in.Background,
	}
	return r
}

// noBlob stands for a blob that could not be made.
type noBlob struct{}

func (noBlob) Write([]byte) (int, error)         { return 0, os.ErrClosed }
func (noBlob) ReadAt([]byte, int64) (int, error) { return 0, os.ErrClosed }
func (noBlob) Commit() (string, error)           { return "", os.ErrClosed }
func (noBlob) Close() error                      { return nil }
