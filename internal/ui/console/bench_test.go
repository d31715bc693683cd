package console

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// BenchmarkReplay replays a session of 20,000 messages: the cost of opening it before the first frame. "live
// MB" is the memory that stays in use.
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
		m := llm.Message{
			Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: text}}, Model: "m",
			Usage: &llm.Usage{Input: 10, Output: 10}, Stop: llm.StopEndTurn,
		}
		if err := log.AddReply(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var r *replayed
	for b.Loop() {
		r = replay(log, true)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "live-MB")
	b.ReportMetric(float64(log.Info().Size)/1e6, "log-MB")
	if len(r.bodies) != 20_000 {
		b.Fatalf("%d bodies", len(r.bodies))
	}
}

// BenchmarkResume opens a session of 100 MB and makes the state and the newest history for the terminal, the work
// before the first frame. The proportions are those of real sessions: most of a log is results, with their view and
// their structured form.
func BenchmarkResume(b *testing.B) {
	store := session.NewStore(b.TempDir())
	id := makeSession(b, store, 100<<20)
	bodies := 0
	for b.Loop() {
		runtime.GC() // collect the garbage of the previous round
		log, err := store.Open(b.Context(), id)
		if err != nil {
			b.Fatal(err)
		}
		replay(log, false)
		branch := log.Branch()
		first, _ := page(id, branch, branch.Len(), 1000)
		bodies = len(first)
		if err := log.Close(); err != nil {
			b.Fatal(err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/1e6, "heap-peak-MB")
	b.ReportMetric(float64(bodies), "events")
}

func makeSession(b *testing.B, store *session.Store, size int64) string {
	b.Helper()
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx := b.Context()
	log, err := store.Create(ctx, session.Meta{Dir: b.TempDir()})
	check(err)
	defer log.Close()
	text := strings.Repeat("I will look at the \"file\" first, then change it.\n", 10)
	output := strings.Repeat("   42\tfunc (s *Session) Close() error {\n   43\t\treturn s.f.Close() // <-- & done\n", 60)
	check(log.AddUser(ctx, llm.UserText("look at all files"), false, false))
	for n := 0; log.Info().Size < size; n++ {
		call := llm.ToolCall{
			ID: fmt.Sprintf("toolu_%d", n), Name: "Read",
			Input: json.RawMessage(`{"file_path":"/home/me/project/internal/file.go"}`),
		}
		check(log.AddPart(ctx, 0, llm.Text{Text: text}))
		check(log.AddPart(ctx, 1, call))
		check(log.StartCall(ctx, session.CallStart{CallID: call.ID}, false))
		view, err := event.MarshalView(event.TextView{Text: output[:len(output)/3], Path: "file.go", Language: "go"})
		check(err)
		meta, err := json.Marshal(map[string]any{"type": "text", "file": map[string]any{"content": output, "numLines": 120}})
		check(err)
		check(log.EndCall(ctx, session.CallEnd{
			Result: llm.TextResult(call, output, false), Title: "file.go", View: view,
			Meta: meta, Duration: time.Millisecond,
		}))
		check(log.AddReply(ctx, llm.Message{
			Role: llm.Assistant, Parts: []llm.Part{llm.Text{Text: text}, call}, Model: "m",
			Usage: &llm.Usage{Input: 10, Output: 10}, Stop: llm.StopToolUse,
		}))
	}
	check(log.EndTurn(ctx, session.TurnEnd{Reason: "completed", Steps: 1}))
	return log.ID()
}
