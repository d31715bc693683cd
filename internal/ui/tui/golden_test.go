package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
	"github.com/lathe-dev/lathe/internal/permission"
)

var update = flag.Bool("update", false, "write the golden frames anew")

// shown is a frame as a terminal shows it.
func shown(m *model) string {
	v := termtest.NewScreen(m.w, m.h)
	s := newScreen(m.w, m.h, false)
	_, _ = v.Write([]byte("\x1b[?7l"))
	_, _ = v.Write(s.paint(m.compose()))
	return strings.Join(v.Lines(), "\n") + "\n"
}

func goldenModel(t *testing.T, w int) *model {
	m := newTestModel(t, w, 30)
	m.now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }
	m.look.now = m.now
	m.apply1(event.Opened{Session: "s", Title: "Mend the queue", Dir: "/home/me/project"})
	m.apply1(event.Status{
		Title: "Mend the queue", Model: "claude-sonnet-4-5", Mode: "acceptEdits", Dir: "/home/me/project", Branch: "main",
		ContextUsed: 52000, ContextWindow: 200000, CostUSD: 0.42, CacheHit: 0.93,
		Background: 1, Todos: []event.TodoItem{
			{Content: "Find the race", Status: "completed"},
			{Content: "Mend it", Status: "in_progress", ActiveForm: "Mending it"},
			{Content: "Test it", Status: "pending"},
		},
		Changed: []event.ChangedFile{{Path: "internal/queue/queue.go", Added: 12, Removed: 3}},
	})
	m.apply1(event.UserMessage{Message: llm.UserText("The queue loses a message now and then. Why?")})
	m.apply1(event.PartDone{MessageID: "a", Part: llm.Reasoning{Text: "Two goroutines take from it.\nLook at the lock."}})
	m.apply1(event.PartDone{MessageID: "a", Index: 1, Part: llm.Text{Text: "I look at the **queue** first."}})
	m.ran("c1", "go test -race ./internal/queue", "ok  \tqueue\t0.3s\n")
	return m
}

func TestGoldenFrames(t *testing.T) {
	for _, w := range []int{40, 80, 200} {
		states := []struct {
			name string
			do   func(m *model)
		}{
			{"idle", func(*model) {}},
			{"working", func(m *model) {
				m.turn.active, m.turn.began = true, m.now().Add(-12*time.Second)
				m.apply1(event.ToolStart{
					Call: llm.ToolCall{ID: "c2", Name: "Bash"}, Title: "go build ./...",
					Preview: event.Command{Command: "go build ./..."},
				})
				m.apply1(event.ToolOutput{CallID: "c2", Text: "compiling queue\n"})
				m.state.Waiting = []event.Waiting{
					{Text: "do not touch the API"}, {Text: "then update the changelog", After: true},
				}
			}},
			{"sidebar", func(m *model) { m.side = true }},
			{"search", func(m *model) { m.compose(); m.openFind(); m.text("queue") }},
			{"permission", func(m *model) {
				m.apply1(event.Asked{ID: "q", Question: event.Question{
					Title: "Bash", Text: "rm -rf build", Reason: "rm -rf destroys files",
					Permission: &permission.Request{Tool: "Bash", Dir: "/home/me/project"},
					Preview:    event.Command{Command: "rm -rf build"},
					Options:    []event.Option{{ID: event.ChoiceOnce, Label: "Yes, once"}, {ID: event.ChoiceNo, Label: "No"}},
				}})
			}},
		}
		for _, s := range states {
			t.Run(fmt.Sprint(s.name, "-", w), func(t *testing.T) {
				m := goldenModel(t, w)
				s.do(m)
				got := shown(m)
				path := filepath.Join("testdata", fmt.Sprintf("%s-%d.txt", s.name, w))
				if *update {
					if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s changed; look at it and run with -update if it is right\n%s", path, got)
				}
			})
		}
	}
}
