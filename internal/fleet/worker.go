package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Work runs one try of a job. An error is a reason outside of the job: the job is tried again.
type Work func(ctx context.Context, t *Task) (Outcome, error)

// Task is one try of a job.
type Task struct {
	Job    Job
	Record Record
	Dir    string // a folder of the job on this machine; what an earlier try left is there
	worker *Worker
	limits Limits
}

// Emit publishes a line for who follows the job.
func (t *Task) Emit(line []byte) {
	_ = t.worker.Fleet.nc.Publish("fleet.events."+t.Job.ID, line) // nobody may listen; the log is kept apart
}

// Worker takes jobs and runs them.
type Worker struct {
	Fleet *Fleet
	ID    string          // unique among all workers; empty: one is made
	Slots int             // jobs at a time
	Dir   string          // for the folders of jobs
	Kinds map[string]Work // by Job.Kind
	Grace time.Duration   // for running jobs when the worker ends; 0: until they are done
	Log   func(format string, args ...any)

	host  string
	lease time.Duration
	begun time.Time
	queue []jetstream.Consumer // by priority
	due   jetstream.Consumer
	wake  chan struct{}

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // by job
}

// Causes of the end of a try.
var (
	errCancelled = errors.New("the job was cancelled")
	errLost      = errors.New("another worker has the job")
	errDrained   = errors.New("the worker ends")
)

// idleWait is how long a worker without jobs waits before it looks again. A new job wakes it.
const idleWait = 2 * time.Second

// Run works until ctx ends. Then it takes no more jobs, and waits for those that it has.
func (w *Worker) Run(ctx context.Context) error {
	w.ID, w.Slots, w.begun = cmp.Or(w.ID, NewID()), max(w.Slots, 1), time.Now()
	w.host, _ = os.Hostname() // for people
	w.running, w.wake = map[string]context.CancelCauseFunc{}, make(chan struct{}, 1)
	if w.Log == nil {
		w.Log = func(string, ...any) {}
	}
	if err := w.connect(ctx); err != nil {
		return err
	}
	hard, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var beside sync.WaitGroup
	beside.Go(func() { w.present(hard) })
	var jobs sync.WaitGroup
	free := make(chan struct{}, w.Slots)
	for ctx.Err() == nil {
		select {
		case free <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		m, id, err := w.next(ctx)
		if err != nil || m == nil {
			<-free
			w.rest(ctx, err)
			continue
		}
		jobs.Go(func() {
			defer func() { <-free }()
			if err := w.handle(hard, m, id); err != nil {
				w.Log("%s: %v", id, err)
			}
		})
	}
	if w.Grace > 0 {
		defer time.AfterFunc(w.Grace, func() { stop(errDrained) }).Stop()
	}
	jobs.Wait()
	stop(nil)
	beside.Wait()
	return nil
}

func (w *Worker) connect(ctx context.Context) error {
	w.queue = make([]jetstream.Consumer, Priorities)
	for p := range w.queue {
		c, err := w.Fleet.js.Consumer(ctx, queueStream, consumerOf(p))
		if err != nil {
			return err
		}
		w.queue[p] = c
	}
	w.lease = w.queue[0].CachedInfo().Config.AckWait
	var err error
	if w.due, err = w.Fleet.js.Consumer(ctx, timeStream, "due"); err != nil {
		return err
	}
	if _, err := w.Fleet.nc.Subscribe("fleet.cancel", func(m *nats.Msg) { w.end(string(m.Data), errCancelled) }); err != nil {
		return err
	}
	_, err = w.Fleet.nc.Subscribe("fleet.wake", func(*nats.Msg) {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	})
	return err
}

func (w *Worker) end(id string, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cancel := w.running[id]; cancel != nil {
		cancel(why)
	}
}

// rest waits for a job to come.
func (w *Worker) rest(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		w.Log("the engine: %v", err)
	}
	select {
	case <-w.wake:
	case <-time.After(idleWait):
	case <-ctx.Done():
	}
}

// next takes a job from the queue, the most urgent first. Nil: there is none.
func (w *Worker) next(ctx context.Context) (jetstream.Msg, string, error) {
	w.takeDue(ctx)
	for p := Priorities - 1; p >= 0; p-- {
		batch, err := w.queue[p].FetchNoWait(1)
		if err != nil {
			return nil, "", err
		}
		for m := range batch.Messages() {
			return m, m.Subject()[len("fleet.jobs.0."):], nil
		}
		if err := batch.Error(); err != nil && !errors.Is(err, nats.ErrTimeout) {
			return nil, "", err
		}
	}
	return nil, "", nil
}

// handle runs a job that was taken, or gives it back.
func (w *Worker) handle(ctx context.Context, m jetstream.Msg, id string) error {
	t, wait, err := w.claim(ctx, id)
	switch {
	case errors.Is(err, errLost):
		return errors.Join(m.NakWithDelay(w.lease), ctx.Err())
	case errors.Is(err, errOver), errors.Is(err, ErrNot):
		return m.DoubleAck(ctx)
	case err != nil:
		return errors.Join(err, m.NakWithDelay(time.Second))
	case wait > 0:
		return m.NakWithDelay(wait)
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.mu.Lock()
	w.running[id] = cancel
	w.mu.Unlock()
	var beat sync.WaitGroup
	beat.Go(func() { w.hold(run, m, t, cancel) })
	again, err := w.try(run, t)
	cancel(nil)
	beat.Wait()
	w.mu.Lock()
	delete(w.running, id)
	w.mu.Unlock()
	switch {
	case err != nil:
		return errors.Join(err, m.NakWithDelay(time.Second))
	case again >= 0:
		return m.NakWithDelay(again)
	}
	return m.DoubleAck(context.WithoutCancel(ctx))
}

// errOver is the end of a claim for a job that needs no work.
var errOver = errors.New("the job is over")

// claim takes a job for this worker. Wait: it is for later.
func (w *Worker) claim(ctx context.Context, id string) (t *Task, wait time.Duration, err error) {
	r, err := w.Fleet.Record(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if r.State.Over() {
		return nil, 0, errOver
	}
	j, err := w.Fleet.Spec(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	limits, err := w.Fleet.Limits(ctx)
	if err != nil {
		return nil, 0, err
	}
	if wait, err = w.notYet(ctx, j, r); wait > 0 || err != nil {
		return nil, wait, err
	}
	if wait, err = w.Fleet.overLimit(ctx, limits, j.Model); wait > 0 || err != nil {
		return nil, wait, err
	}
	if r.State == Running && r.Tries >= j.tries() {
		why := fmt.Sprintf("its worker died in the try %d of %d", r.Tries, j.tries())
		t = &Task{Job: j, Record: r, worker: w}
		return nil, 0, errors.Join(errOver, w.finish(ctx, t, Parked, why, Outcome{}))
	}
	r.State, r.Worker, r.Host, r.Run, r.Reason = Running, w.ID, w.host, NewID(), ""
	r.Tries, r.Started = r.Tries+1, time.Now().UTC()
	if r, err = w.Fleet.putAgain(ctx, r); err != nil {
		if errors.Is(err, errChanged) {
			err = errLost
		}
		return nil, 0, err
	}
	return &Task{Job: j, Record: r, Dir: filepath.Join(w.Dir, id), worker: w, limits: limits}, 0, nil
}

// putAgain writes a record, also while the engine is between two leaders.
func (f *Fleet) putAgain(ctx context.Context, r Record) (Record, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		once, end := context.WithTimeout(ctx, 3*time.Second)
		out, err := f.put(once, r)
		end()
		if err == nil || !passing(err) && !errors.Is(err, errChanged) || ctx.Err() != nil {
			return out, err
		}
		now, readErr := f.Record(ctx, r.ID) // the answer may have been lost
		if readErr == nil && now.Run == r.Run && now.State == r.State {
			return now, nil
		}
		if errors.Is(err, errChanged) || readErr == nil && now.seq != r.seq {
			return r, errChanged
		}
	}
}

// notYet says how long a job has to wait for its time and for the jobs before it.
func (w *Worker) notYet(ctx context.Context, j Job, r Record) (time.Duration, error) {
	if d := time.Until(j.NotBefore); d > 0 {
		return min(d, time.Hour), nil
	}
	for _, id := range j.After {
		before, err := w.Fleet.Record(ctx, id)
		switch {
		case err != nil && !errors.Is(err, ErrNot):
			return 0, err
		case err == nil && before.State == Done:
		case err == nil && before.State.Over() && before.State != Parked:
			why := fmt.Sprintf("%s, which has to be done before it, is %s", id, before.State)
			return 0, errors.Join(errOver, w.Fleet.Cancel(ctx, r.ID, why))
		default:
			return time.Second, nil
		}
	}
	return 0, nil
}

// hold keeps the lease of a job, and ends the try when the job is no longer this worker's.
func (w *Worker) hold(ctx context.Context, m jetstream.Msg, t *Task, cancel context.CancelCauseFunc) {
	beat := time.NewTicker(w.lease / 3)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
		_ = m.InProgress() // else the lease ends, and the record says so
		r, err := w.Fleet.Record(ctx, t.Job.ID)
		switch {
		case err != nil:
		case r.State == Cancelled:
			cancel(errCancelled)
		case r.Run != t.Record.Run:
			cancel(errLost)
		}
	}
}

// try runs one try and writes what came of it. Again is when the job is tried again; negative: it is over.
func (w *Worker) try(ctx context.Context, t *Task) (again time.Duration, err error) {
	work := w.Kinds[t.Job.Kind]
	if work == nil {
		return -1, w.finish(ctx, t, Failed, fmt.Sprintf("this worker runs no jobs of the kind %q", t.Job.Kind), Outcome{})
	}
	limit, cancel := context.WithTimeoutCause(ctx, t.Job.timeout(), errTimeout)
	defer cancel()
	w.Log("%s: try %d: %s", t.Job.ID, t.Record.Tries, t.Job.Name)
	out, err := work(limit, t)
	cause := context.Cause(limit)
	switch {
	case errors.Is(cause, errLost):
		return -1, nil // its other worker acknowledges it
	case errors.Is(cause, errCancelled):
		return -1, w.finish(ctx, t, Cancelled, "", out)
	case errors.Is(cause, errDrained):
		return w.giveBack(ctx, t)
	case errors.Is(cause, errTimeout):
		return -1, w.finish(ctx, t, Failed, fmt.Sprintf("it took longer than %s", t.Job.timeout()), out)
	case err != nil && t.Record.Tries < t.Job.tries():
		return w.later(ctx, t, err)
	case err != nil:
		return -1, w.finish(ctx, t, Parked, err.Error(), out)
	case out.Failed != "":
		return -1, w.finish(ctx, t, Failed, out.Failed, out)
	}
	return -1, w.finish(ctx, t, Done, "", out)
}

var errTimeout = errors.New("the time of the job is over")

// backOff is the wait before a job is tried again.
func backOff(tries int) time.Duration { return min(time.Second<<min(tries-1, 10), 5*time.Minute) }

func (w *Worker) later(ctx context.Context, t *Task, why error) (time.Duration, error) {
	r := t.Record
	r.State, r.Reason = Queued, why.Error()
	_, err := w.Fleet.putAgain(context.WithoutCancel(ctx), r)
	if errors.Is(err, errChanged) {
		return -1, nil
	}
	w.Log("%s: %v; it is tried again in %s", t.Job.ID, why, backOff(r.Tries))
	return backOff(r.Tries), err
}

// giveBack leaves a job to another worker, without counting the try.
func (w *Worker) giveBack(ctx context.Context, t *Task) (time.Duration, error) {
	r := t.Record
	r.State, r.Tries = Queued, r.Tries-1
	_, err := w.Fleet.putAgain(context.WithoutCancel(ctx), r)
	if errors.Is(err, errChanged) {
		return -1, nil
	}
	return 0, err
}

// presence is what a worker says of itself.
type presence struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Slots   int       `json:"slots"`
	Running []string  `json:"running"`
	Begun   time.Time `json:"begun"`
}

// How often a worker says that it is there, and when it counts as gone.
const (
	presentEvery = 3 * time.Second
	presentFor   = 10 * time.Second
)

func (w *Worker) present(ctx context.Context) {
	beat := time.NewTicker(presentEvery)
	defer beat.Stop()
	for ctx.Err() == nil {
		p := presence{ID: w.ID, Host: w.host, PID: os.Getpid(), Slots: w.Slots, Begun: w.begun, Running: []string{}}
		w.mu.Lock()
		for id := range w.running {
			p.Running = append(p.Running, id)
		}
		w.mu.Unlock()
		if b, err := json.Marshal(p); err == nil {
			m := nats.NewMsg("fleet.worker." + w.ID)
			m.Data = b
			m.Header.Set(jetstream.MsgTTLHeader, presentFor.String())
			_ = w.Fleet.nc.PublishMsg(m) // the next one follows
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
		}
	}
}
