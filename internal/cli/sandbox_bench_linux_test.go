package cli_test

import (
	"io"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// BenchmarkSandboxStart runs /bin/true plainly and confined in turn. Its figures are the shortest of all runs, in
// microseconds. The helper is this test's binary, which has all packages of lathe.
func BenchmarkSandboxStart(b *testing.B) {
	s := confine.Detect()
	if s.Tier != confine.Full {
		b.Skip(s.Why)
	}
	r := sandbox.New()
	defer r.Close()
	work := b.TempDir()
	run := func(c *sandbox.Confinement) time.Duration {
		start := time.Now()
		if _, err := r.Run(b.Context(), sandbox.Spec{
			Argv: []string{"/bin/true"}, Dir: work, Stdout: io.Discard,
			Stderr: io.Discard, Confine: c,
		}); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	confined := &sandbox.Confinement{Policy: confine.Policy{Mode: confine.Workspace, Write: []string{work}}, Support: s}
	least := [2]time.Duration{time.Hour, time.Hour}
	for b.Loop() {
		least[0], least[1] = min(least[0], run(nil)), min(least[1], run(confined))
	}
	b.ReportMetric(float64(least[0].Microseconds()), "plain-µs")
	b.ReportMetric(float64(least[1].Microseconds()), "confined-µs")
	b.ReportMetric(float64((least[1] - least[0]).Microseconds()), "more-µs")
}
