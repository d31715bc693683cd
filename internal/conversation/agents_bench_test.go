package conversation_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

// BenchmarkAgents starts agents in the background whose model does not answer, one per step, and reports the time from
// the call to an agent's first request, and the memory that each one takes while it waits, the client's and the
// scripted server's side of its connection included.
func BenchmarkAgents(b *testing.B) {
	const agents = 50
	var starts []float64
	perAgent := 0.0
	for range b.N {
		more, bytes := idleAgents(b, agents)
		starts, perAgent = append(starts, more...), float64(bytes)/agents
	}
	b.ReportMetric(median(starts), "start-median-ms")
	slices.Sort(starts)
	b.ReportMetric(starts[(len(starts)*99+99)/100-1], "start-p99-ms")
	b.ReportMetric(float64(len(starts)), "starts")
	b.ReportMetric(perAgent/1e6, "MB/agent")
}

func idleAgents(b *testing.B, n int) (starts []float64, bytes int64) {
	home, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(home, "p")
	if err := os.MkdirAll(filepath.Join(dir, ".lathe"), 0o700); err != nil {
		b.Fatal(err)
	}
	script := &llmtest.Script{}
	script.Replies = append(script.Replies, llmtest.Reply{
		When: &llmtest.When{Contains: "wait for ever"}, Parts: []llmtest.Part{llmtest.Text("x")},
		FirstByte: llmtest.Duration(time.Hour),
	})
	for range n - 1 {
		script.Replies = append(script.Replies, script.Replies[0])
	}
	for i := range n {
		script.Replies = append(script.Replies, llmtest.Reply{
			// the agent before has begun by then
			When: &llmtest.When{Contains: "go", Turn: ptr(i)}, FirstByte: llmtest.Duration(30 * time.Millisecond),
			Parts: []llmtest.Part{task(map[string]any{"prompt": "wait for ever", "run_in_background": true})},
		})
	}
	srv := llmtest.New(script, llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=x",
		"CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS=100",
	}
	cfg, err := config.Load(config.Options{Dir: dir, Environ: env, ManagedPaths: []string{}})
	if err != nil {
		b.Fatal(err)
	}
	inst, err := conversation.Open(conversation.Options{Config: cfg, Dir: dir, Environ: env, Mode: permission.Bypass})
	if err != nil {
		b.Fatal(err)
	}
	defer inst.Close()
	s, err := inst.NewSession(b.Context(), conversation.SessionOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	before := inUse()
	sub := s.Subscribe(b.Context())
	done := make(chan []float64, 1)
	go func() {
		var found []float64
		began := map[string]time.Time{}
		for e := range sub.All(b.Context()) {
			switch body := e.Body.(type) {
			case event.ToolStart:
				began[body.Call.ID] = e.Time
			case event.Request:
				if len(e.Agent) != 1 {
					continue
				}
				found = append(found, float64(e.Time.Sub(began[callOf(e.Agent[0])]))/1e6)
				if len(found) == n {
					done <- found
					return
				}
			}
		}
	}()
	if _, err := s.Prompt(b.Context(), llm.UserText("go")); err != nil {
		b.Fatal(err)
	}
	starts = <-done
	if now := s.Env().Agents.Tasks.Running(); now != n {
		b.Fatalf("%d agents run", now)
	}
	return starts, inUse() - before
}

// callOf is the call in a link of a chain, as in explore/toolu_7.
func callOf(link string) string { return filepath.Base(link) }

// inUse is the memory in use for the heap and for stacks, in bytes.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
