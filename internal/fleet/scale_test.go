package fleet

import (
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
