package view_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
	"github.com/lathe-dev/lathe/internal/ui/tui/view"
)

var update = flag.Bool("update", false, "write the golden files")

var dark = theme.Must("dark", true, colorprofile.TrueColor)

const patch = `--- a/internal/agent/loop.go
+++ b/internal/agent/loop.go
@@ -10,7 +10,8 @@ func (a *Agent) Run(ctx context.Context) error {
 	for step := 1; ; step++ {
-		if step > a.cfg.MaxSteps {
-			return errTooMany // the caller says how many that were
+		if a.cfg.MaxSteps > 0 && step > a.cfg.MaxSteps {
+			// The caller says how many that were, in words that fit the place where they are shown.
+			return errTooManySteps
 		}
 		calls, err := a.step(ctx)
 		if err != nil {
@@ -120,4 +121,3 @@
 	/* a comment
 	   that goes on */
-	a.log("done")
 	return nil
\ No newline at end of file
`

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i+1)
	}
	return b.String()
}

// example is a view as it is drawn.
type example struct {
	name string
	view event.View
	o    view.Options
}

func examples() []example {
	run := theme.Running
	return []example{
		{
			"diff",
			event.Diff{Path: "internal/agent/loop.go", Unified: patch, Added: 3, Removed: 3},
			view.Options{State: theme.Done, Tool: "Edit", Title: "internal/agent/loop.go"},
		},
		{"diff-long", event.Diff{
			Path: "notes.txt", Unified: "@@ -0,0 +1,60 @@\n" + numbered(60, "+line %d"), Added: 60,
			Created: true,
		}, view.Options{State: theme.Done, Tool: "Write", Title: "notes.txt"}},
		{
			"command",
			event.Command{
				Command: "go test ./...",
				Output: "ok  \tlathe/internal/llm\t0.012s\n\x1b[31mFAIL\x1b[0m\tlathe/internal/agent\t0.3s\n" +
					numbered(20, "--- FAIL: Test%d") + "FAIL\n", ExitCode: 1, Duration: 12300 * time.Millisecond,
			},
			view.Options{State: theme.Failed, Tool: "Bash", Title: "go test ./...", Duration: 12300 * time.Millisecond},
		},
		{
			"command-lines",
			event.Command{Command: "set -e\nmake build\n./bin/lathe --version", Output: "lathe 0.3.0\n"},
			view.Options{State: theme.Done, Tool: "Bash", Title: "set -e …"},
		},
		{"command-running", event.Command{Command: "make"}, view.Options{
			State: run, Tool: "Bash", Title: "make",
			Live: numbered(40, "building %d") + "\r 10%\r 50%\r 90%", Duration: 3 * time.Second, Spinner: 4,
		}},
		{"command-timeout", event.Command{
			Command: "sleep 600", TimedOut: true, Duration: 2 * time.Minute,
			OutputRef: "/tmp/x/blobs/7f",
		}, view.Options{
			State: theme.Failed, Tool: "Bash", Title: "sleep 600",
			Duration: 2 * time.Minute,
		}},
		{
			"command-cancelled",
			event.Command{Command: "sleep 600", Cancelled: true, Output: "waiting\n"},
			view.Options{State: theme.Failed, Tool: "Bash", Title: "sleep 600"},
		},
		{"command-background", event.Command{Command: "npm run dev", Background: "bash_1"}, view.Options{
			State: theme.Done,
			Tool:  "Bash", Title: "npm run dev",
		}},
		{"listing", event.Listing{Title: "Decide\\(", Items: strings.Split("internal/permission/policy.go:120:func (p "+
			"*Policy) Decide(r Request) Decision {\ninternal/permission/policy_test.go:14:\tgot := p.Decide(r)\na\nb\nc\nd\ne\nf", "\n"), Total: 31, Truncated: true}, view.Options{State: theme.Done, Tool: "Grep", Title: "Decide\\("}},
		{"listing-empty", event.Listing{Title: "*.rs"}, view.Options{State: theme.Done, Tool: "Glob", Title: "*.rs"}},
		{"text", event.TextView{Text: "package main\n\n// main does nothing.\nfunc main() {\n\tprintln(\"x\")\n}\n" +
			numbered(20, "// %d"), Path: "/w/main.go", Language: "go"}, view.Options{
			State: theme.Done, Tool: "Read",
			Title: "main.go",
		}},
		{"text-summary", event.TextView{Text: "one\ntwo\n", Summary: "2 lines"}, view.Options{
			State: theme.Done,
			Tool:  "Read", Title: "notes.txt",
		}},
		{
			"todo",
			event.Todo{Items: []event.TodoItem{
				{Content: "Read the code", Status: "completed"},
				{Content: "Write the fix", ActiveForm: "Writing the fix", Status: "in_progress"},
				{Content: "Run the tests, all of them, also those that need a network and take long", Status: "pending"},
			}},
			view.Options{State: theme.Done, Tool: "TodoWrite", Title: "1 of 3"},
		},
		{"command-alone", event.Command{Command: "false", ExitCode: 1}, view.Options{State: theme.Done}},
		{
			"image-alone",
			event.Image{MIME: "image/png", Name: "diagram.png", Data: make([]byte, 123)},
			view.Options{State: theme.Done},
		},
		{
			"image",
			event.Image{MIME: "image/png", Name: "diagram.png", Data: make([]byte, 12345)},
			view.Options{State: theme.Done, Tool: "Read", Title: "diagram.png"},
		},
		{"subagent", event.Subagent{
			Agent: "explore", Title: "Where are rules decided?", Steps: 7,
			Result: "# Found\n\nRules are decided in `internal/permission/policy.go:120`:\n\n- guards first\n- then deny " +
				"lists\n- then the rest\n",
		}, view.Options{
			State: theme.Done, Tool: "Task", Title: "Where are rules decided?",
			Duration: 95 * time.Second,
		}},
		{
			"unknown",
			event.UnknownView{Shape: "chart", JSON: json.RawMessage(`{"shape":"chart","bars":[1,2]}`)},
			view.Options{State: theme.Done, Tool: "mcp__plot", Title: "bars"},
		},
		{"live", nil, view.Options{State: run, Tool: "mcp__x", Title: "work", Live: "step 1\nstep 2\n"}},
		{"summary", event.TextView{Path: "a.txt", Summary: "Unchanged since it was read"}, view.Options{
			State: theme.Done,
			Tool:  "Read", Title: "a.txt",
		}},
		{"waiting", event.Command{Command: "git push"}, view.Options{State: theme.Waiting, Tool: "Bash", Title: "git push"}},
		{
			"denied",
			event.Diff{Path: "a.txt", Unified: "@@ -1 +1 @@\n-a\n+b\n", Added: 1, Removed: 1},
			view.Options{State: theme.Denied, Tool: "Edit", Title: "a.txt"},
		},
	}
}

func TestAnAgentsColorIsThatOfItsBar(t *testing.T) {
	seen := map[string]string{}
	for _, color := range []string{"", "red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan", "beige"} {
		lines := view.Render(event.Subagent{Agent: "reviewer", Color: color, Result: "Found."},
			view.Options{Width: 40, Theme: dark, State: theme.Done, Tool: "Task"})
		bar, _, ok := strings.Cut(lines[0], "Found.")
		if !ok {
			t.Fatalf("%q", lines)
		}
		if other, there := seen[bar]; there && color != "beige" {
			t.Errorf("%s and %q look alike", color, other)
		}
		seen[bar] = color
	}
	if len(seen) != 9 {
		t.Errorf("a color that no agent has changes the bar: %q", seen)
	}
}

func TestEveryViewLooksAsItShould(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		for name, th := range map[string]*theme.Theme{"dark": dark, "no-colour": nil} {
			var b strings.Builder
			for _, e := range examples() {
				for _, expanded := range []bool{false, true} {
					o := e.o
					o.Width, o.Theme, o.Expanded, o.Key = width, th, expanded, "ctrl+o"
					title := e.name
					if expanded {
						title += ", expanded"
					}
					fmt.Fprintf(&b, "== %s\n%s\n", title, view.Header(e.view, o))
					for _, l := range view.Render(e.view, o) {
						b.WriteString(l + "\n")
					}
				}
			}
			golden(t, filepath.Join("testdata", fmt.Sprintf("views-%s-%d.golden", name, width)), b.String())
		}
	}
}

// golden compares with a file, in which ESC is written ␛.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "␛")
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (run with -update to accept):\n%s", name, d)
	}
}

func TestStatesAreToldApartWithoutColour(t *testing.T) {
	seen := map[string]theme.State{}
	for s := theme.Waiting; s <= theme.Denied; s++ {
		h := view.Header(event.Listing{}, view.Options{Width: 60, Tool: "Grep", Title: "x", State: s})
		if other, ok := seen[h]; ok {
			t.Errorf("%v and %v look alike: %q", s, other, h)
		}
		seen[h] = s
	}
}

func TestChangedWordsAreMarked(t *testing.T) {
	for _, c := range []struct{ name, old, now, want string }{
		{"a word", "a := one(x)", "a := two(x)", "a := [one](x)|a := [two](x)"},
		{
			"words in a row", "the quick brown fox jumps", "the slow green fox jumps",
			"the [quick brown] fox jumps|the [slow green] fox jumps",
		},
		{
			"added at the end", "return err of this", "return err of this, really",
			"return err of this|return err of this[, really]",
		},
		{"little in common", "something entirely different", "x := 1", "something entirely different|x := 1"},
		{"only blanks", "  a b c", "    a b c", "[  ]a b c|[    ]a b c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			mark := theme.Style{Prefix: "\x1b[7m", Suffix: "\x1b[m"}
			got := view.Render(event.Diff{Unified: "@@ -1 +1 @@\n-" + c.old + "\n+" + c.now + "\n"}, view.Options{
				Width: 80, Theme: &theme.Theme{Diff: theme.Diff{AddedWord: mark, RemovedWord: mark}}, Expanded: true,
			})
			var shown []string
			for _, l := range got {
				shown = append(shown, strings.NewReplacer(mark.Prefix, "‹", mark.Suffix, "›").Replace(l)[4:])
			}
			want := strings.NewReplacer("[", "‹", "]", "›").Replace(c.want)
			if d := cmp.Diff(want, strings.Join(shown, "|")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOutputIsShownAsATerminalWouldShowIt(t *testing.T) {
	for _, c := range []struct{ name, output, want string }{
		{"a progress bar", "get\r 10%\r100%\ndone\n", "100%\ndone"},
		{"carriage return and newline", "a\r\nb\r\n", "a\nb"},
		{"backspaces", "abc\b\bX\n", "aX"},
		{"bold by overstriking", "N\bNA\bAME\n", "NAME"},
		{"cursor movement", "\x1b[2J\x1b[1;1Hx\x1b[Ky\n", "xy"},
		{"a title", "\x1b]0;owned\x07text\x1b]0;again\x1b\\!\n", "text!"},
		{"a clipboard write", "\x1b]52;c;cm0gLXJm\x07x", "x"},
		{"an unfinished sequence", "x\x1b[3", "x"},
		{"an unfinished string", "x\x1b]0;title", "x"},
		{"a character set", "\x1b(Bx", "x"},
		{"a bell", "ding\a", "ding"},
		{"C1 controls", "a\u009b31mb", "a‹U+009B›31mb"},
		{"bidirectional controls", "a\u202eb", "a‹U+202E›b"},
		{"tabs", "a\tb\n", "a       b"},
		{"tabs behind colours", "\x1b[1mab\x1b[0m\tc", "ab      c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := view.Render(event.Command{Output: c.output}, view.Options{Width: 60, Theme: dark, State: theme.Done})
			if d := cmp.Diff(c.want, line.Strip(strings.Join(got, "\n"))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestColoursOfProgramsAreKeptWhereTheThemeHasAny(t *testing.T) {
	const out = "\x1b[1;31mred\x1b[0m \x1b[38;5;99mx\x1b[39m \x1b[38;2;1;2;3my\x1b[m \x1b[5;8mz\x1b[m"
	render := func(p colorprofile.Profile) string {
		return view.Render(event.Command{Output: out}, view.Options{
			Width: 60, Theme: theme.Must("dark", true, p),
			State: theme.Done,
		})[0]
	}
	for p, want := range map[colorprofile.Profile]string{
		colorprofile.TrueColor: "\x1b[1;31mred\x1b[m \x1b[38;5;99mx\x1b[m \x1b[38;2;1;2;3my\x1b[m z",
		colorprofile.ANSI256:   "\x1b[1;31mred\x1b[m \x1b[38;5;99mx\x1b[m y z",
		colorprofile.ANSI:      "\x1b[1;31mred\x1b[m x y z",
		colorprofile.ASCII:     "red x y z",
		colorprofile.NoTTY:     "red x y z",
	} {
		if got := render(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}

func TestColoursGoOnOverLines(t *testing.T) {
	got := view.Render(event.Command{Output: "\x1b[32mone\ntwo\x1b[m\nthree"}, view.Options{
		Width: 60, Theme: dark,
		State: theme.Done,
	})
	if d := cmp.Diff([]string{"\x1b[32mone\x1b[m", "\x1b[32mtwo\x1b[m", "three"}, got); d != "" {
		t.Error(d)
	}
}

func TestACommandIsShownInFullBeforeItRuns(t *testing.T) {
	cmd := "echo " + strings.Repeat("x", 300) + "; rm -rf \u202ehome\n" + numbered(50, "echo %d")
	got := line.Strip(strings.Join(view.Render(event.Command{Command: cmd}, view.Options{
		Width: 50, Expanded: true,
		State: theme.Waiting,
	}), ""))
	for _, want := range []string{"rm -rf", "‹U+202E›", "echo 50"} {
		if !strings.Contains(strings.ReplaceAll(got, "\n  ", ""), want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
}

func TestHugeViewsAreLaidOutInParts(t *testing.T) {
	b := view.New(event.Command{Output: numbered(100_000, "line %d of the output")},
		view.Options{Width: 80, Expanded: true, State: theme.Done})
	if b.Height() != 100_000 {
		t.Fatalf("%d lines", b.Height())
	}
	if d := cmp.Diff([]string{"line 50001 of the output", "line 50002 of the output"}, b.Slice(50_000, 50_002)); d != "" {
		t.Error(d)
	}
}

// hostile is text that breaks terminals.
var hostile = []string{
	"\x1b[2J", "\x1b]0;x\x07", "\x1b", "\u009b", "\r", "\n", "\b", "\t", "\x00", "\xff", "\u202e",
	"a", "word ", "一", "👩‍👩‍👧", "e\u0301", "+", "-", "@@ -1,2 +3,4 @@", "\n+x", "\n-y", "\n ", "\\", "\x1b[31m",
	"\x1b[38;5;", "`", "|", "*",
}

func TestNoViewBreaksThePromises(t *testing.T) {
	text := func(t *rapid.T, name string) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(hostile), 0, 30).Draw(t, name), "")
	}
	rapid.Check(t, func(t *rapid.T) {
		s := text(t, "text")
		o := view.Options{
			Width: rapid.IntRange(1, 120).Draw(t, "width"),
			Theme: rapid.SampledFrom([]*theme.Theme{nil, dark, theme.Must("ansi", true, colorprofile.ANSI)}).Draw(t, "theme"),
			State: theme.State(rapid.IntRange(0, 4).Draw(t, "state")), Title: text(t, "title"), Tool: text(t, "tool"),
			Live: text(t, "live"), Expanded: rapid.Bool().Draw(t, "expanded"), Key: "ctrl+o",
			Duration: time.Duration(rapid.IntRange(0, 1e12).Draw(t, "duration")), Spinner: rapid.IntRange(0, 30).Draw(t,
				"spinner"),
		}
		views := []event.View{
			nil,
			event.Diff{Path: s + ".go", Unified: s},
			event.Diff{Path: "x.go", Unified: "@@ -1 +1 @@\n-" + s},
			event.Command{Command: s, Output: s, OutputRef: s, Background: s, ExitCode: 3},
			event.Listing{Title: s, Items: []string{s, s}, Total: 9},
			event.TextView{Text: s, Path: s, Language: "go"},
			event.TextView{Summary: s},
			event.Todo{Items: []event.TodoItem{{Content: s, Status: s}, {ActiveForm: s, Status: "in_progress"}}},
			event.Image{MIME: s, Name: s},
			event.Subagent{Agent: s, Title: s, Result: s},
			event.UnknownView{Shape: s, JSON: json.RawMessage(s)},
		}
		v := rapid.SampledFrom(views).Draw(t, "view")
		lines := append(view.Render(v, o), view.Header(v, o))
		for _, l := range lines {
			check(t, l, o.Width)
		}
		b := view.New(v, o)
		for i := range b.Height() {
			if got := b.Slice(i, i+1); len(got) != 1 || got[0] != lines[i] {
				t.Fatalf("line %d is %q alone, and %q among all", i, got, lines[i])
			}
		}
	})
}

var sequences = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b\\]8;(id=[0-9a-z]+)?;[!-~]*\x1b\\\\")

func check(t interface{ Fatalf(string, ...any) }, l string, width int) {
	text := sequences.ReplaceAllString(l, "")
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }) {
		t.Fatalf("control characters in %q", l)
	}
	if w := term.Width(text); w > width {
		t.Fatalf("%d cells wide, not %d: %q", w, width, l)
	}
}

func FuzzRender(f *testing.F) {
	f.Add(patch, uint16(80), uint8(1))
	f.Add("\x1b[31mred\r\x1b]8;;x\x07", uint16(3), uint8(2))
	f.Fuzz(func(t *testing.T, s string, width uint16, kind uint8) {
		w := int(width%500) + 1
		v := []event.View{
			event.Diff{Path: "a.py", Unified: s},
			event.Command{Command: s, Output: s},
			event.TextView{Text: s, Language: "html"},
			event.Subagent{Result: s},
			event.UnknownView{JSON: json.RawMessage(s)},
		}[kind%5]
		o := view.Options{Width: w, Theme: dark, State: theme.State(kind % 5), Expanded: kind%2 == 0, Title: s}
		for _, l := range append(view.Render(v, o), view.Header(v, o)) {
			check(t, l, w)
		}
	})
}

func BenchmarkDiff(b *testing.B) {
	v := event.Diff{Path: "x.go", Unified: strings.Repeat(patch, 20)}
	for b.Loop() {
		view.Render(v, view.Options{Width: 100, Theme: dark, Expanded: true})
	}
}

func BenchmarkLiveTail(b *testing.B) {
	live := numbered(50_000, "\x1b[32mok\x1b[m line %d of the output")
	b.SetBytes(int64(len(live)))
	for b.Loop() {
		view.Render(event.Command{Command: "make"}, view.Options{Width: 100, Theme: dark, State: theme.Running, Live: live})
	}
}

func BenchmarkExpandedOutput(b *testing.B) {
	out := numbered(50_000, "line %d of the output")
	for b.Loop() {
		bl := view.New(event.Command{Output: out}, view.Options{Width: 100, Theme: dark, Expanded: true, State: theme.Done})
		h := bl.Height()
		bl.Slice(h-40, h)
	}
}
