package editor_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/editor"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// pieces are characters as people see them that do not join when they are beside each other.
var pieces = rapid.SampledFrom([]string{
	"a", "b", "Z", "_", "9", " ", " ", "\n", "\t", ".", "/", "世", "é", "e\u0301",
	"👨‍👩‍👧", "👍🏽", "한", "\u202e",
})

// model is the editor said simply: characters and a cursor between two of them.
type model struct {
	text   []string
	cursor int
}

func (m *model) insert(s string) {
	m.text = append(m.text[:m.cursor:m.cursor], append([]string{s}, m.text[m.cursor:]...)...)
	m.cursor++
}

func (m *model) remove(from, to int) {
	m.text = append(m.text[:from:from], m.text[to:]...)
	m.cursor = from
}

func (m *model) String() string { return strings.Join(m.text, "") }

func (m *model) lineStart() int {
	i := m.cursor
	for i > 0 && m.text[i-1] != "\n" {
		i--
	}
	return i
}

func (m *model) lineEnd() int {
	i := m.cursor
	for i < len(m.text) && m.text[i] != "\n" {
		i++
	}
	return i
}

func class(s string) int {
	switch {
	case s == " " || s == "\n" || s == "\t":
		return 0
	case strings.Contains("abZ_9世ée\u0301한", s):
		return 1
	}
	return 2
}

func (m *model) wordLeft() int {
	i := m.cursor
	for i > 0 && class(m.text[i-1]) == 0 {
		i--
	}
	for k := i; i > 0 && class(m.text[i-1]) == class(m.text[k-1]); {
		i--
	}
	return i
}

func (m *model) wordRight() int {
	i := m.cursor
	for i < len(m.text) && class(m.text[i]) == 0 {
		i++
	}
	for k := i; i < len(m.text) && class(m.text[i]) == class(m.text[k]); {
		i++
	}
	return i
}

// do does the same as the editor.
func (m *model) do(a keys.Action) {
	switch a {
	case keys.Left:
		m.cursor = max(m.cursor-1, 0)
	case keys.Right:
		m.cursor = min(m.cursor+1, len(m.text))
	case keys.WordLeft:
		m.cursor = m.wordLeft()
	case keys.WordRight:
		m.cursor = m.wordRight()
	case keys.LineStart:
		m.cursor = m.lineStart()
	case keys.LineEnd:
		m.cursor = m.lineEnd()
	case keys.TextStart:
		m.cursor = 0
	case keys.TextEnd:
		m.cursor = len(m.text)
	case keys.DeleteBack:
		m.remove(max(m.cursor-1, 0), m.cursor)
	case keys.DeleteForward:
		m.remove(m.cursor, min(m.cursor+1, len(m.text)))
	case keys.DeleteWordBack:
		m.remove(m.wordLeft(), m.cursor)
	case keys.DeleteWordForward:
		m.remove(m.cursor, m.wordRight())
	case keys.KillLineStart:
		from := m.lineStart()
		if from == m.cursor {
			from = max(from-1, 0)
		}
		m.remove(from, m.cursor)
	case keys.KillLineEnd:
		to := m.lineEnd()
		if to == m.cursor {
			to = min(to+1, len(m.text))
		}
		m.remove(m.cursor, to)
	}
}

var editing = []keys.Action{
	keys.Left, keys.Right, keys.WordLeft, keys.WordRight, keys.LineStart, keys.LineEnd, keys.TextStart, keys.TextEnd,
	keys.DeleteBack, keys.DeleteForward, keys.DeleteWordBack, keys.DeleteWordForward, keys.KillLineStart, keys.KillLineEnd,
}

func TestTheEditorEditsAsItsModelDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, m := fresh(), &model{}
		width := rapid.IntRange(1, 12).Draw(t, "width")
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "type") {
				s := pieces.Draw(t, "piece")
				e.Type(s)
				m.insert(s)
			} else {
				a := rapid.SampledFrom(editing).Draw(t, "action")
				e.Do(a)
				m.do(a)
			}
			if got := e.Text(); got != m.String() {
				t.Fatalf("the text is %q, want %q", got, m)
			}
			checkFrame(t, e, width)
			// The cursor is where the model's is: typing there shows it.
			e.Type("|")
			if got, want := e.Text(), strings.Join(m.text[:m.cursor], "")+"|"+strings.Join(m.text[m.cursor:], ""); got != want {
				t.Fatalf("the cursor is at %q, want %q", got, want)
			}
			e.Do(keys.DeleteBack)
		}
	})
}

// checkFrame draws the editor: the rows fit, and nothing in them is a control.
func checkFrame(t *rapid.T, e *editor.Editor, width int) {
	lines, x, y := e.View(width, 4)
	if len(lines) < 1 || len(lines) > 4 || y < 0 || y >= len(lines) || x < 0 || x >= max(width, 1) {
		t.Fatalf("%d rows of %d, the cursor at %d,%d", len(lines), width, x, y)
	}
	for _, l := range lines {
		if term.Width(l) > width {
			t.Fatalf("the row %q is wider than %d", l, width)
		}
		if l != term.Escape(l) || strings.ContainsAny(l, "\n\t") {
			t.Fatalf("the row %q has a control", l)
		}
	}
}

func TestUndoAndRedoAreInverse(t *testing.T) {
	actions := append([]keys.Action{
		keys.Newline, keys.Yank, keys.YankPop, keys.ClearInput, keys.Unfold, keys.HistoryBack,
		keys.HistoryForward,
	}, editing...)
	rapid.Check(t, func(t *rapid.T) {
		e := editor.New(editor.Options{FoldLines: 2})
		outs, _ := e.Do(keys.HistoryBack)
		for _, o := range outs {
			e.Answer(o.(editor.Ask).Gen, []event.Candidate{{Text: "older"}, {Text: "!oldest\none"}})
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0, 1:
				e.Type(pieces.Draw(t, "piece"))
			case 2:
				e.Paste(strings.Repeat(pieces.Draw(t, "pasted")+"\n", rapid.IntRange(0, 4).Draw(t, "lines")))
			default:
				e.Do(rapid.SampledFrom(actions).Draw(t, "action"))
			}
		}
		states := []string{e.Text()}
		for {
			if _, done := e.Do(keys.Undo); !done {
				break
			}
			states = append(states, e.Text())
		}
		if got := states[len(states)-1]; got != "" && got != "older" {
			t.Fatalf("undoing everything leaves %q", got)
		}
		for i := len(states) - 2; i >= 0; i-- {
			if _, done := e.Do(keys.Redo); !done {
				t.Fatalf("%d steps cannot be redone", i+1)
			}
			if got := e.Text(); got != states[i] {
				t.Fatalf("redo %d is %q, want %q", i, got, states[i])
			}
		}
	})
}

func FuzzPaste(f *testing.F) {
	for _, s := range []string{
		"a\r\nb", "\x1b[31m", "\x1b]0;x\x07", "\xff\xfe", "\U0010ffff\U00100000", "'/tmp/a b.png'",
		"/tmp/x.png", "\u202e\u0301", strings.Repeat("x\n", 50),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := fresh()
		e.Type(s)
		e.Paste(s)
		if got := e.Text(); !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x00\r\x07") {
			t.Fatalf("the text is %q", got)
		}
		for _, width := range []int{1, 3, 20} {
			lines, _, _ := e.View(width, 5)
			for _, l := range lines {
				if term.Width(l) > width || l != term.Escape(l) {
					t.Fatalf("the row %q in %d", l, width)
				}
			}
		}
		for range 5 {
			e.Do(keys.DeleteBack)
			e.Do(keys.WordLeft)
		}
		e.View(7, 3)
	})
}

func BenchmarkPaste1MB(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog.\r\n", 1<<20/46)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		e := fresh()
		e.Paste(text)
		e.View(80, 10)
	}
}

// BenchmarkKey types into prompts of some sizes, drawing after each key.
func BenchmarkKey(b *testing.B) {
	for name, fill := range map[string]string{
		"empty":               "",
		"folded 1 MB":         strings.Repeat("some text of a line\n", 50_000),
		"plain 100 kB lines":  strings.Repeat("some text of a line\n", 4_900),
		"plain 100 kB line":   strings.Repeat("some text ", 9_900),
		"plain 100 kB accent": strings.Repeat("göttlich ", 9_900),
	} {
		b.Run(name, func(b *testing.B) {
			e := fresh()
			e.Insert(fill)
			b.ReportAllocs()
			for b.Loop() {
				e.Type("x")
				e.View(80, 10)
				e.Do(keys.DeleteBack)
				e.View(80, 10)
			}
		})
	}
}
