package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/face/port"
)

// Supervisor is the process that keeps the session processes.
type Supervisor struct {
	Place
	Log   *slog.Logger
	Lathe string // its version of lathe

	starts  sync.Mutex // held while it is decided whether a job needs a process, and that is started
	mu      sync.Mutex
	workers map[string]*worker // by job
	closing bool
	quiet   *time.Timer // ends the supervisor when nothing is left
	times   timekeeper
	stop    context.CancelFunc
}

// worker is the process of a job.
type worker struct {
	pid     int
	environ []string
	ready   chan struct{} // closed when it answers, or has ended
	gone    chan struct{} // closed when it has ended
	meant   bool          // its end is meant
}

// Linger is how long a supervisor without processes stays.
const Linger = 10 * time.Second

// How often the supervisor looks whether a process has ended that closed its connection, or never took one.
const (
	endPoll  = 5 * time.Millisecond
	lonePoll = 500 * time.Millisecond
)

// Run serves until ctx ends, nothing is left, or Shutdown is called. Another supervisor of the same place is an error.
// The processes stay when ctx ends.
func (s *Supervisor) Run(ctx context.Context) error {
	ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	if err := os.MkdirAll(s.Sockets, 0o700); err != nil {
		return fmt.Errorf("the folder for sockets cannot be made: %w", err)
	}
	lock := flock.New(filepath.Join(s.Sockets, "supervisor.lock"), flock.SetPermissions(0o600))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return errors.Join(errors.New("another supervisor runs"), err)
	}
	defer func() { _ = lock.Unlock() }()
	s.workers = map[string]*worker{}
	s.times = timekeeper{s.Schedules(), map[string][]string{}, map[string]*sleeper{}}
	l, err := s.listen()
	if err != nil {
		return err
	}
	s.quiet = time.AfterFunc(Linger, s.rest)
	s.findWorkers(ctx)
	go s.keepTime(ctx)
	server := &port.Server{Lathe: s.Lathe, Other: s.request}
	s.Log.Info("supervisor runs", "pid", os.Getpid(), "socket", l.Addr().String())
	return server.Accept(ctx, l, s.Refuse)
}

// findWorkers takes over the processes of the jobs. Those that died while no supervisor ran are started again, where
// their environment is known; the others wait for a face.
func (s *Supervisor) findWorkers(ctx context.Context) {
	jobs, err := s.List()
	if err != nil {
		s.Log.Warn("some jobs cannot be read", "error", err)
	}
	for _, j := range jobs {
		s.sleep(j, nil)
		switch {
		case j.Live():
			s.adopt(ctx, j)
		case j.State == Working || j.State == Blocked:
			j.State, j.WaitingFor, j.Changed = Blocked, "login", time.Now()
			j.Activity = "its process and its supervisor ended; attach, and it goes on"
			s.keep(j)
		}
	}
}

func (s *Supervisor) keep(j Job) {
	if err := s.Write(j); err != nil {
		s.Log.Error("a job cannot be kept", "job", j.ID, "error", err)
	}
}

// adopt watches a process that another started. The connection to it ends with it.
func (s *Supervisor) adopt(ctx context.Context, j Job) *worker {
	w := &worker{pid: j.PID, ready: make(chan struct{}), gone: make(chan struct{})}
	close(w.ready)
	asked, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	ended, every := closed, lonePoll
	if c, err := port.Dial(asked, s.Socket(j.ID), port.Face{Kind: "supervisor"}); err == nil {
		var env Environ
		if err := c.Call(asked, MethodEnviron, struct{}{}, &env); err == nil {
			w.environ = env.Environ
		}
		ended, every = c.Done(), endPoll
	}
	s.add(j.ID, w)
	go func() {
		for alive(w.pid) {
			select {
			case <-ended:
			case <-ctx.Done():
				return
			}
			select {
			case <-time.After(every):
			case <-ctx.Done():
				return
			}
		}
		s.ended(ctx, j.ID, w, "")
	}()
	return w
}

// closed is closed.
var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (s *Supervisor) add(id string, w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.workers[id] = w
	s.quiet.Stop()
}

// ended handles the end of a process: one that crashed is started again.
func (s *Supervisor) ended(ctx context.Context, id string, w *worker, why string) {
	s.starts.Lock()
	defer s.starts.Unlock()
	defer close(w.gone) // its file is written then
	s.mu.Lock()
	meant := w.meant || s.closing
	if s.workers[id] == w {
		delete(s.workers, id)
	}
	if len(s.workers) == 0 {
		s.quiet.Reset(Linger)
	}
	s.mu.Unlock()
	j, err := s.Read(id)
	if err != nil {
		return // it was removed
	}
	s.sleep(j, w.environ)
	clean := j.PID == 0 // it said so before
	if j.PID = 0; meant || clean || j.State == Stopped || j.State == Failed {
		s.keep(j)
		return
	}
	s.Log.Warn("a session process died", "job", id, "why", why)
	j.Crashes = slices.DeleteFunc(append(j.Crashes, Crash{time.Now(), why}), func(c Crash) bool {
		return time.Since(c.At) > crashWindow
	})
	if len(j.Crashes) >= mostCrashes || j.State == Done {
		if j.State != Done {
			j.State, j.Activity, j.Changed = Failed, "its process died three times: "+why, time.Now()
		}
		s.keep(j)
		return
	}
	s.keep(j)
	if _, err := s.launch(ctx, j, w.environ); err != nil {
		j.State, j.Activity, j.Changed = Failed, err.Error(), time.Now()
		s.keep(j)
	}
}

// A job that crashes so often within that time has failed.
const (
	mostCrashes = 3
	crashWindow = 10 * time.Minute
)

// launch starts the process of a job, which goes on with its session if it has one.
func (s *Supervisor) launch(ctx context.Context, j Job, environ []string) (*worker, error) {
	if environ == nil {
		return nil, errors.New("the environment of the session is not known any more; attach to it")
	}
	cmd, log, err := s.command(j, environ)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the session process cannot be started: %w", err)
	}
	w := &worker{pid: cmd.Process.Pid, environ: environ, ready: make(chan struct{}), gone: make(chan struct{})}
	s.add(j.ID, w)
	go func() {
		err := cmd.Wait()
		why := "it ended with " + strconv.Itoa(cmd.ProcessState.ExitCode())
		if err != nil {
			why = err.Error()
		}
		s.ended(ctx, j.ID, w, why)
	}()
	go s.awaitReady(ctx, j.ID, w)
	return w, nil
}

// awaitReady waits until a process answers.
func (s *Supervisor) awaitReady(ctx context.Context, id string, w *worker) {
	defer close(w.ready)
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for ctx.Err() == nil {
		if c, err := port.Dial(ctx, s.Socket(id), port.Face{Kind: "supervisor"}); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-w.gone:
			return
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// request serves the methods of the supervisor.
func (s *Supervisor) request(ctx context.Context, _ port.Face, method string, params json.RawMessage) (any, error) {
	var n Named
	if err := json.Unmarshal(params, &n); err != nil && method != methodJobs {
		return nil, err
	}
	switch method {
	case methodStart:
		var start Start
		if err := json.Unmarshal(params, &start); err != nil {
			return nil, err
		}
		if start.ID != "" && uuid.Validate(start.ID+"-0000-0000-0000-000000000000") != nil {
			return nil, fmt.Errorf("%q is no id of a job", start.ID)
		}
		return s.start(ctx, start)
	case methodWake:
		return s.wake(ctx, n)
	case methodStop:
		j, err := s.end(ctx, n.ID)
		if err != nil {
			return nil, err
		}
		return s.stopped(j)
	case methodSchedule:
		var in Scheduled
		if err := json.Unmarshal(params, &in); err != nil {
			return nil, err
		}
		return s.schedule(in)
	case methodRespawn:
		j, err := s.end(ctx, n.ID)
		if err == nil && n.Args != nil {
			j.Args = n.Args
			err = s.Write(j)
		}
		if err != nil {
			return nil, err
		}
		return s.wake(ctx, n)
	case methodRemove:
		if _, err := s.end(ctx, n.ID); err != nil {
			return nil, err
		}
		return struct{}{}, s.Remove(n.ID)
	case methodJobs:
		jobs, err := s.List()
		return Jobs{os.Getpid(), jobs}, err
	case methodShutdown:
		return struct{}{}, s.shutdown(ctx)
	}
	return nil, fmt.Errorf("a supervisor has no method %q", method)
}

func (s *Supervisor) start(ctx context.Context, start Start) (Job, error) {
	now := time.Now()
	j := Job{
		ID: cmp.Or(start.ID, uuid.NewString()[:8]), Name: start.Name, Kind: start.Kind, CWD: start.CWD, State: Working,
		StartedAt: now, Changed: now, Args: start.Args, Prompt: start.Prompt, Protocol: port.Version,
	}
	if err := s.Write(j); err != nil {
		return Job{}, err
	}
	return s.wake(ctx, Named{ID: j.ID, Environ: start.Environ})
}

// answers waits until the process of a job answers.
func (s *Supervisor) answers(ctx context.Context, id string, w *worker) (Job, error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		return Job{}, context.Cause(ctx)
	}
	now, err := s.Read(id)
	if err == nil && !alive(w.pid) {
		err = fmt.Errorf("the session process ended at once: %s (its log is %s)", now.Activity, s.LogFile(id))
	}
	return now, err
}

// life is a context that does not end with a request.
func (s *Supervisor) life(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

func (s *Supervisor) worker(id string) *worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workers[id]
}

// wake returns a job whose process answers.
func (s *Supervisor) wake(ctx context.Context, n Named) (Job, error) {
	if w := s.worker(n.ID); w != nil && !alive(w.pid) {
		select {
		case <-w.gone: // it is started again then, or not
		case <-ctx.Done():
			return Job{}, context.Cause(ctx)
		}
	}
	w, err := s.needed(ctx, n)
	if err == nil && !alive(w.pid) { // it has just died, and may be started again
		select {
		case <-w.gone:
			w, err = s.needed(ctx, n)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return Job{}, err
	}
	return s.answers(ctx, n.ID, w)
}

// needed returns the process of a job, which it starts if there is none.
func (s *Supervisor) needed(ctx context.Context, n Named) (*worker, error) {
	s.starts.Lock()
	defer s.starts.Unlock()
	if w := s.worker(n.ID); w != nil {
		return w, nil
	}
	j, err := s.Read(n.ID)
	if err != nil {
		return nil, err
	}
	if j.Live() && alive(j.PID) { // a terminal started it
		return s.adopt(s.life(ctx), j), nil
	}
	return s.launch(s.life(ctx), j, n.Environ)
}

// end ends the process of a job, after its step.
func (s *Supervisor) end(ctx context.Context, id string) (Job, error) {
	j, err := s.Read(id)
	if err != nil {
		return Job{}, err
	}
	s.mu.Lock()
	w := s.workers[id]
	if w != nil {
		w.meant = true
	}
	s.mu.Unlock()
	if w == nil {
		if j.State == Working || j.State == Blocked {
			j.State, j.WaitingFor, j.Changed = Stopped, "", time.Now()
			return j, s.Write(j)
		}
		return j, nil
	}
	s.endWorker(ctx, id, w)
	return s.Read(id)
}

// endWait is how long a process may take to end its turn in order.
const endWait = 15 * time.Second

func (s *Supervisor) endWorker(ctx context.Context, id string, w *worker) {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	if c, err := port.Dial(ctx, s.Socket(id), port.Face{Kind: "supervisor"}); err == nil {
		_ = c.Call(ctx, MethodStop, struct{}{}, nil) // killed below if it does not end
		_ = c.Close()
	}
	select {
	case <-w.gone:
		return
	case <-ctx.Done():
	}
	if p, err := os.FindProcess(w.pid); err == nil {
		_ = p.Kill()
	}
	select {
	case <-w.gone:
	case <-time.After(killWait):
		s.Log.Error("a session process does not end", "job", id, "pid", w.pid)
	}
}

// killWait is how long a killed process may take to go.
const killWait = 5 * time.Second

func (s *Supervisor) shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	all := map[string]*worker{}
	for id, w := range s.workers {
		w.meant = true
		all[id] = w
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for id, w := range all {
		wg.Go(func() { s.endWorker(ctx, id, w) })
	}
	wg.Wait()
	time.AfterFunc(100*time.Millisecond, s.stop) // the answer goes out first
	return nil
}
