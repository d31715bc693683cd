package suite

import "testing"

// Bench measures decode, which reads a reply of so many bytes in so many events, also by the processor time that it
// takes.
func Bench(b *testing.B, size, events int, decode func()) {
	b.Helper()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	start, n := cpuTime(), 0
	for b.Loop() {
		decode()
		n++
	}
	if used := (cpuTime() - start).Seconds(); used > 0 {
		b.ReportMetric(float64(n*size)/1e6/used, "MB/cpu-s")
	}
	b.ReportMetric(float64(size)/float64(events), "B/event")
}
