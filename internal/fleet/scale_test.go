package fleet

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// TestManyJobsAreSubmittedAndListed prints what submitting and listing take; the long form has 100,000 jobs.
func TestManyJobsAreSubmittedAndListed(t *testing.T) {
	n := 2_000
	if os.Getenv("LATHE_FLEET_LONG") != "" {
		n = 100_000
	}
	f := open(t, Options{})
	for from := 0; from < n; from += 10_000 {
		var jobs []Job
		for i := from; i < min(n, from+10_000); i++ {
			jobs = append(jobs, Job{ID: fmt.Sprintf("j%06d", i), Prompt: fmt.Sprintf("triage issue %d of the project", i)})
		}
		begun := time.Now()
		submit(t, f, jobs...)
		if from == 0 {
			t.Logf("%d jobs submitted in %s", len(jobs), time.Since(begun).Round(time.Millisecond))
		}
	}
	begun := time.Now()
	all, err := f.List(t.Context())
	if err != nil || len(all) != n {
		t.Fatalf("%v %d", err, len(all))
	}
	t.Logf("%d records listed in %s", n, time.Since(begun).Round(time.Millisecond))
}

// TestWorkersScale prints what a job costs the engine and its worker, and how long jobs take on a model that sleeps.
func TestWorkersScale(t *testing.T) {
	for _, workers := range []int{1, 4, 16} {
		f := open(t, Options{})
		n := 10 * workers
		var jobs []Job
		for i := range n {
			jobs = append(jobs, Job{Prompt: fmt.Sprintf("x%d", i)})
		}
		ids := submit(t, f, jobs...)
		begun, cpu := time.Now(), cpuTime(t)
		for range workers {
			work(t, f, 1, func(ctx context.Context, k *Task) (Outcome, error) {
				select {
				case <-time.After(100 * time.Millisecond): // the sleeping model
				case <-ctx.Done():
				}
				return say("")(ctx, k)
			})
		}
		for _, id := range ids {
			over(t, f, id)
		}
		took := time.Since(begun)
		t.Logf("%2d workers: %d jobs of 100 ms in %s, %s of CPU each", workers, n, took.Round(time.Millisecond),
			((cpuTime(t) - cpu) / time.Duration(n)).Round(10*time.Microsecond))
	}
}
