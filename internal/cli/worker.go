package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/ui/console"
)

// jobPlace is where this user's session processes are found.
func jobPlace() supervisor.Place {
	return supervisor.At(config.ResolvePaths(os.Environ(), "").StateHome, os.Getenv("XDG_RUNTIME_DIR"))
}

// worker is a session process: a conversation that faces reach by a socket.
type worker struct {
	place   supervisor.Place
	socket  net.Listener // that the process was started with; nil: it makes one
	console *console.Console
	server  *port.Server
	end     context.CancelFunc // ends the process in order
	left    atomic.Bool        // its job is to be forgotten

	mu      sync.Mutex
	begun   bool // the first prompt was taken, or the job has no prompt: from here on, idle means done
	job     supervisor.Job
	written time.Time // when the job was kept
}

// work is lathe --worker ID: it runs the session of a job until it was idle for long, is stopped, or is killed.
func (p *program) work(ctx context.Context, o *Options) error {
	place := jobPlace()
	job, err := place.Read(o.Worker)
	if err != nil {
		return err
	}
	socket, err := supervisor.Inherited()
	if err = errors.Join(err, supervisor.Settle()); err != nil {
		return err
	}
	w := &worker{place: place, job: job, socket: socket}
	o.Dir = job.CWD
	run := func() error { return w.run(ctx, p, o) }
	if job.SessionID == "" && socket == nil { // else its folder is the worktree already
		begin := run
		run = func() error { return p.inWorktree(ctx, o, begin) }
	}
	if err := run(); err != nil {
		w.change(func(j *supervisor.Job) {
			j.PID, j.State, j.Activity, j.Failure = 0, supervisor.Failed, err.Error(), failureOf(err)
		})
		return err
	}
	return nil
}

// failureOf is why a session could not begin, for the face that waits for it.
func failureOf(err error) *supervisor.Failure {
	f := &supervisor.Failure{Code: exitCode(err), Text: oneMessage(err), NoKey: errors.Is(err, conversation.ErrNoKey)}
	if locked, ok := errors.AsType[*session.LockedError](err); ok {
		f.Session = locked.ID
	}
	return f
}

func (w *worker) run(ctx context.Context, p *program, o *Options) error {
	ctx, w.end = context.WithCancel(ctx)
	defer w.end()
	again := w.job.SessionID != ""
	if again {
		o.Resume, o.Continue, o.Fork, o.SessionID = w.job.SessionID, false, false, ""
		o.Mode, o.Bypass = cmp.Or(w.job.Mode, o.Mode), o.Bypass && w.job.Mode == string(permission.Bypass)
	}
	o.patient = true
	others := &peers{place: w.place, self: w.known}
	editor := &editorBuffers{}
	o.peers, o.buffers = others, editor
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	c, err := p.console(ctx, o, inst, true)
	if err != nil {
		return errors.Join(startError(err), inst.Close())
	}
	w.console = c
	c.Events().Close() // faces attach
	others.join(c, inst)
	version, _ := currentVersion()
	l := w.socket
	if l == nil {
		l, err = port.Listen(w.place.Socket(w.job.ID))
	}
	if err == nil {
		server := &port.Server{Session: c, Lathe: version, Other: w.request, Peer: others.answer}
		w.server = server
		editor.server.Store(server)
		w.change(func(j *supervisor.Job) {
			j.PID, j.SessionID, j.Lathe, j.Protocol = os.Getpid(), c.Status().Session, version, port.Version
			j.Failure = nil
			j.Mode, j.CWD, j.Schedules = string(c.Status().Mode), c.Status().Dir, c.Schedules()
		})
		var faces sync.WaitGroup
		faces.Go(func() { w.follow(ctx) })
		faces.Go(func() {
			w.awaitRest(ctx, server, time.Duration(inst.Config().Settings.Background.IdleMinutes)*time.Minute)
		})
		faces.Go(func() { w.notify(ctx, server, inst) })
		w.begin(ctx, again)
		err = server.Accept(ctx, l, w.place.Refuse)
		w.end()
		faces.Wait()
	}
	empty := c.Farewell() == ""
	err = errors.Join(err, c.Close(), inst.Close())
	w.change(func(j *supervisor.Job) {
		if empty { // it is not kept
			j.SessionID = ""
		}
		if j.PID = 0; j.State == supervisor.Working || j.State == supervisor.Blocked {
			j.State, j.WaitingFor = supervisor.Stopped, ""
		}
	})
	if w.left.Load() {
		err = errors.Join(err, w.place.Remove(w.job.ID))
	}
	return err
}

// begin sends the first prompt, or goes on where a killed process stopped. The prompt's id follows from the job, so it
// runs once.
func (w *worker) begin(ctx context.Context, again bool) {
	first := port.Prompt{ID: "first-" + w.job.ID, Message: llm.UserText(w.job.Prompt)}
	go func() {
		if w.job.Prompt != "" {
			if _, err := w.console.Prompt(ctx, first); err != nil && ctx.Err() == nil {
				w.change(func(j *supervisor.Job) { j.State, j.Activity = supervisor.Failed, err.Error() })
			}
		}
		if again {
			w.console.GoOn()
		}
		w.mu.Lock()
		w.begun = true
		w.mu.Unlock()
		w.take(event.Event{Body: w.console.State()})
	}()
}

// change changes the job, and keeps it if it is another then. That it cannot be kept is said in the process's log.
func (w *worker) change(f func(*supervisor.Job)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.job
	if f(&w.job); reflect.DeepEqual(w.job, before) {
		return
	}
	if w.job.State != before.State {
		w.job.Changed = time.Now()
	}
	if err := w.place.Write(w.job); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	w.written = time.Now()
}

// activityEvery is how often what a session does is kept.
const activityEvery = time.Second

// follow keeps the job as the session goes on.
func (w *worker) follow(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := w.console.Attach(ctx, port.From{History: 1, Gather: port.Rarely})
		if err != nil {
			return
		}
		for {
			e, err := events.Next(ctx)
			if err != nil {
				break // it fell behind, and begins again, or the process ends
			}
			w.take(e)
		}
		events.Close()
	}
}

func (w *worker) take(e event.Event) {
	switch b := e.Body.(type) {
	case event.Opened:
		w.change(func(j *supervisor.Job) {
			j.SessionID, j.Name, j.Schedules = b.Session, cmp.Or(b.Title, j.Name), w.console.Schedules()
		})
	case event.Status:
		w.mu.Lock()
		same := w.job.Name == cmp.Or(b.Title, w.job.Name) && w.job.Mode == string(b.Mode)
		w.mu.Unlock()
		if !same {
			w.change(func(j *supervisor.Job) { j.Name, j.Mode = cmp.Or(b.Title, j.Name), string(b.Mode) })
		}
	case event.State:
		w.change(func(j *supervisor.Job) {
			if w.begun || b.Doing != event.Idle {
				j.WaitingFor, j.State = b.For, stateOf(b, j.State)
			}
		})
	case event.TurnEnd:
		if len(e.Agent) == 0 && b.Reason == event.EndFailed {
			w.change(func(j *supervisor.Job) { j.State, j.Activity = supervisor.Failed, b.Err })
		}
	case event.ToolStart:
		w.mu.Lock()
		early := time.Since(w.written) < activityEvery
		w.mu.Unlock()
		if !early {
			w.change(func(j *supervisor.Job) { j.Activity = b.Title })
		}
	}
}

// stateOf is the state of a job, given that before.
func stateOf(s event.State, before supervisor.State) supervisor.State {
	switch {
	case s.Doing == event.Working:
		return supervisor.Working
	case s.Doing == event.Blocked:
		return supervisor.Blocked
	case before == supervisor.Failed: // its turn ended so
		return before
	}
	return supervisor.Done
}

// restEvery is how often a session process looks whether it is needed.
const restEvery = 10 * time.Second

// awaitRest ends the process when nothing ran and no face was there for a time; 0: never.
func (w *worker) awaitRest(ctx context.Context, s *port.Server, idle time.Duration) {
	if idle <= 0 {
		return
	}
	tick := time.NewTicker(min(restEvery, idle/2))
	defer tick.Stop()
	for since := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		wait := idle
		if w.console.Farewell() == "" && w.job.Kind == "interactive" { // nothing was said in it
			wait = min(wait, restEvery)
		}
		if !w.console.Resting() || s.Faces() > 0 {
			since = time.Now()
		} else if time.Since(since) >= wait {
			w.end()
			return
		}
	}
}

// request answers the supervisor.
func (w *worker) request(_ context.Context, f port.Face, method string, params json.RawMessage) (any, error) {
	if method == supervisor.MethodLeave {
		return w.leave(params)
	}
	if f.Kind != "supervisor" {
		return nil, fmt.Errorf("%w: only the supervisor asks that", port.ErrRefused)
	}
	switch method {
	case supervisor.MethodEnviron:
		return supervisor.Environ{Environ: supervisor.Surroundings()}, nil
	case supervisor.MethodStop:
		w.change(func(j *supervisor.Job) {
			if j.State == supervisor.Working || j.State == supervisor.Blocked {
				j.State, j.WaitingFor = supervisor.Stopped, ""
			}
		})
		w.end()
		return struct{}{}, nil
	}
	return nil, fmt.Errorf("a session process has no method %q", method)
}

// answerTime is how long an answer has to go out before the process ends. A face does without it.
const answerTime = 20 * time.Millisecond

// leave answers a face whose person leaves. A session that began in a terminal ends with the last terminal that shows
// it, unless the person had it go on.
func (w *worker) leave(params json.RawMessage) (any, error) {
	var in supervisor.Leave
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, err
	}
	left := supervisor.Left{Session: w.console.Farewell()}
	w.change(func(j *supervisor.Job) {
		if in.Stay {
			j.Kind = "background"
		}
		left.Stays = j.Kind != "interactive" || w.server.Faces() > 1
	})
	if !left.Stays {
		w.left.Store(true)
		time.AfterFunc(answerTime, w.end)
	}
	return left, nil
}
