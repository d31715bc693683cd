package session

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/llm"
)

// logMaker writes large logs without holding them.
type logMaker struct {
	w            *bufio.Writer
	n            int
	size, live   int64
	text, output string
}

func (l *logMaker) add(t testing.TB, b Body) {
	t.Helper()
	parent := ""
	if l.n > 0 {
		parent = strconv.FormatUint(uint64(l.n-1), 36)
	}
	e := Entry{ID: strconv.FormatUint(uint64(l.n), 36), Parent: parent, Time: time.Now(), Body: b}
	line, err := appendEntry(nil, e)
	must(t, err)
	line = seal(line)
	_, err = l.w.Write(line)
	must(t, err)
	l.n++
	l.size += int64(len(line))
}

// step is one model call with one tool call, in the proportions of real sessions: most of a log is the
// results of tools, and the view of them for people.
func (l *logMaker) step(t testing.TB) {
	t.Helper()
	id := fmt.Sprintf("toolu_%d", l.n)
	c := llm.ToolCall{ID: id, Name: "Read", Input: json.RawMessage(`{"file_path":"/home/me/project/internal/file.go"}`)}
	l.add(t, Part{0, llm.Reasoning{Text: l.text, Signature: strings.Repeat("c2ln", 100)}})
	l.add(t, Part{1, llm.Text{Text: l.text}})
	l.add(t, Part{2, c})
	l.add(t, CallStart{CallID: id})
	l.add(t, Reply{MessageID: "msg_" + id, Model: "m", Usage: &llm.Usage{Input: 1}, Stop: llm.StopToolUse, Parts: 3})
	r := llm.TextResult(c, l.output, false)
	view, err := json.Marshal(map[string]any{"shape": "text", "text": l.output[:len(l.output)/3]})
	must(t, err)
	l.add(t, CallEnd{Result: r, Title: "file.go", View: view, Duration: time.Millisecond})
	l.live += int64(2*len(l.text) + 400 + len(c.Input) + len(l.output))
}

// makeLog writes a session of about size bytes and returns its id and the bytes of its live context.
func makeLog(t testing.TB, home, dir string, size int64) (string, int64) {
	t.Helper()
	id := uuid.Must(uuid.NewV7()).String()
	folder := filepath.Join(home, "projects", slug(realDir(dir)), id)
	must(t, os.MkdirAll(folder, 0o700))
	f, err := os.Create(filepath.Join(folder, logName))
	must(t, err)
	l := &logMaker{
		w:      bufio.NewWriter(f),
		text:   strings.Repeat("I will look at the \"file\" first, then change it.\n", 10),
		output: strings.Repeat("   42\tfunc (s *Session) Close() error {\n   43\t\treturn s.f.Close() // <-- & done\n", 60),
	}
	h := header{Session: id, Dir: realDir(dir), Created: time.Now()}
	line, err := h.line()
	must(t, err)
	_, err = l.w.Write(line)
	must(t, err)
	l.add(t, User{Message: llm.UserText("look at all files")})
	for l.size < size {
		l.step(t)
	}
	l.add(t, Reply{})
	l.add(t, TurnEnd{Reason: "completed", Total: Total{Turns: 1, Title: "a title"}})
	must(t, l.w.Flush())
	must(t, f.Close())
	return id, l.live
}

func BenchmarkOpen100MB(b *testing.B) {
	home, dir := b.TempDir(), b.TempDir()
	id, live := makeLog(b, home, dir, 100<<20)
	st := NewStore(home)
	messages := 0
	for b.Loop() {
		runtime.GC() // of the one before
		messages = openOnce(b, st, id)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.SetBytes(100 << 20)
	b.ReportMetric(float64(live)/1e6, "live-MB")
	b.ReportMetric(float64(m.HeapSys)/1e6, "heap-peak-MB")
	b.ReportMetric(float64(messages), "messages")
}

func openOnce(b *testing.B, st *Store, id string) int {
	b.Helper()
	s, err := st.Open(ctx, id)
	must(b, err)
	defer s.Close()
	return len(s.Messages())
}

func BenchmarkAppend(b *testing.B) {
	for _, c := range []struct {
		name string
		size int
	}{{"200B", 200}, {"50KB", 50_000}} {
		b.Run(c.name, func(b *testing.B) {
			s := create(b, newStore(b))
			text := strings.Repeat("a line of text\n", c.size/15)
			b.SetBytes(int64(c.size))
			for b.Loop() {
				_, err := s.Add(ctx, Note{Text: text})
				must(b, err)
			}
		})
	}
	b.Run("fsync", func(b *testing.B) {
		s := create(b, newStore(b))
		for b.Loop() {
			_, err := s.Add(ctx, TurnEnd{Reason: "completed"})
			must(b, err)
		}
	})
}

// BenchmarkStep measures the cost of one step of the loop in a session of n steps.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			s := create(b, newStore(b))
			user(b, s, "go")
			i := 0
			step := func() {
				c := toolCall(strconv.Itoa(i))
				i++
				must(b, s.AddPart(ctx, 0, llm.Text{Text: "next"}))
				must(b, s.AddPart(ctx, 1, c))
				must(b, s.StartCall(ctx, CallStart{CallID: c.ID}, false))
				must(b, s.AddReply(ctx, reply(llm.Text{Text: "next"}, c)))
				must(b, s.EndCall(ctx, result(c.ID, "output of the tool")))
				_ = s.Messages()
			}
			for range n {
				step()
			}
			for b.Loop() {
				step()
			}
		})
	}
}

func BenchmarkList10000(b *testing.B) {
	home := b.TempDir()
	for i := range 10_000 {
		makeLog(b, home, fmt.Sprintf("/home/me/project%d", i%50), 40_000)
	}
	st := NewStore(home)
	n := 0
	for b.Loop() {
		n = 0
		for info, err := range st.List("") {
			must(b, err)
			if info.FirstPrompt == "" || info.Title != "a title" {
				b.Fatalf("%+v", info)
			}
			n++
		}
	}
	b.ReportMetric(float64(n), "sessions")
}
