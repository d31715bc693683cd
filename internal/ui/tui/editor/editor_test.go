package editor_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/editor"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

func fresh() *editor.Editor { return editor.New(editor.Options{}) }

// typed types text one character at a time, as keys do.
func typed(e *editor.Editor, s string) []editor.Out {
	var outs []editor.Out
	for _, r := range s {
		if r == '\n' {
			o, _ := e.Do(keys.Newline)
			outs = append(outs, o...)
			continue
		}
		outs = append(outs, e.Type(string(r))...)
	}
	return outs
}

// do runs actions and returns the result of the last one.
func do(t *testing.T, e *editor.Editor, as ...keys.Action) []editor.Out {
	t.Helper()
	var outs []editor.Out
	for _, a := range as {
		var handled bool
		if outs, handled = e.Do(a); !handled {
			t.Fatalf("%s was not handled", a)
		}
	}
	return outs
}

// frame draws the editor with the cursor as a bar.
func frame(t *testing.T, e *editor.Editor, width, height int) string {
	t.Helper()
	lines, x, y := e.View(width, height)
	if len(lines) > height {
		t.Fatalf("%d rows, want at most %d", len(lines), height)
	}
	for i, l := range lines {
		if w := term.Width(l); w > width {
			t.Fatalf("row %d is %d cells wide, want at most %d: %q", i, w, width, l)
		}
	}
	if y < 0 || y >= len(lines) || x < 0 || x >= width {
		t.Fatalf("the cursor is at %d,%d in %d rows of %d", x, y, len(lines), width)
	}
	l := lines[y]
	for term.Width(l) < x {
		l += " "
	}
	at := len(term.Truncate(l, x, ""))
	lines[y] = l[:at] + "|" + l[at:]
	return strings.Join(lines, "\n")
}

func last[T editor.Out](t *testing.T, outs []editor.Out) T {
	t.Helper()
	for i := len(outs) - 1; i >= 0; i-- {
		if o, ok := outs[i].(T); ok {
			return o
		}
	}
	var none T
	t.Fatalf("no %T in %v", none, outs)
	return none
}

func TestTypedTextIsSent(t *testing.T) {
	e := fresh()
	typed(e, "fix the\ntest")
	if got := frame(t, e, 40, 5); got != "> fix the\n  test|" {
		t.Errorf("drawn as\n%s", got)
	}
	s := last[editor.Submit](t, do(t, e, keys.Submit))
	if s.Kind != editor.Prompt || s.Text != "fix the\ntest" || s.Queue {
		t.Errorf("sent %+v", s)
	}
	if diff := cmp.Diff(llm.UserText("fix the\ntest"), s.Message); diff != "" {
		t.Error(diff)
	}
	if !e.Empty() {
		t.Error("the editor is not empty after sending")
	}
	typed(e, "later")
	if s := last[editor.Submit](t, do(t, e, keys.Queue)); !s.Queue {
		t.Errorf("queued as %+v", s)
	}
}

func TestAnEmptyPromptIsNotSent(t *testing.T) {
	e := fresh()
	typed(e, "  \n ")
	if outs := do(t, e, keys.Submit); len(outs) != 0 {
		t.Errorf("sent %v", outs)
	}
}

func TestABackslashBeforeEnterIsANewLine(t *testing.T) {
	e := fresh()
	typed(e, `one\`)
	if outs := do(t, e, keys.Submit); len(outs) != 0 {
		t.Fatalf("sent %v", outs)
	}
	typed(e, "two")
	if got := e.Text(); got != "one\ntwo" {
		t.Errorf("the text is %q", got)
	}
}

func TestCharactersAreWholeForTheCursor(t *testing.T) {
	const family, flag, e2, han = "👨‍👩‍👧", "🇩🇪", "e\u0301", "世"
	e := fresh()
	typed(e, "a")
	for _, s := range []string{family, flag, e2, han} {
		e.Type(s)
	}
	_, x, _ := e.View(40, 3)
	for _, cells := range []int{2, 1, 2, 2, 1, 0} {
		if x = x - cells; cells == 0 {
			break
		}
		do(t, e, keys.Left)
		if _, got, _ := e.View(40, 3); got != x {
			t.Fatalf("the cursor is in cell %d, want %d", got, x)
		}
	}
	do(t, e, keys.Right, keys.DeleteForward)
	if got, want := e.Text(), "a"+flag+e2+han; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	do(t, e, keys.TextEnd, keys.DeleteBack, keys.DeleteBack)
	if got, want := e.Text(), "a"+flag; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}

func TestLinesAreWrappedAtWords(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{
			"the quick brown fox 世界世界 averyveryverylongword",
			"> the quick\n  brown fox\n  世界世界\n  averyveryv\n  erylongwor\n  d|",
		},
		{"ab 世界世界世界c", "> ab 世界世\n  界世界c|"},
		{"0123456789", "> 0123456789|"},
		{"0123456789 ", "> 0123456789\n  |"},
		{"0123456789 b", "> 0123456789\n  b|"},
		{"0123456789  b", "> 0123456789\n   b|"},
	} {
		e := fresh()
		typed(e, tt.text)
		rows := strings.Split(frame(t, e, 13, 9), "\n")
		for i := range rows {
			rows[i] = strings.TrimRight(rows[i], " ")
		}
		if diff := cmp.Diff(tt.want, strings.Join(rows, "\n")); diff != "" {
			t.Errorf("%q:\n%s", tt.text, diff)
		}
	}
}

func TestTheViewScrollsWithTheCursor(t *testing.T) {
	e := fresh()
	typed(e, "1\n2\n3\n4\n5")
	if got := frame(t, e, 10, 3); got != "  3\n  4\n  5|" {
		t.Errorf("at the end\n%s", got)
	}
	do(t, e, keys.HistoryBack, keys.HistoryBack, keys.HistoryBack)
	if got := frame(t, e, 10, 3); got != "  2|\n  3\n  4" {
		t.Errorf("after going up\n%s", got)
	}
	do(t, e, keys.TextStart)
	if got := frame(t, e, 10, 3); got != "> |1\n  2\n  3" {
		t.Errorf("at the start\n%s", got)
	}
}

func TestMovingUpAndDownKeepsTheColumn(t *testing.T) {
	e := fresh()
	typed(e, "0123456\nab\n世界世界")
	do(t, e, keys.TextStart, keys.Right, keys.Right, keys.Right, keys.Right, keys.Right, keys.HistoryForward)
	if got := frame(t, e, 20, 5); got != "> 0123456\n  ab|\n  世界世界" {
		t.Errorf("in the short line\n%s", got)
	}
	do(t, e, keys.HistoryForward)
	if got := frame(t, e, 20, 5); got != "> 0123456\n  ab\n  世界世|界" {
		t.Errorf("in the wide line\n%s", got)
	}
}

func TestCutTextComesBack(t *testing.T) {
	e := fresh()
	typed(e, "one two three")
	do(t, e, keys.DeleteWordBack, keys.DeleteWordBack)
	if got := e.Text(); got != "one " {
		t.Fatalf("the text is %q", got)
	}
	do(t, e, keys.LineStart, keys.Yank)
	if got := e.Text(); got != "two threeone " {
		t.Fatalf("the text is %q", got)
	}
	do(t, e, keys.KillLineEnd, keys.Yank, keys.YankPop)
	if got := e.Text(); got != "two threetwo three" {
		t.Errorf("the text is %q", got)
	}
}

func TestWordsAreStepsOfUndo(t *testing.T) {
	e := fresh()
	typed(e, "one two")
	do(t, e, keys.Undo)
	if got := e.Text(); got != "one " {
		t.Errorf("after undo %q", got)
	}
	do(t, e, keys.Undo)
	if got := e.Text(); got != "" {
		t.Errorf("after two %q", got)
	}
	do(t, e, keys.Redo, keys.Redo)
	if got := e.Text(); got != "one two" {
		t.Errorf("after redo %q", got)
	}
	if _, handled := e.Do(keys.Redo); handled {
		t.Error("there was something more to redo")
	}
}

func TestDeletingNothingIsLeftToOthers(t *testing.T) {
	e := fresh()
	if _, handled := e.Do(keys.DeleteForward); handled {
		t.Error("ctrl+d in an empty prompt was taken")
	}
	if _, handled := e.Do("app:palette"); handled {
		t.Error("an action of others was taken")
	}
}

func TestTheFirstCharacterSetsTheMode(t *testing.T) {
	e := editor.New(editor.Options{Placeholder: "ask"})
	if got := frame(t, e, 20, 3); got != "> |ask" {
		t.Errorf("empty: %q", got)
	}
	typed(e, "!ls -l")
	if got := frame(t, e, 20, 3); got != "! ls -l|" || e.Mode() != editor.Shell {
		t.Errorf("shell: %q", got)
	}
	s := last[editor.Submit](t, do(t, e, keys.Submit))
	if s.Kind != editor.Shell || s.Text != "ls -l" || s.History != "!ls -l" {
		t.Errorf("sent %+v", s)
	}
	typed(e, "#use tabs")
	if got := frame(t, e, 20, 3); got != "# use tabs|" {
		t.Errorf("memory: %q", got)
	}
	do(t, e, keys.ClearInput)
	if e.Empty() {
		t.Error("a mode counts as nothing")
	}
	if outs := do(t, e, keys.Submit); len(outs) != 0 {
		t.Errorf("nothing is sent as %v", outs)
	}
	do(t, e, keys.DeleteBack)
	if e.Mode() != editor.Prompt || !e.Empty() {
		t.Error("backspace in an empty prompt does not leave the mode")
	}
	typed(e, "a!")
	if e.Mode() != editor.Prompt {
		t.Error("a sign later in the text sets the mode")
	}
	e.Reset()
	e.Paste("!rm -rf x")
	if s := last[editor.Submit](t, do(t, e, keys.Submit)); s.Kind != editor.Prompt || s.History != " !rm -rf x" {
		t.Errorf("a pasted ! is sent as %+v", s)
	}
}

func TestALongPasteIsFoldedAndSentInFull(t *testing.T) {
	e := fresh()
	long := strings.Repeat("line\r\n", 235)
	typed(e, "see ")
	e.Paste(long)
	typed(e, " ok")
	if got := frame(t, e, 60, 3); got != "> see [Pasted text #1 +235 lines] ok|" {
		t.Errorf("drawn as %q", got)
	}
	want := "see " + strings.Repeat("line\n", 235) + " ok"
	if got := e.Text(); got != want {
		t.Errorf("the text is %q", got)
	}
	do(t, e, keys.Left, keys.Left, keys.Left, keys.DeleteBack)
	if got := e.Text(); got != "see  ok" {
		t.Errorf("after backspace %q", got)
	}
	do(t, e, keys.Undo)
	if s := last[editor.Submit](t, do(t, e, keys.Submit)); s.Text != want || s.Message.PlainText() != want {
		t.Errorf("sent %q", s.Text)
	}
}

func TestAFoldedPasteCanBeShown(t *testing.T) {
	e := editor.New(editor.Options{FoldLines: 2})
	e.Paste("a\nb\nc\nd")
	do(t, e, keys.Unfold)
	if got := frame(t, e, 20, 5); got != "> a\n  b\n  c\n  d|" {
		t.Errorf("drawn as\n%s", got)
	}
	if _, handled := e.Do(keys.Unfold); handled {
		t.Error("text without a chip was unfolded")
	}
}

func TestPastesAreCleaned(t *testing.T) {
	e := fresh()
	e.Paste("a\x1b[31mred\x1b[0m\x07\x1b]52;c;eA==\x07\tb\r\nc\rd\x00\xff\u0085\U00100001é")
	if got, want := e.Text(), "ared\tb\nc\nd\uFFFD\uFFFDé"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}

func TestNothingInTheTextReachesTheTerminalAsAControl(t *testing.T) {
	e := fresh()
	e.Type("a\u202Eb\u200bc\u2066")
	lines, _, _ := e.View(80, 3)
	if got, want := strings.Join(lines, ""), "> a‹U+202E›b‹U+200B›c‹U+2066›"; got != want {
		t.Errorf("drawn as %q, want %q", got, want)
	}
	if got := e.Text(); got != "a\u202Eb\u200bc\u2066" {
		t.Errorf("the text itself is %q", got)
	}
}

func png() []byte { return []byte("\x89PNG\r\n\x1a\n0000") }

func TestImagePathsBecomeAttachments(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	t.Setenv("USERPROFILE", "/home/me")
	for _, tt := range []struct {
		pasted  string
		want    []string
		windows bool
	}{
		{"/tmp/a.png", []string{"/tmp/a.png"}, false},
		{"'/tmp/my cat.PNG' ", []string{"/tmp/my cat.PNG"}, false},
		{`/tmp/my\ cat.jpeg`, []string{"/tmp/my cat.jpeg"}, false},
		{"/tmp/my cat.webp", []string{"/tmp/my cat.webp"}, false},
		{"file:///tmp/my%20cat.gif", []string{"/tmp/my cat.gif"}, false},
		{"file://host/tmp/cat.gif", []string{"/tmp/cat.gif"}, false},
		{"/tmp/a.png /tmp/b.jpg", []string{"/tmp/a.png", "/tmp/b.jpg"}, false},
		{"/tmp/a.png\n/tmp/b.jpg\n", []string{"/tmp/a.png", "/tmp/b.jpg"}, false},
		{"~/a.png", []string{"/home/me/a.png"}, false},
		{`C:\Users\me\a b.png`, []string{`C:\Users\me\a b.png`}, true},
		{`"C:\Users\me\a b.png"`, []string{`C:\Users\me\a b.png`}, true},
		{"file:///C:/a.png", []string{"C:/a.png"}, true},
		{"a.png", nil, false},
		{"see /tmp/a.png", nil, false},
		{"/tmp/a.txt", nil, false},
		{"'/tmp/a.png", nil, false},
		{"", nil, false},
	} {
		e := editor.New(editor.Options{Windows: tt.windows})
		var got []string
		for _, o := range e.Paste(tt.pasted) {
			if l, ok := o.(editor.LoadImage); ok {
				got = append(got, l.Path)
				e.ImageLoaded(l.ID, png(), nil)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.pasted, diff)
		}
	}
}

func TestAnImageIsSentBesideItsMark(t *testing.T) {
	e := fresh()
	typed(e, "what is ")
	l := last[editor.LoadImage](t, e.Paste("/tmp/cat.png"))
	if got := frame(t, e, 40, 3); got != "> what is [Image #1]|" {
		t.Errorf("drawn as %q", got)
	}
	outs := do(t, e, keys.Submit)
	if n := last[editor.Notice](t, outs); !strings.Contains(n.Text, "[Image #1]") {
		t.Errorf("told %q", n.Text)
	}
	s := last[editor.Submit](t, e.ImageLoaded(l.ID, png(), nil))
	want := llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "what is [Image #1]"},
		llm.Media{MIME: "image/png", Data: png(), Name: "cat.png"},
	}}
	if diff := cmp.Diff(want, s.Message); diff != "" {
		t.Error(diff)
	}
}

func TestAnImageThatCannotBeReadBecomesItsPathAgain(t *testing.T) {
	for _, tt := range []struct {
		data []byte
		err  error
		want string
	}{
		{nil, errors.New("no such file"), "no such file"},
		{[]byte("text"), nil, "no PNG, JPEG, GIF or WebP"},
		{append(png(), make([]byte, 100)...), nil, "make it smaller"},
	} {
		e := editor.New(editor.Options{ImageLimit: 50})
		l := last[editor.LoadImage](t, e.Paste("/tmp/a.png"))
		typed(e, " x")
		n := last[editor.Notice](t, e.ImageLoaded(l.ID, tt.data, tt.err))
		if !strings.Contains(n.Text, tt.want) || !strings.Contains(n.Text, "/tmp/a.png") {
			t.Errorf("told %q, want %q", n.Text, tt.want)
		}
		if got := frame(t, e, 40, 2); got != "> /tmp/a.png x|" {
			t.Errorf("drawn as %q", got)
		}
	}
}

func TestAMessageComesBackWithItsImages(t *testing.T) {
	e := fresh()
	m := llm.Message{Role: llm.User, Parts: []llm.Part{
		llm.Text{Text: "see [Image #3] now"},
		llm.Media{MIME: "image/png", Data: png(), Name: "a.png"},
	}}
	e.SetMessage(m)
	s := last[editor.Submit](t, do(t, e, keys.Submit))
	want := llm.Message{Role: llm.User, Parts: []llm.Part{llm.Text{Text: "see [Image #1] now"}, m.Parts[1]}}
	if diff := cmp.Diff(want, s.Message); diff != "" {
		t.Error(diff)
	}
}

func TestTheUsersEditorGetsLabelsAndGivesThemBack(t *testing.T) {
	e := editor.New(editor.Options{FoldLines: 1})
	typed(e, "a ")
	e.Paste("1\n2\n3")
	o := last[editor.OpenEditor](t, do(t, e, keys.ExternalEditor))
	if o.Text != "a [Pasted text #1 +2 lines]" {
		t.Fatalf("the editor gets %q", o.Text)
	}
	e.SetText(o.Text + " b")
	if got := e.Text(); got != "a 1\n2\n3 b" {
		t.Errorf("the text is %q", got)
	}
}

func TestAPromptSetAsideComesBack(t *testing.T) {
	e := editor.New(editor.Options{FoldLines: 1})
	e.Paste("1\n2\n3")
	do(t, e, keys.Stash)
	if !e.Empty() {
		t.Fatal("the prompt is not set aside")
	}
	typed(e, "quick")
	do(t, e, keys.Submit)
	if got := e.Text(); got != "1\n2\n3" {
		t.Errorf("after sending another the text is %q", got)
	}
}

func history(texts ...string) []event.Candidate {
	var out []event.Candidate
	for _, s := range texts {
		out = append(out, event.Candidate{Text: s})
	}
	return out
}
