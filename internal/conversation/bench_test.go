package conversation_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/conversation"
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
			// no two alike
			llmtest.Tool("Read", map[string]any{"file_path": "data.txt", "offset": 1 + i%100, "limit": 20 + i/100})))
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

// BenchmarkRequestAfterASummary runs a session in a git repository through summaries, and reports the time from the end
// of the summary, or of the reply before it where it was prepared, to the next request with it, beside that of all
// other requests.
func BenchmarkRequestAfterASummary(b *testing.B) {
	var gaps, plain []float64
	for range b.N {
		after, others := gapsAfterSummaries(b)
		gaps, plain = append(gaps, after...), append(plain, others...)
	}
	b.ReportMetric(median(plain), "other-ms")
	b.ReportMetric(median(gaps), "median-ms")
	b.ReportMetric(slices.Max(gaps), "max-ms")
	b.ReportMetric(slices.Max(plain), "other-max-ms")
	b.ReportMetric(float64(len(gaps)), "summaries")
}

func gapsAfterSummaries(b *testing.B) (gaps, others []float64) {
	home, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(home, "p")
	script := &llmtest.Script{Order: "arrival", NoTools: &llmtest.Reply{
		Parts: []llmtest.Part{llmtest.Text(summaryText)}, FirstByte: llmtest.Duration(50 * time.Millisecond),
	}}
	const steps = 120
	for i := range steps {
		name := filepath.Join(dir, fmt.Sprintf("file%d.txt", i))
		if err := errors.Join(os.MkdirAll(dir, 0o700),
			os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintf("line of file %d\n", i), 150)), 0o600)); err != nil {
			b.Fatal(err)
		}
		script.Replies = append(script.Replies, llmtest.Say(llmtest.Tool("Read", map[string]any{"file_path": name})))
	}
	script.Replies = append(script.Replies, llmtest.Say(llmtest.Text("Done.")))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {
		"-c", "user.name=a", "-c", "user.email=a@b", "commit",
		"-qm", "all",
	}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	srv := llmtest.New(script, llmtest.Options{})
	if err := srv.Start("127.0.0.1:0"); err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + srv.URL(), "ANTHROPIC_API_KEY=x",
		"ANTHROPIC_COMPACTION_THRESHOLD=20000",
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
	if end, err := s.Prompt(b.Context(), llm.UserText("go")); err != nil || end.Steps != steps+1 {
		b.Fatal(end, err)
	}
	return summaryGaps(srv.Requests())
}

// summaryGaps are the times before the first requests with each new summary, in milliseconds.
func summaryGaps(all []llmtest.Request) (gaps, others []float64) {
	var ended time.Time
	messages := 0
	for _, r := range all {
		n := bytes.Count(r.Body, []byte(`"role":`))
		if r.Tools > 0 && n < messages {
			gaps = append(gaps, float64(r.Time.Sub(ended))/1e6)
		} else if r.Tools > 0 && messages > 0 {
			others = append(others, float64(r.Time.Sub(ended))/1e6)
		}
		if r.Tools > 0 {
			messages = n
		}
		if r.Ended.After(ended) && r.Ended.Before(time.Now()) {
			ended = r.Ended
		}
	}
	return gaps, others
}
