package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/base/await"
)

// open starts an engine of a test's own.
func open(t testing.TB, o Options) *Fleet {
	t.Helper()
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "lf") // short, for sockets
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		o.Dir = dir
	}
	f, err := Embed(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// work starts a worker, and returns how to end it.
func work(t testing.TB, f *Fleet, slots int, do Work) (w *Worker, end func()) {
	t.Helper()
	w = &Worker{Fleet: f, Slots: slots, Dir: t.TempDir(), Kinds: map[string]Work{"": do}, Log: t.Logf}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	var once sync.Once
	end = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(end)
	return w, end
}

func submit(t testing.TB, f *Fleet, jobs ...Job) []string {
	t.Helper()
	ids, err := f.Submit(t.Context(), jobs)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// over waits until a job is over.
func over(t testing.TB, f *Fleet, id string) Record {
	t.Helper()
	var r Record
	if !await.Until(func() bool {
		var err error
		r, err = f.Record(t.Context(), id)
		return err == nil && r.State.Over()
	}) {
		t.Fatalf("%s is %s: %s", id, r.State, r.Reason)
	}
	return r
}

func say(text string) Work {
	return func(_ context.Context, t *Task) (Outcome, error) {
		if err := os.MkdirAll(t.Dir, 0o700); err != nil {
			return Outcome{}, err
		}
		patch := filepath.Join(t.Dir, "patch")
		err := os.WriteFile(patch, []byte(t.Job.Prompt), 0o600)
		return Outcome{Answer: text + t.Job.Prompt, Files: Files{Patch: patch}}, err
	}
}

func TestJobsRunOnceEach(t *testing.T) {
	f := open(t, Options{})
	var runs atomic.Int32
	for range 2 {
		work(t, f, 2, func(ctx context.Context, k *Task) (Outcome, error) {
			runs.Add(1)
			return say("did ")(ctx, k)
		})
	}
	var jobs []Job
	for i := range 20 {
		jobs = append(jobs, Job{Prompt: fmt.Sprintf("job %d", i)})
	}
	for i, id := range submit(t, f, jobs...) {
		if r := over(t, f, id); r.State != Done || r.Tries != 1 {
			t.Errorf("%+v", r)
		}
		res, err := f.Result(t.Context(), id)
		if err != nil || res.Answer != fmt.Sprintf("did job %d", i) {
			t.Errorf("%v %+v", err, res)
		}
		b, err := f.Blob(t.Context(), res.Patch)
		if err != nil || string(b) != jobs[i].Prompt {
			t.Errorf("%v %q", err, b)
		}
	}
	if runs.Load() != 20 {
		t.Errorf("%d runs", runs.Load())
	}
	if all, err := f.List(t.Context()); err != nil || len(all) != 20 {
		t.Errorf("%v %d", err, len(all))
	}
}

func TestAJobThatFailsOutsideIsTriedAgainAndParked(t *testing.T) {
	f := open(t, Options{})
	var bad atomic.Bool
	bad.Store(true)
	work(t, f, 1, func(ctx context.Context, k *Task) (Outcome, error) {
		if bad.Load() {
			return Outcome{}, errors.New("no network")
		}
		return say("")(ctx, k)
	})
	id := submit(t, f, Job{Prompt: "x", Tries: 2})[0]
	if r := over(t, f, id); r.State != Parked || r.Reason != "no network" || r.Tries != 2 {
		t.Errorf("%+v", r)
	}
	bad.Store(false)
	if err := f.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if r := over(t, f, id); r.State != Done {
		t.Errorf("%+v", r)
	}
	if res, err := f.Result(t.Context(), id); err != nil || res.State != Done {
		t.Errorf("%v %+v", err, res)
	}
}

// hang waits for the end of its try, and says that it began.
func hang(begun chan<- string) Work {
	return func(ctx context.Context, k *Task) (Outcome, error) {
		begun <- k.Job.ID
		<-ctx.Done()
		return Outcome{}, ctx.Err()
	}
}

func TestARunningJobIsCancelled(t *testing.T) {
	f := open(t, Options{})
	begun := make(chan string, 1)
	w, _ := work(t, f, 1, hang(begun))
	id := submit(t, f, Job{Prompt: "x"})[0]
	<-begun
	if err := f.Cancel(t.Context(), id, "not needed"); err != nil {
		t.Fatal(err)
	}
	if !await.Until(func() bool { w.mu.Lock(); defer w.mu.Unlock(); return len(w.running) == 0 }) {
		t.Fatal("it runs on")
	}
	if r := over(t, f, id); r.State != Cancelled || r.Reason != "not needed" {
		t.Errorf("%+v", r)
	}
	if res, err := f.Result(t.Context(), id); err != nil || res.State != Cancelled {
		t.Errorf("%v %+v", err, res)
	}
}

// idle is a worker that takes nothing by itself.
func idle(t *testing.T, f *Fleet) *Worker {
	t.Helper()
	w := &Worker{
		Fleet: f, ID: "dead", Dir: t.TempDir(), Log: t.Logf, wake: make(chan struct{}, 1),
		running: map[string]context.CancelCauseFunc{},
	}
	if err := w.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// dead is a worker that takes a job and is silent from then on.
func dead(t *testing.T, f *Fleet, id string) (*Worker, *Task) {
	t.Helper()
	w := idle(t, f)
	m, got, err := w.next(t.Context())
	if err != nil || m == nil || got != id {
		t.Fatalf("%v %v %s", err, m, got)
	}
	k, _, err := w.claim(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return w, k
}

func TestADeadWorkersJobGoesOnElsewhereAndHasOneResult(t *testing.T) {
	f := open(t, Options{Lease: time.Second})
	id := submit(t, f, Job{Prompt: "x"})[0]
	w, k := dead(t, f, id)
	work(t, f, 1, say("second "))
	if r := over(t, f, id); r.State != Done || r.Tries != 2 || r.Worker == "dead" {
		t.Errorf("%+v", r)
	}
	late := filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(late, []byte("late"), 0o600); err != nil {
		t.Fatal(err)
	}
	// the first worker comes back
	if err := w.finish(t.Context(), k, Done, "", Outcome{Answer: "first", Files: Files{Patch: late}}); err != nil {
		t.Fatal(err)
	}
	res, err := f.Result(t.Context(), id)
	if err != nil || res.Answer != "second x" {
		t.Errorf("%v %+v", err, res)
	}
	if _, err := f.blobs.GetInfo(t.Context(), id+"/"+k.Record.Run+"/patch"); err == nil {
		t.Error("the patch of the lost try is kept")
	}
}

func TestAJobThatKillsItsWorkersIsParked(t *testing.T) {
	f := open(t, Options{Lease: time.Second})
	id := submit(t, f, Job{Prompt: "x", Tries: 1})[0]
	dead(t, f, id)
	work(t, f, 1, say(""))
	if r := over(t, f, id); r.State != Parked || !strings.Contains(r.Reason, "its worker died") {
		t.Errorf("%+v", r)
	}
}

func TestAWorkerThatEndsGivesItsJobBack(t *testing.T) {
	f := open(t, Options{})
	begun := make(chan string, 1)
	w, end := work(t, f, 1, hang(begun))
	w.Grace = time.Millisecond
	id := submit(t, f, Job{Prompt: "x"})[0]
	<-begun
	end()
	if r, err := f.Record(t.Context(), id); err != nil || r.State != Queued || r.Tries != 0 {
		t.Errorf("%v %+v", err, r)
	}
	work(t, f, 1, say(""))
	if r := over(t, f, id); r.State != Done {
		t.Errorf("%+v", r)
	}
}

func TestUrgentJobsComeFirst(t *testing.T) {
	f := open(t, Options{})
	low, high := 1, 9
	ids := submit(t, f, Job{Prompt: "low", Priority: &low}, Job{Prompt: "mid"}, Job{Prompt: "high", Priority: &high})
	var order []string
	work(t, f, 1, func(ctx context.Context, k *Task) (Outcome, error) {
		order = append(order, k.Job.Prompt)
		return say("")(ctx, k)
	})
	for _, id := range ids {
		over(t, f, id)
	}
	if got := strings.Join(order, " "); got != "high mid low" {
		t.Error(got)
	}
}

func TestJobsWaitForThoseBefore(t *testing.T) {
	f := open(t, Options{})
	ids := submit(t, f, Job{ID: "b", Prompt: "b", After: []string{"a"}}, Job{ID: "a", Prompt: "a"},
		Job{ID: "bad", Prompt: "fail"}, Job{ID: "c", Prompt: "c", After: []string{"bad"}})
	var mu sync.Mutex
	var order []string
	work(t, f, 2, func(ctx context.Context, k *Task) (Outcome, error) {
		mu.Lock()
		order = append(order, k.Job.ID)
		mu.Unlock()
		if k.Job.Prompt == "fail" {
			return Outcome{Failed: "the check failed"}, nil
		}
		return say("")(ctx, k)
	})
	for _, id := range ids {
		over(t, f, id)
	}
	if got := strings.Join(order, " "); !strings.HasSuffix(got, "b") || strings.Contains(got, "c") {
		t.Error(got)
	}
	if r := over(t, f, "c"); r.State != Cancelled || !strings.Contains(r.Reason, "bad") {
		t.Errorf("%+v", r)
	}
	if _, err := f.Submit(t.Context(), []Job{
		{ID: "x", Prompt: "x", After: []string{"y"}}, {ID: "y", Prompt: "y", After: []string{"x"}},
	}); err == nil {
		t.Error("jobs that wait for each other were taken")
	}
}

func TestADrainedFleetBeginsNothing(t *testing.T) {
	f := open(t, Options{})
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := submit(t, f, Job{Prompt: "x"})[0]
	w := idle(t, f)
	if m, _, err := w.next(t.Context()); err != nil || m != nil {
		t.Errorf("%v %v", m, err)
	}
	if err := f.Undrain(t.Context()); err != nil {
		t.Fatal(err)
	}
	work(t, f, 1, say(""))
	over(t, f, id)
}

func TestASubmittedJobWhoseClientDiedIsQueued(t *testing.T) {
	f := open(t, Options{})
	id := submit(t, f, Job{Prompt: "x"})[0]
	s, err := f.js.Stream(t.Context(), queueStream)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Mend(t.Context()); err != nil {
		t.Fatal(err)
	}
	work(t, f, 1, say(""))
	over(t, f, id)
	if ids := submit(t, f, Job{ID: id, Prompt: "x"}); len(ids) != 1 {
		t.Error(ids)
	}
}

func TestLimitsHoldForTheWholeFleet(t *testing.T) {
	f := open(t, Options{})
	if err := f.SetLimits(t.Context(), Limits{BudgetUSD: 1, PerMinute: map[string]int{"m": 3}}); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 10)
	do := func(ctx context.Context, k *Task) (Outcome, error) {
		for {
			if err := k.Spent(ctx, 0.3); err != nil {
				stopped <- err
				return Outcome{CostUSD: 0.3, Failed: err.Error()}, nil
			}
		}
	}
	work(t, f, 1, do)
	work(t, f, 1, do)
	submit(t, f, Job{Prompt: "x"}, Job{Prompt: "y"})
	if err := <-stopped; !errors.Is(err, errBudget) {
		t.Error(err)
	}
	if spent, err := f.Spent(t.Context()); err != nil || spent < 1 || spent > 1.61 {
		t.Errorf("%v %v", spent, err)
	}
	k := &Task{worker: &Worker{Fleet: f}, limits: Limits{PerMinute: map[string]int{"m": 3}}}
	waits := 0
	for range 8 {
		d, err := k.Request(t.Context(), "m")
		if err != nil {
			t.Fatal(err)
		}
		if d > 0 {
			waits++
		}
	}
	if waits < 2 { // a minute may begin in between
		t.Errorf("%d of 8 requests wait", waits)
	}
}

func TestAScheduleMakesJobs(t *testing.T) {
	f := open(t, Options{})
	submit(t, f, Job{ID: "often", Prompt: "x", Schedule: "@every 1h"})
	// no test waits for the shortest time that a person may give
	if err := f.schedule(t.Context(), Job{ID: "often", Schedule: "@every 1s"}); err != nil {
		t.Fatal(err)
	}
	work(t, f, 1, say(""))
	if !await.Until(func() bool {
		all, err := f.List(t.Context())
		return err == nil && len(all) > 1
	}) {
		t.Fatal("no job was made")
	}
	if err := f.Unschedule(t.Context(), "often"); err != nil {
		t.Fatal(err)
	}
}
