package console

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/session"
)

// BenchmarkReplay reads the history of a session of 20,000 messages: what opening it costs before the first
// frame. "live MB" is what stays in memory.
func BenchmarkReplay(b *testing.B) {
	store := session.NewStore(b.TempDir())
	log, err := store.Create(b.Context(), session.Meta{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	text := strings.Repeat("some words of a reply\n", 40)
	for i := range 10_000 {
		if err := log.AddUser(b.Context(), llm.UserText(fmt.Sprint("prompt ", i)), false, false); err != nil {
			b.Fatal(err)
		}
		m := llm.Message{Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: text}}, Model: "m", Usage: &llm.Usage{Input: 10, Output: 10}, Stop: llm.StopEndTurn}
		if err := log.AddReply(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var r *replayed
	for b.Loop() {
		r = replay(log)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "live-MB")
	b.ReportMetric(float64(log.Info().Size)/1e6, "log-MB")
	if len(r.bodies) != 20_000 {
		b.Fatalf("%d bodies", len(r.bodies))
	}
}
