package tui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// silent is a session of which nothing comes.
type silent struct{ port.Session }

func (silent) Prompt(_ context.Context, p port.Prompt) (port.Receipt, error) {
	return port.Receipt{ID: p.ID, State: port.Begun}, nil
}

func (silent) Queue(context.Context, port.QueueChange) (port.Queue, error)      { return port.Queue{}, nil }
func (silent) Interrupt(context.Context, string) error                          { return nil }
func (silent) Answer(context.Context, port.Answer) error                        { return nil }
func (silent) Complete(context.Context, event.Query) ([]event.Candidate, error) { return nil, nil }
func (silent) Read(context.Context, port.ReadRequest) (port.Content, error) {
	return port.Content{}, nil
}

func (silent) Command(context.Context, port.Command) (event.Output, error) {
	return event.Output{}, nil
}

// newTestModel is a model without a terminal around it.
func newTestModel(t testing.TB, w, h int) *model {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"TERM": "xterm-256color"}
	p := newProgram(context.Background(), silent{},
		Options{In: null, Out: null, Getenv: func(k string) string { return env[k] }})
	m := p.model
	m.size(w, h)
	t.Cleanup(func() {
		p.cancel(errQuit)
		_ = null.Close()
	})
	return m
}

func (m *model) size(w, h int) {
	m.w, m.h = w, h
	m.screen.resize(w, h)
}

func (m *model) apply1(b event.Body) { m.apply(event.Event{Body: b}) }

// says adds a message of the user and a reply.
func (m *model) says(i int, reply string) {
	m.apply1(event.UserMessage{Message: llm.UserText(fmt.Sprintf("question %d", i))})
	m.apply1(event.PartDone{MessageID: fmt.Sprint("m", i), Part: llm.Text{Text: reply}})
}

func (m *model) press(keys ...uv.Key) {
	for _, k := range keys {
		m.key(uv.KeyPressEvent(k))
	}
}

func (m *model) ran(id, command, output string) {
	c := llm.ToolCall{ID: id, Name: "Bash"}
	m.apply1(event.ToolStart{Call: c, Title: command})
	m.apply1(event.ToolEnd{
		Call: c, Title: command, Result: llm.TextResult(c, output, false),
		View: event.Command{Command: command, Output: output},
	})
}

// checkFrame checks the invariants of every frame.
func checkFrame(t *testing.T, m *model, f frame) {
	t.Helper()
	if len(f.lines) != m.h {
		t.Fatalf("%dx%d: %d lines", m.w, m.h, len(f.lines))
	}
	if f.cursor && (f.cx < 0 || f.cx >= m.w || f.cy < 0 || f.cy >= m.h) {
		t.Fatalf("%dx%d: the cursor is at %d,%d", m.w, m.h, f.cx, f.cy)
	}
	for y, l := range f.lines {
		left, right, beside := strings.Cut(l, fmt.Sprintf("\x1b[m\x1b[%dG", m.w-sideWidth+1))
		width := term.Width(line.Strip(left))
		if beside {
			if width > m.w-sideWidth {
				t.Fatalf("%dx%d: line %d reaches into the sidebar: %q", m.w, m.h, y, line.Strip(left))
			}
			width = m.w - sideWidth + term.Width(line.Strip(right))
		}
		if width > m.w {
			t.Fatalf("%dx%d: line %d is %d wide: %q", m.w, m.h, y, width, line.Strip(l))
		}
	}
}

func TestEverySizeHasAWholeFrame(t *testing.T) {
	m := newTestModel(t, 80, 24)
	m.apply1(event.Opened{Session: "s", Title: "a title that is long", Dir: "/home/me/project"})
	m.apply1(event.Status{
		Model: "claude-sonnet-4-5", Mode: "acceptEdits", Dir: "/home/me/project", Branch: "feature/世界-\x1b[31m",
		ContextUsed: 5000, ContextWindow: 200000, CostUSD: 1.5,
		CacheHit: 0.5, Background: 2, Waiting: []event.Waiting{{Text: "later\nmuch"}, {Text: "x"}},
		Todos: []event.TodoItem{{Content: "one", Status: "completed"}, {
			Content: "two two two two two",
			Status:  "in_progress",
		}},
		Changed: []event.ChangedFile{{Path: "internal/very/long/path/of/a/file.go", Added: 10, Removed: 2}},
		Line:    "\x1b[32mgreen\x1b[0m and \x1b]0;title\x07 more",
	})
	m.says(1, "A reply with `code`, 世界, 👨\u200d👩\u200d👧 and a [link](https://example.invalid/x).\n\n| a | "+
		"b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc main() {}\n```\n")
	m.ran("c1", "go test ./...", strings.Repeat("ok\tpackage\t0.1s\n", 30))
	m.apply1(event.TurnStart{})
	m.apply1(event.ToolStart{Call: llm.ToolCall{ID: "c2", Name: "Bash"}, Title: "sleep 10"})
	m.apply1(event.ToolOutput{CallID: "c2", Text: "a line\nanother \x1b[2J line\n"})
	m.apply1(event.Delta{MessageID: "x", Delta: llm.ReasoningDelta{Text: "hmm, this needs thought"}})
	ask := event.Asked{ID: "q", Question: event.Question{
		Title: "Bash", Text: "rm -rf x",
		Permission: &permission.Request{Tool: "Bash"}, Preview: event.Command{Command: "rm -rf x"},
	}}
	states := map[string]func(){
		"plain":   func() {},
		"sidebar": func() { m.side = true },
		"typed":   func() { m.edit.Paste("some text\nof two lines") },
		"find":    func() { m.openFind(); m.text("code") },
		"dialog":  func() { m.find = find{}; m.apply1(ask) },
	}
	for _, name := range []string{"plain", "sidebar", "typed", "find", "dialog"} {
		states[name]()
		for _, w := range []int{1, 2, 5, 20, 21, 40, 79, 80, 120, 200, 500} {
			for _, h := range []int{1, 2, 3, 4, 5, 8, 24, 60, 200} {
				m.size(w, h)
				checkFrame(t, m, m.compose())
			}
		}
	}
}

func TestFiftyThousandMessagesScrollLikeTen(t *testing.T) {
	m := newTestModel(t, 100, 40)
	for i := range 25_000 {
		m.says(i, fmt.Sprintf("Answer %d.\n\n- one\n- two\n", i))
	}
	laid := func() int { return len(m.log.kept) }
	m.compose()
	if n := laid(); n > 40 {
		t.Errorf("%d items were laid out for the first frame", n)
	}
	before := laid()
	m.press(uv.Key{Code: uv.KeyHome, Mod: uv.ModCtrl})
	if f := m.compose(); !strings.Contains(line.Strip(f.lines[0]), "question 0") {
		t.Errorf("the top shows %q", f.lines[0])
	}
	if n := laid() - before; n > 40 {
		t.Errorf("%d items were laid out for the top", n)
	}
	for range 200 {
		m.press(uv.Key{Code: uv.KeyPgDown})
		m.compose()
	}
	if m.log.lines > mostLines+200 {
		t.Errorf("%d lines are kept", m.log.lines)
	}
	m.press(uv.Key{Code: uv.KeyEnd, Mod: uv.ModCtrl})
	if f := m.compose(); !strings.Contains(strings.Join(f.lines, "\n"), "Answer 24999") {
		t.Error("the end is not shown")
	}
}

func TestMemoryStaysSmallWithTenThousandMessages(t *testing.T) {
	m := newTestModel(t, 100, 40)
	output := strings.Repeat("a line of output that is somewhat long\n", 250) // 10 kB
	for i := range 10_000 {
		m.ran(fmt.Sprint("c", i), "go test", strings.Clone(output))
		if i%50 == 0 {
			m.compose()
		}
	}
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	if s.HeapAlloc > 80<<20 {
		t.Errorf("100 MB of output take %d MB of memory", s.HeapAlloc>>20)
	}
	runtime.KeepAlive(m)
}

func TestTheViewStaysWhereItIsWhileMoreComes(t *testing.T) {
	m := newTestModel(t, 80, 20)
	for i := range 50 {
		m.says(i, "Answer.")
	}
	m.compose()
	m.press(uv.Key{Code: uv.KeyPgUp})
	before := strings.Join(m.compose().lines[:10], "\n")
	m.apply1(event.Delta{MessageID: "n", Delta: llm.TextDelta{Text: "new text\n\nmore\n\nand more"}})
	m.says(51, "last")
	f := m.compose()
	if after := strings.Join(f.lines[:10], "\n"); after != before {
		t.Errorf("the view moved:\n%s\nto:\n%s", before, after)
	}
	if !strings.Contains(line.Strip(strings.Join(f.lines, "\n")), "↓ 3 new items") {
		t.Errorf("no hint of what is new:\n%s", strings.Join(f.lines, "\n"))
	}
	m.press(uv.Key{Code: uv.KeyEnd, Mod: uv.ModCtrl})
	if !strings.Contains(strings.Join(m.compose().lines, "\n"), "last") || m.log.unseen != 0 {
		t.Error("the end does not bring the view back")
	}
}

func TestAnotherWidthKeepsThePlace(t *testing.T) {
	m := newTestModel(t, 100, 20)
	for i := range 100 {
		m.says(i, strings.Repeat(fmt.Sprintf("Answer %d with words. ", i), 20))
	}
	m.compose()
	for range 10 {
		m.press(uv.Key{Code: uv.KeyPgUp})
	}
	m.compose()
	at := m.log.anchor
	for _, w := range []int{40, 200, 23, 100} {
		m.size(w, 20)
		m.compose()
		if m.log.anchor != at {
			t.Errorf("at width %d the view is at item %d, was %d", w, m.log.anchor, at)
		}
	}
}

// What hooks show in the place of a text is what there is to see of it, streamed or not.
func TestATextIsSeenAsItIsShown(t *testing.T) {
	m := newTestModel(t, 80, 20)
	m.apply1(event.TurnStart{})
	m.apply1(event.Delta{MessageID: "a", Delta: llm.TextDelta{Text: "secret one\n"}, Shown: new("streamed\n")})
	m.apply1(event.PartDone{MessageID: "a", Part: llm.Text{Text: "secret one\n"}, Shown: new("streamed\n")})
	m.apply1(event.PartDone{MessageID: "b", Part: llm.Text{Text: "secret two"}, Shown: new("came whole")})
	m.apply1(event.PartDone{MessageID: "c", Part: llm.Text{Text: "secret three"}, Shown: new("")})
	text := line.Strip(strings.Join(m.compose().lines, "\n"))
	if strings.Contains(text, "secret") || !strings.Contains(text, "streamed") || !strings.Contains(text, "came whole") {
		t.Errorf("shown:\n%s", text)
	}
}

func TestARetryTakesBackWhatStreamed(t *testing.T) {
	m := newTestModel(t, 80, 20)
	m.apply1(event.TurnStart{})
	m.apply1(event.Delta{MessageID: "a", Delta: llm.TextDelta{Text: "half of a rep"}})
	m.apply1(event.Retry{Attempt: 1, Max: 3, Err: "overloaded"})
	text := line.Strip(strings.Join(m.compose().lines, "\n"))
	if strings.Contains(text, "half of") || !strings.Contains(text, "overloaded") {
		t.Errorf("shown:\n%s", text)
	}
}

func TestARetryCountsDown(t *testing.T) {
	m := newTestModel(t, 80, 20)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m.now = func() time.Time { return now }
	m.apply1(event.TurnStart{})
	m.apply1(event.Retry{Attempt: 1, Max: 3, Delay: 2 * time.Second, Err: "overloaded"})
	for _, want := range []string{"in 2s (1 of 3) · esc interrupts", "in 2s", "in 1s", "in 1s", "now"} {
		text := line.Strip(strings.Join(m.compose().lines, "\n"))
		if !strings.Contains(text, "trying again "+want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
		now = now.Add(500 * time.Millisecond)
	}
}

func TestAModelThatIsSilentIsNamed(t *testing.T) {
	m := newTestModel(t, 80, 20)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m.now = func() time.Time { return now }
	shown := func() string { return line.Strip(strings.Join(m.compose().lines, "\n")) }
	m.apply1(event.TurnStart{})
	m.apply1(event.Request{Attempt: 1})
	m.apply1(event.Delta{MessageID: "a", Delta: llm.TextDelta{Text: "A reply"}})
	now = now.Add(25 * time.Second)
	m.apply1(event.Delta{MessageID: "a", Delta: llm.TextDelta{}}) // no content
	if text := shown(); !strings.Contains(text, "No answer for 25s · esc interrupts") {
		t.Errorf("shown:\n%s", text)
	}
	m.apply1(event.Delta{MessageID: "a", Delta: llm.TextDelta{Text: " that goes on"}})
	if text := shown(); strings.Contains(text, "No answer") {
		t.Errorf("shown:\n%s", text)
	}
}

func TestAnotherWidthInAnInlineReplyLosesAndDoublesNothing(t *testing.T) {
	m := newTestModel(t, 90, 20)
	m.options.Inline = true
	m.apply1(event.TurnStart{})
	var above []string
	show := func() frame {
		f := m.composeInline()
		above = append(above, f.above...)
		return f
	}
	const paragraphs = 60
	widths := []int{90, 60, 100, 45, 80, 120, 50}
	for i := range paragraphs {
		m.apply1(event.Delta{MessageID: "x", Delta: llm.TextDelta{Text: fmt.Sprintf(
			"Mark-%d begins a paragraph that is long enough for several lines at every width that is tried.\n\n", i)}})
		m.size(widths[i%len(widths)], 20)
		show()
	}
	m.apply1(event.PartDone{MessageID: "x", Part: llm.Text{Text: "all of it"}})
	m.apply1(event.TurnEnd{Reason: event.EndCompleted, Steps: 1})
	text := line.Strip(strings.Join(append(above, show().lines...), "\n"))
	for i := range paragraphs {
		if n := strings.Count(text, fmt.Sprintf("Mark-%d begins", i)); n != 1 {
			t.Errorf("paragraph %d is there %d times", i, n)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestStatesAreToldApartWithoutColour(t *testing.T) {
	m := newTestModel(t, 80, 40)
	call := func(id string) llm.ToolCall { return llm.ToolCall{ID: id, Name: "Bash"} }
	m.apply1(event.Delta{MessageID: "a", Delta: llm.ToolDelta{ID: "w", Name: "Waits"}})
	m.apply1(event.ToolStart{Call: call("r"), Title: "runs"})
	m.ran("d", "done", "")
	m.apply1(event.ToolEnd{Call: call("f"), Title: "fails", Result: llm.TextResult(call("f"), "no", true)})
	m.apply1(event.ToolEnd{Call: call("n"), Title: "denied", Denied: true, Result: llm.TextResult(call("n"), "no", true)})
	text := line.Strip(strings.Join(m.compose().lines, "\n"))
	for _, want := range []string{"○ Waits", "⠋ Bash runs", "✓ Bash done", "✗ Bash fails", "⊘ Bash denied"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestCallsOfASubagentAreShownBelowIt(t *testing.T) {
	m := newTestModel(t, 80, 30)
	m.apply1(event.ToolStart{Call: llm.ToolCall{ID: "t", Name: "Task"}, Title: "look around"})
	for i := range 5 {
		c := llm.ToolCall{ID: fmt.Sprint("g", i), Name: "Grep"}
		m.apply(event.Event{Agent: []string{"explore/t"}, Body: event.ToolStart{Call: c, Title: fmt.Sprint("needle ", i)}})
		m.apply(event.Event{Agent: []string{"explore/t"}, Body: event.ToolEnd{Call: c, Result: llm.TextResult(c, "", false)}})
	}
	inner := llm.ToolCall{ID: "t2", Name: "Task"}
	m.apply(event.Event{Agent: []string{"explore/t"}, Body: event.ToolStart{Call: inner, Title: "deeper"}})
	m.apply(event.Event{
		Agent: []string{"explore/t", "explore/t2"},
		Body:  event.ToolStart{Call: llm.ToolCall{ID: "r", Name: "Read"}, Title: "file.go"},
	})
	text := line.Strip(strings.Join(m.compose().lines, "\n"))
	for _, want := range []string{
		"Task look around", "4 earlier calls", "✓ Grep needle 4", "◐ Task deeper",
		"◐ Read file.go",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

// The judges' verdicts are one line of each round, with the reason of the one that refused.
func TestTheVerdictsOfJudgesAreShown(t *testing.T) {
	m := newTestModel(t, 100, 30)
	for _, e := range []event.EvalComplete{
		{Round: 1, Verdicts: []event.Verdict{
			{Judge: "Correctness", Reasoning: "It is half done."},
			{Judge: "Style", Complete: true},
		}},
		{Round: 2, Passed: true, Verdicts: []event.Verdict{
			{Judge: "Correctness", Complete: true},
			{Judge: "Style", Complete: true},
		}},
	} {
		m.apply(event.Event{Body: e})
	}
	text := strings.Join(strings.Fields(line.Strip(strings.Join(m.compose().lines, "\n"))), " ")
	for _, want := range []string{
		"Eval round 1: not accepted, the work goes on", "Correctness: It is half done.",
		"Eval round 2: accepted", "Style: complete",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestTheSearchFindsWhatIsRead(t *testing.T) {
	m := newTestModel(t, 60, 20)
	for i := range 100 {
		m.says(i, fmt.Sprintf("Answer **%d** is `here`.", i))
	}
	m.compose()
	m.openFind()
	m.text("answer 42 is here")
	text := strings.Join(m.compose().lines, "\n")
	if !strings.Contains(line.Strip(text), "Answer 42 is here") || !strings.Contains(text, "\x1b[7m") {
		t.Errorf("shown:\n%s", text)
	}
	if !strings.Contains(line.Strip(text), "1 of 1 · enter above") {
		t.Errorf("the search does not say how many there are:\n%s", text)
	}
	m.press(uv.Key{Code: uv.KeyEscape})
	m.openFind()
	m.text("Answer 1")
	m.press(uv.Key{Code: uv.KeyEnter})
	// 1, 10 to 19, from the end
	if text := line.Strip(strings.Join(m.compose().lines, "\n")); !strings.Contains(text, "10 of 11") {
		t.Errorf("the search does not say where it is:\n%s", text)
	}
	m.text("nowhere")
	if !m.find.none {
		t.Error("what is not there was found")
	}
	m.press(uv.Key{Code: uv.KeyEscape})
	if m.find.open || m.find.text != "" {
		t.Error("escape does not leave the search")
	}
}

func TestFoldingCaseCannotMoveMarks(t *testing.T) {
	for _, tt := range []struct {
		s, part string
		at, n   int
	}{
		{"İstanbul x", "istanbul", 0, 9},
		{"GRÜSSE", "grüsse", 0, 7},
		{"aAa", "A", 1, 1},
		{"\u212a x", "k", 0, 3},
		{"abc", "x", -1, 0},
		{"", "x", -1, 0},
		{"\xff\xfex", "x", 2, 1},
	} {
		if at, n := fold(tt.s, tt.part); at != tt.at || n != tt.n && at >= 0 {
			t.Errorf("%q in %q: %d, %d; want %d, %d", tt.part, tt.s, at, n, tt.at, tt.n)
		}
	}
}

func TestTheUsersStatusLineKeepsItsColoursAndNothingElse(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                                  "plain\x1b[m",
		"\x1b[1;32mok\x1b[0m":                    "\x1b[1;32mok\x1b[0m\x1b[m",
		"\x1b[38:2::1:2:3mx":                     "\x1b[38:2::1:2:3mx\x1b[m",
		"\x1b[2Jx":                               "␛[2Jx\x1b[m",
		"\x1b]0;title\x07":                       "␛]0;title␇\x1b[m",
		"\x1b[31":                                "␛[31\x1b[m",
		"a\x1b[?25lb":                            "a␛[?25lb\x1b[m",
		"\x1b[" + strings.Repeat("1;", 99) + "m": "␛[" + strings.Repeat("1;", 99) + "m\x1b[m",
	} {
		if got := coloured(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestTheStatusLineDropsWhatMattersLeast(t *testing.T) {
	m := newTestModel(t, 80, 20)
	m.state = event.Status{
		Model: "claude-sonnet-4-5", Mode: "plan", Sandbox: "sandboxed", Dir: "/x/project",
		Branch: "main", ContextUsed: 100, ContextWindow: 1000, CostUSD: 3, CacheHit: 1, Background: 1,
	}
	for w, want := range map[int]string{
		200: "claude-sonnet-4-5 · plan · sandboxed · project (main) · context 10% · $3.00 · cache 100% · 1 task",
		50:  "plan · sandboxed · context 10% · 1 task", 15: "plan · 1 task", 3: "pl…",
	} {
		if got := line.Strip(m.statusLine(w, false)); got != want {
			t.Errorf("width %d: %q, want %q", w, got, want)
		}
	}
}

func TestNotificationsFitTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		kind string
		env  map[string]string
		want string
	}{
		{"", map[string]string{"TERM_PROGRAM": "iTerm.app"}, "\x1b]9;a, b\x1b\\"},
		{"auto", map[string]string{"TERM": "xterm-kitty"}, "\x1b]99;;lathe: a, b\x1b\\"},
		{"", map[string]string{"TERM": "foot"}, "\x1b]777;notify;lathe;a, b\x1b\\"},
		{"", map[string]string{"TERM": "xterm-kitty", "TMUX": "x"}, "\a"},
		{"", map[string]string{"TERM": "xterm"}, "\a"},
		{"osc9", nil, "\x1b]9;a, b\x1b\\"},
		{"off", nil, ""},
	} {
		if got := notification(tt.kind, func(k string) string { return tt.env[k] }, "a; b"); got != tt.want {
			t.Errorf("%q %v: %q, want %q", tt.kind, tt.env, got, tt.want)
		}
	}
}

func TestACrashOfTheLoopIsReported(t *testing.T) {
	m := newTestModel(t, 80, 20)
	m.screen = nil
	m.loop()
	m.cancel(errQuit)
	_, err := m.program.result()
	var crash *CrashError
	if !errors.As(err, &crash) || !strings.Contains(err.Error(), "internal/ui/tui/") {
		t.Errorf("the loop's crash became %v", err)
	}
}

func BenchmarkPageUp(b *testing.B) {
	for _, n := range []int{10, 25_000} {
		b.Run(fmt.Sprint(2*n, " messages"), func(b *testing.B) {
			m := newTestModel(b, 120, 40)
			for i := range n {
				m.says(i, fmt.Sprintf("Answer %d.\n\n- one\n- two\n\n```go\nfunc f() int { return %d }\n```\n", i, i))
			}
			m.screen.paint(m.compose())
			for b.Loop() {
				m.press(uv.Key{Code: uv.KeyPgUp})
				if m.log.atTop() {
					m.log.end()
				}
				m.screen.paint(m.compose())
			}
		})
	}
}

// BenchmarkStreaming shows that the work of a reply grows with its length, not with its square.
func BenchmarkStreaming(b *testing.B) {
	for _, kb := range []int{50, 200, 800} {
		b.Run(fmt.Sprint(kb, " kB"), func(b *testing.B) {
			for b.Loop() {
				m := newTestModel(b, 120, 40)
				block := "Some *text* with `code` that goes on for a while, so that lines have to be wrapped at the edge.\n\n- " +
					"one\n- two\n\n```go\nfunc main() { println(42) }\n```\n\n"
				for n := 0; n < kb*1000; n += 400 {
					i := n % len(block)
					m.apply1(event.Delta{MessageID: "m", Delta: llm.TextDelta{Text: (block + block + block + block)[i : i+400]}})
					m.screen.paint(m.compose())
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(kb), "µs/kB")
		})
	}
}

func TestAMessageThatStartsNoTurnComesBack(t *testing.T) {
	m := newTestModel(t, 80, 20)
	m.turn.sent = "p1"
	sent := port.Prompt{ID: "p1", Message: llm.UserText("do it")}
	m.prompted(promptMsg{prompt: sent, err: errors.New("the disk is full")})
	if got := m.edit.Text(); got != "do it" || m.busy() {
		t.Errorf("the editor holds %q, busy: %v", got, m.busy())
	}
}

func TestAMessageWaitsUntilItIsDelivered(t *testing.T) {
	m := newTestModel(t, 80, 20)
	m.apply1(event.State{Doing: event.Working, Turn: "p1"})
	m.apply1(event.Status{Waiting: []event.Waiting{{ID: "p2", Text: "late"}, {ID: "p3", Text: "later", After: true}}})
	if got := strings.Join(m.queueLines(), "\n"); !m.busy() || !strings.Contains(got, "next step") ||
		!strings.Contains(got, "after the turn") {
		t.Errorf("busy: %v; %s", m.busy(), got)
	}
	delivered := llm.UserText("late")
	delivered.ID = "p2"
	m.apply1(event.UserMessage{Message: delivered, Steered: true})
	if len(m.state.Waiting) != 1 || m.state.Waiting[0].ID != "p3" {
		t.Errorf("%v", m.state.Waiting)
	}
	m.apply1(event.State{Doing: event.Idle})
	if m.busy() {
		t.Error("busy at rest")
	}
}

func TestAListTakesItsOwnKeysBeforeTheRest(t *testing.T) {
	m := newTestModel(t, 80, 24)
	list := dialog.NewPicker(event.Pick{
		Title: "Sessions", Command: "resume", Items: []event.PickItem{{ID: "a", Label: "one"}},
		Actions: []event.PickAction{{
			Key: "ctrl+d", Label: "delete", Command: "delete-session", Undo: "restore-session",
			Refresh: "sessions",
		}},
	}, m.look.theme)
	m.dialogs.Open(list)
	m.press(uv.Key{Code: 'd', Mod: uv.ModCtrl})
	if !list.Takes("ctrl+z") {
		t.Fatal("what was deleted cannot be taken back")
	}
	m.press(uv.Key{Code: 'z', Mod: uv.ModCtrl})
	if list.Takes("ctrl+z") {
		t.Error("ctrl+z did something else")
	}
}

func TestChangedKeysAndThemesHoldFromTheNextKeyOn(t *testing.T) {
	m := newTestModel(t, 80, 24)
	name, settings, file, commands := "", json.RawMessage(nil), []byte(nil), map[string]string(nil)
	m.options.Follow = func() Look {
		return Look{
			Theme: name, File: file, Keys: []json.RawMessage{json.RawMessage(`{"ctrl+k": "chat:stash"}`), settings},
			Commands: commands,
		}
	}
	m.press(uv.Key{Code: 'x', Text: "x"})
	before := m.keymap
	m.press(uv.Key{Code: 'x', Text: "x"})
	if m.keymap != before {
		t.Error("the keys were read again, and nothing had changed")
	}
	name, settings = "light", json.RawMessage(`{"ctrl+x ctrl+k": "command:status"}`)
	m.press(uv.Key{Code: 'x', Text: "x"})
	if got := m.keymap.Key(keys.Action("command:status")); got != "ctrl+x ctrl+k" || m.look.theme.Name != "light" {
		t.Errorf("the key is %q, the theme %s", got, m.look.theme.Name)
	}
	settings = nil
	m.press(uv.Key{Code: 'x', Text: "x"})
	if got := m.keymap.Key(keys.Action("command:status")); got != "ctrl+x s" {
		t.Errorf("the key is %q, not that of the beginning", got)
	}
	name, file, commands = "mine", []byte(`{"base": "dark", "overrides": {"claude": "#123456"}}`),
		map[string]string{"alt+q": "demo:greet", "enter": "demo:greet"}
	m.press(uv.Key{Code: 'x', Text: "x"})
	if got := m.keymap.Key(keys.Action("command:demo:greet")); got != "alt+q" || m.keymap.Key(keys.Submit) != "enter" ||
		m.look.theme.Name != "mine" {
		t.Errorf("the plugin's key is %q, enter is %q, the theme %s", got, m.keymap.Key(keys.Submit), m.look.theme.Name)
	}
	was := m.look.theme
	file = []byte(`{"base": "dark", "overrides": {"claude": "#654321"}}`)
	m.press(uv.Key{Code: 'x', Text: "x"})
	if m.look.theme == was {
		t.Error("the changed file of the theme has no effect")
	}
}

// A file that an editor has half written is reported once; what held before holds on until it is whole.
func TestAHalfWrittenThemeOrFileOfKeysIsReportedOnce(t *testing.T) {
	m := newTestModel(t, 80, 24)
	file, bindings := []byte(`{"base": "dark", "overrides": {"claude": "#123456"}}`),
		json.RawMessage(`{"alt+x": "chat:stash"}`)
	m.options.Follow = func() Look { return Look{Theme: "mine", File: file, Keys: []json.RawMessage{bindings, nil}} }
	press := func() { m.press(uv.Key{Code: 'x', Text: "x"}) }
	press()
	was := m.look.theme
	file, bindings = file[:20], bindings[:8]
	press()
	press()
	text := line.Strip(strings.Join(m.compose().lines, "\n"))
	if m.look.theme != was || strings.Count(text, "the theme mine is no JSON") != 1 {
		t.Errorf("the theme changed: %v; the screen:\n%s", m.look.theme != was, text)
	}
	if strings.Count(text, "keybindings: ") != 1 || m.keymap.Key(keys.Submit) != "enter" {
		t.Errorf("enter is %q; the screen:\n%s", m.keymap.Key(keys.Submit), text)
	}
	file, bindings = []byte(`{"base": "light"}`), json.RawMessage(`{"alt+y": "chat:stash"}`)
	press()
	if m.look.theme == was || m.keymap.Key("chat:stash") != "alt+y" {
		t.Errorf("the whole files have no effect: the key is %q", m.keymap.Key("chat:stash"))
	}
}

func TestAHintIsGoneWithTheNextKey(t *testing.T) {
	m := newTestModel(t, 80, 24)
	m.press(uv.Key{Code: uv.KeyEscape})
	if m.hint != "" {
		t.Errorf("an empty conversation offers to go back: %q", m.hint)
	}
	m.says(1, "an answer")
	m.press(uv.Key{Code: uv.KeyEscape})
	if m.hint != "esc again goes back to an earlier message" {
		t.Errorf("the hint is %q", m.hint)
	}
	m.press(uv.Key{Code: 'x', Text: "x"})
	if m.hint != "" {
		t.Errorf("the hint stays: %q", m.hint)
	}
}

func TestTheTimeOfATurnCountsInWholeSeconds(t *testing.T) {
	m := newTestModel(t, 80, 24)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m.now = func() time.Time { return now }
	m.apply1(event.TurnStart{})
	for after, want := range map[time.Duration]string{
		300 * time.Millisecond:  "Working · esc",
		2500 * time.Millisecond: "Working 2s · esc", 61 * time.Second: "Working 1m 1s · esc",
	} {
		m.turn.began = now.Add(-after)
		if text := line.Strip(strings.Join(m.compose().lines, "\n")); !strings.Contains(text, want) {
			t.Errorf("after %s: %q is not in:\n%s", after, want, text)
		}
	}
}

func TestTheGreetingKeepsTheKeyThatContinues(t *testing.T) {
	m := newTestModel(t, 80, 24)
	m.sessions = []event.Candidate{{Text: "0199-other", Label: strings.Repeat("很长的中文标题 and more ", 8), Help: "just now"}}
	text := line.Strip(strings.Join(m.compose().lines, "\n"))
	if !strings.Contains(text, "Last here: 很长") || !strings.Contains(text, "…, just now · ctrl+x l goes on with it\n") {
		t.Errorf("shown:\n%s", text)
	}
}

func TestAnIdleScreenAnnouncesTheEndOfTheCache(t *testing.T) {
	m := newTestModel(t, 80, 20)
	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	m.now = func() time.Time { return now }
	m.says(1, "an answer")
	m.apply1(event.Status{Cache: event.CacheCost{
		Expires: now.Add(5 * time.Minute), Lifetime: 5 * time.Minute,
		WarmUSD: 0.06, ColdUSD: 0.75,
	}})
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{0, ""},
		{4 * time.Minute, "cache expires within 1 min: then the next message costs about $0.75, not $0.06\n───"},
		{time.Minute, "the prompt cache has expired"},
	} {
		now = now.Add(c.after)
		text := line.Strip(strings.Join(m.compose().lines, "\n"))
		if c.want == "" && strings.Contains(text, "cache") || !strings.Contains(text, c.want) {
			t.Errorf("%q is not in:\n%s", c.want, text)
		}
	}
	m.apply1(event.TurnStart{})
	if text := line.Strip(strings.Join(m.compose().lines, "\n")); strings.Contains(text, "cache has") {
		t.Errorf("it stays while a turn runs:\n%s", text)
	}
}

func TestFilesThatDoNotFitBelowThePromptAreCounted(t *testing.T) {
	m := newTestModel(t, 40, 20)
	for range 3 {
		m.attached.files = append(m.attached.files, event.Candidate{Text: "a.go", Help: "~80 tokens"})
	}
	if got := strings.TrimSpace(line.Strip(m.chips())); got != "[a.go ~80 tokens] +2 files" {
		t.Errorf("%q", got)
	}
}

func TestTheSidebarShowsPathsAsPeopleWriteThemCutInTheMiddle(t *testing.T) {
	m := newTestModel(t, 120, 30)
	m.side = true
	m.apply1(event.Opened{Session: "s", Dir: "/home/me/project"})
	m.apply1(event.Status{Dir: "/home/me/project", Changed: []event.ChangedFile{
		{Path: "/home/me/project/pkg/a.go", Added: 1},
		{Path: "/home/me/project/internal/a/long/way/down/in/the/tree/of/folders/view.go", Added: 2},
	}})
	text := line.Strip(strings.Join(m.compose().lines, "\n"))
	for _, want := range []string{"│ pkg/a.go +1 -0", "│ internal/", "…", "/view.go +2 -0"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "/home/me/project/") {
		t.Errorf("a path is absolute:\n%s", text)
	}
}

// The turn of a subagent is none of the conversation: its end leaves the calls that run, and its prompt is not the
// user's.
func TestTheTurnOfASubagentIsNotTheConversations(t *testing.T) {
	m := newTestModel(t, 80, 30)
	m.apply1(event.TurnStart{})
	m.apply1(event.ToolStart{Call: llm.ToolCall{ID: "t", Name: "Task"}, Title: "Explore: look"})
	items := len(m.log.items)
	for _, b := range []event.Body{
		event.TurnStart{},
		event.UserMessage{Message: llm.UserText("look into it")},
		event.TurnEnd{Reason: event.EndCompleted},
	} {
		m.apply(event.Event{Agent: []string{"Explore/t"}, Body: b})
	}
	if !m.turn.active || m.parts["t"] == nil || m.parts["t"].tool.state != theme.Running || len(m.log.items) != items {
		t.Errorf("active %v, %d items, %+v", m.turn.active, len(m.log.items), m.parts["t"])
	}
}
