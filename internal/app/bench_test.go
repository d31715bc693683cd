package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

// BenchmarkGap runs 1,000 steps of one call each over real HTTP with a session on disk, and reports the
// time from the end of a reply to the next request, at the beginning and at the end of the session.
func BenchmarkGap(b *testing.B) {
	for range b.N {
		gaps := runGaps(b, 1000)
		b.ReportMetric(median(gaps[:100]), "first100-ms")
		b.ReportMetric(median(gaps[len(gaps)-100:]), "last100-ms")
		b.ReportMetric(float64(len(gaps)), "steps")
	}
}

func runGaps(b *testing.B, steps int) []float64 {
	home, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(home, "p")
	if err := os.Mkdir(dir, 0o700); err != nil {
		b.Fatal(err)
	}
	text := ""
	for i := range 200 {
		text += fmt.Sprintf("line %03d: plain filler text to make a line of text\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.txt"), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	script := &llmtest.Script{}
	for i := range steps {
		script.Replies = append(script.Replies, llmtest.Say(
			llmtest.Tool("Read", map[string]any{"file_path": "data.txt", "offset": 1 + i%100, "limit": 20})))
	}
	srv := llmtest.New(script, llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=x"}
	cfg, err := config.Load(config.Options{Dir: dir, Environ: env, ManagedPaths: []string{}})
	if err != nil {
		b.Fatal(err)
	}
	inst, err := Open(Options{Config: cfg, Dir: dir, Environ: env, Mode: permission.Bypass})
	if err != nil {
		b.Fatal(err)
	}
	defer inst.Close()
	s, err := inst.NewSession(b.Context(), SessionOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	sub := s.Subscribe(b.Context())
	done := make(chan []float64, 1)
	go func() {
		var gaps []float64
		var ended time.Time
		for e := range sub.All(b.Context()) {
			switch e.Body.(type) {
			case event.Response:
				ended = e.Time
			case event.Request:
				if !ended.IsZero() {
					gaps = append(gaps, float64(e.Time.Sub(ended))/1e6)
				}
			case event.TurnEnd:
				done <- gaps
				return
			}
		}
	}()
	if end, err := s.Prompt(b.Context(), llm.UserText("go")); err != nil || end.Steps != steps+1 {
		b.Fatal(end, err)
	}
	return <-done
}

func median(xs []float64) float64 {
	s := slices.Sorted(slices.Values(xs))
	return s[len(s)/2]
}
