package editor_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/editor"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

func candidates(texts ...string) []event.Candidate {
	var out []event.Candidate
	for _, s := range texts {
		out = append(out, event.Candidate{Text: s})
	}
	return out
}

func TestWhatIsTypedIsAskedFor(t *testing.T) {
	query := func(kind event.QueryKind, name, text string) *event.Query {
		return &event.Query{Kind: kind, Name: name, Text: text, Limit: 50}
	}
	for _, tt := range []struct {
		typed string
		want  *event.Query
	}{
		{"@", query(event.QueryFile, "", "")},
		{"see @ma", query(event.QueryFile, "", "ma")},
		{"(@ma", query(event.QueryFile, "", "ma")},
		{`@"my fi`, query(event.QueryFile, "", "my fi")},
		{"two\n@x", query(event.QueryFile, "", "x")},
		{"!cat @x", query(event.QueryFile, "", "x")},
		{"me@home", nil},
		{"@a b", nil},
		{"/", query(event.QueryCommand, "", "")},
		{"/mo", query(event.QueryCommand, "", "mo")},
		{"/model son", query(event.QueryArgument, "model", "son")},
		{"/rename my title", query(event.QueryArgument, "rename", "my title")},
		{"/review @x", query(event.QueryFile, "", "x")},
		{"/usr/bin", nil},
		{"a /mo", nil},
		{"x\n/mo", nil},
		{"!/mo", nil},
		{"#/mo", nil},
	} {
		e := fresh()
		outs := typed(e, tt.typed)
		var got *event.Query
		for _, o := range outs[max(len(outs)-1, 0):] {
			q := o.(editor.Ask).Query
			got = &q
		}
		if tt.want == nil {
			if got != nil && e.Contexts()[0] == keys.Autocomplete {
				t.Errorf("%q still offers something", tt.typed)
			}
			last := len(tt.typed) - 1
			if e := fresh(); len(typed(e, tt.typed[:last])) == len(typed(func() *editor.Editor { e := fresh(); return e }(),
				tt.typed)) {
				continue // the last key asked for nothing
			}
			t.Errorf("%q asks for %+v", tt.typed, got)
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.typed, diff)
		}
	}
}

// answer gives the last question of outs its answer.
func answer(t *testing.T, e *editor.Editor, outs []editor.Out, found []event.Candidate) {
	t.Helper()
	e.Answer(last[editor.Ask](t, outs).Gen, found)
}

func TestACompletionIsTakenIntoTheText(t *testing.T) {
	for _, tt := range []struct {
		typed string
		found []event.Candidate
		want  string
	}{
		{"see @ma", candidates("cmd/main.go"), "see @cmd/main.go |"},
		{"@my", candidates("my file.txt"), `@"my file.txt" |`},
		{"@my", candidates("my dir/"), `@"my dir/|`},
		{`@"my f`, candidates("my file.txt"), `@"my file.txt" |`},
		{"@sr", candidates("src/"), "@src/|"},
		{"/mo", candidates("model"), "/model |"},
		{"/mo", candidates("/model"), "/model |"},
		{"/model so", candidates("sonnet"), "/model sonnet|"},
		{"@x", candidates("a\x1b[31m\nb"), `@"a b" |`},
	} {
		e := fresh()
		answer(t, e, typed(e, tt.typed), tt.found)
		do(t, e, keys.CompleteAccept)
		if got := strings.TrimPrefix(frame(t, e, 60, 3), "> "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.typed, got, tt.want)
		}
	}
}

func TestACompletionReplacesTheWholeWord(t *testing.T) {
	e := fresh()
	typed(e, "see @main.rs please")
	for range len(".rs please") {
		do(t, e, keys.Left)
	}
	outs := typed(e, "x")
	answer(t, e, outs, candidates("main.go"))
	do(t, e, keys.CompleteAccept)
	if got := frame(t, e, 60, 3); got != "> see @main.go |please" {
		t.Errorf("drawn as %q", got)
	}
}

func TestAFolderGoesOnBeingCompleted(t *testing.T) {
	e := fresh()
	answer(t, e, typed(e, "@sr"), candidates("src/"))
	outs := do(t, e, keys.CompleteAccept)
	if q := last[editor.Ask](t, outs).Query; q.Text != "src/" {
		t.Errorf("asks for %+v", q)
	}
}

func TestAnswersThatComeLateAreDropped(t *testing.T) {
	e := fresh()
	first := last[editor.Ask](t, typed(e, "@m"))
	second := last[editor.Ask](t, typed(e, "a"))
	e.Answer(first.Gen, candidates("stale"))
	if e.Popup(40, 5) != nil {
		t.Error("a stale answer opened the list")
	}
	e.Answer(second.Gen, candidates("main.go"))
	if got := strings.Join(e.Popup(40, 5), "\n"); got != "> main.go" {
		t.Errorf("the list is %q", got)
	}
	do(t, e, keys.ClearInput)
	e.Answer(second.Gen, candidates("main.go"))
	if e.Popup(40, 5) != nil {
		t.Error("an answer for text that is gone opened the list")
	}
}

func TestTheListIsChosenFromWithKeys(t *testing.T) {
	e := fresh()
	answer(t, e, typed(e, "@"), candidates("a", "b", "c"))
	if c := e.Contexts(); c[0] != keys.Autocomplete {
		t.Fatalf("the contexts are %v", c)
	}
	do(t, e, keys.CompleteNext, keys.CompleteNext)
	if got := strings.Join(e.Popup(40, 2), "\n"); got != "  b\n> c" {
		t.Errorf("the list is %q", got)
	}
	do(t, e, keys.CompleteNext)
	if got := strings.Join(e.Popup(40, 2), "\n"); got != "> a\n  b" {
		t.Errorf("the list is %q", got)
	}
	do(t, e, keys.CompletePrevious, keys.CompleteAccept)
	if got := e.Text(); got != "@c " {
		t.Errorf("the text is %q", got)
	}
}

func TestAListThatWasClosedStaysClosedForTheWord(t *testing.T) {
	e := fresh()
	answer(t, e, typed(e, "@a"), candidates("a"))
	do(t, e, keys.CompleteDismiss)
	if outs := typed(e, "bc"); len(outs) != 0 || e.Popup(40, 5) != nil {
		t.Errorf("it opens again: %v", outs)
	}
	answer(t, e, do(t, e, keys.Complete), candidates("abc"))
	if e.Popup(40, 5) == nil {
		t.Error("it cannot be opened again")
	}
	if outs := typed(e, " @x"); len(outs) == 0 {
		t.Error("another word offers nothing")
	}
}

func TestMovingAboutOpensNothing(t *testing.T) {
	e := fresh()
	e.Paste("see @main.go and")
	for range 6 {
		if outs := do(t, e, keys.Left); len(outs) != 0 {
			t.Fatalf("it asks for %v", outs)
		}
	}
}

func TestTheListShowsWhatMatchesAndHelps(t *testing.T) {
	e := fresh()
	answer(t, e, typed(e, "/"), []event.Candidate{
		{Text: "model", Hint: "[name]", Help: "choose the model", Keys: "alt+p"},
		{Text: "compact", Help: "free context\x1b[2J"},
	})
	want := "> /model [name]  choose the model  alt+p\n  /compact       free context␛[2J"
	if diff := cmp.Diff(want, strings.Join(e.Popup(60, 5), "\n")); diff != "" {
		t.Error(diff)
	}
	for width := 1; width < 60; width++ {
		for _, row := range e.Popup(width, 5) {
			if n := len([]rune(row)); n > width {
				t.Errorf("a row of the list is %d wide, want %d", n, width)
			}
		}
	}
}

func TestALongPathShowsItsEnd(t *testing.T) {
	e := fresh()
	answer(t, e, typed(e, "@v"), candidates("internal/very/deep/down/in/the/tree/view.go"))
	if got := e.Popup(24, 5)[0]; got != "> …he/tree/view.go" && !strings.HasSuffix(got, "tree/view.go") {
		t.Errorf("the row is %q", got)
	}
}

func TestTheArgumentsOfACommandAreHinted(t *testing.T) {
	e := fresh()
	answer(t, e, typed(e, "/mod"), []event.Candidate{{Text: "model", Hint: "[name]"}})
	do(t, e, keys.CompleteAccept)
	if got := frame(t, e, 40, 3); got != "> /model |[name]" {
		t.Errorf("drawn as %q", got)
	}
	typed(e, "s")
	if got := frame(t, e, 40, 3); got != "> /model s|" {
		t.Errorf("drawn as %q", got)
	}
}

func TestEnterInTheListOfCommands(t *testing.T) {
	found := []event.Candidate{{Text: "clear"}, {Text: "model", Hint: "[name]"}}
	e := fresh()
	answer(t, e, typed(e, "/cl"), found)
	if s := last[editor.Submit](t, do(t, e, keys.Submit)); s.Kind != editor.Command || s.Name != "clear" {
		t.Errorf("sent %+v", s)
	}
	answer(t, e, typed(e, "/mo"), found[1:])
	do(t, e, keys.Submit)
	if got := e.Text(); got != "/model " {
		t.Errorf("a command with arguments: %q", got)
	}
	answer(t, e, typed(e, "so"), candidates("sonnet"))
	if s := last[editor.Submit](t, do(t, e, keys.Submit)); s.Name != "model" || s.Args != "sonnet" {
		t.Errorf("sent %+v", s)
	}
	answer(t, e, typed(e, "/model "), candidates("opus"))
	if s := last[editor.Submit](t, do(t, e, keys.Submit)); s.Args != "" {
		t.Errorf("an argument nobody chose is sent: %+v", s)
	}
	answer(t, e, typed(e, "@REA"), candidates("README.md"))
	do(t, e, keys.Submit)
	if got := e.Text(); got != "@README.md " {
		t.Errorf("enter on a file: %q", got)
	}
}

func TestEnterWaitsForTheCompletionsOfWhatWasTyped(t *testing.T) {
	e := fresh()
	answer(t, e, typed(e, "/m"), []event.Candidate{{Text: "memory"}, {Text: "model", Hint: "[name]"}})
	ask := last[editor.Ask](t, typed(e, "odel"))
	if outs := do(t, e, keys.Submit); len(outs) != 0 {
		t.Fatalf("enter took a completion of less text: %v", outs)
	}
	s := last[editor.Submit](t, e.Answer(ask.Gen, candidates("memory-model", "model")))
	if s.Name != "model" {
		t.Errorf("sent %+v", s)
	}
	answer(t, e, typed(e, "@a"), candidates("a"))
	ask = last[editor.Ask](t, typed(e, "b"))
	do(t, e, keys.Submit, keys.Left)
	if outs := e.Answer(ask.Gen, candidates("ab")); len(outs) != 0 || e.Empty() {
		t.Errorf("enter still waits after another key: %v", outs)
	}
}

func TestCommandsAreReadWithTheirArguments(t *testing.T) {
	for _, tt := range []struct {
		text, name, args string
	}{
		{"/compact keep the plan", "compact", "keep the plan"},
		{"/a:b-c x", "a:b-c", "x"},
		{"/add\nx", "add", "x"},
		{"/usr/bin/env is a path", "", ""},
		{"/ x", "", ""},
		{"/", "", ""},
	} {
		e := fresh()
		e.Paste(tt.text)
		s := last[editor.Submit](t, do(t, e, keys.Submit))
		if s.Name != tt.name || s.Args != tt.args || (s.Kind == editor.Command) != (tt.name != "") {
			t.Errorf("%q is sent as %+v", tt.text, s)
		}
	}
}

func TestAShellCommandCompletesPathsOnTab(t *testing.T) {
	e := fresh()
	typed(e, "!cat ma")
	outs := do(t, e, keys.Complete)
	if q := last[editor.Ask](t, outs).Query; q.Kind != event.QueryFile || q.Text != "ma" {
		t.Fatalf("asks for %+v", q)
	}
	answer(t, e, outs, candidates("my cat.txt"))
	do(t, e, keys.CompleteAccept)
	if got := e.Text(); got != "!cat 'my cat.txt'" {
		t.Errorf("the text is %q", got)
	}
}

func TestEarlierPromptsComeBackAndTheDraftIsKept(t *testing.T) {
	e := fresh()
	typed(e, "draft")
	outs, _ := e.Do(keys.HistoryBack)
	answer(t, e, outs, history("newest", "!ls", "old\nest"))
	for _, want := range []string{"> newest|", "! ls|", "> old|\n  est"} {
		if got := frame(t, e, 20, 4); got != want {
			t.Fatalf("drawn as %q, want %q", got, want)
		}
		if _, handled := e.Do(keys.HistoryBack); !handled && want != "> old|\n  est" {
			t.Fatal("there is no older one")
		}
	}
	do(t, e, keys.HistoryForward, keys.HistoryForward, keys.HistoryForward, keys.HistoryForward)
	if got := frame(t, e, 20, 4); got != "> draft|" {
		t.Errorf("the draft is %q", got)
	}
	if _, handled := e.Do(keys.HistoryForward); handled {
		t.Error("there is something after the draft")
	}
	do(t, e, keys.Submit)
	do(t, e, keys.HistoryBack)
	if got := e.Text(); got != "draft" {
		t.Errorf("what was sent last is not the newest: %q", got)
	}
}

func TestAPromptWithAPasteComesBackFolded(t *testing.T) {
	e := editor.New(editor.Options{FoldLines: 1})
	outs, _ := e.Do(keys.HistoryBack)
	answer(t, e, outs, nil)
	e.Paste("1\n2\n3")
	do(t, e, keys.Submit, keys.HistoryBack)
	if got := frame(t, e, 40, 3); got != "> [Pasted text #1 +2 lines]|" {
		t.Errorf("drawn as %q", got)
	}
	if s := last[editor.Submit](t, do(t, e, keys.Submit)); s.Text != "1\n2\n3" {
		t.Errorf("sent %q", s.Text)
	}
}

func TestTheSearchOfEarlierPrompts(t *testing.T) {
	e := fresh()
	typed(e, "draft")
	do(t, e, keys.KillLineStart)
	outs := do(t, e, keys.HistoryFind)
	if c := e.Contexts(); c[0] != keys.HistorySearch {
		t.Fatalf("the contexts are %v", c)
	}
	answer(t, e, outs, history("fix a", "fix b", "add c"))
	outs = typed(e, "fix")
	if q := last[editor.Ask](t, outs).Query; q.Kind != event.QueryHistory || q.Text != "fix" {
		t.Fatalf("asks for %+v", q)
	}
	answer(t, e, outs, history("fix a", "fix b\nmore"))
	do(t, e, keys.FindNext)
	if got := frame(t, e, 30, 4); got != "search: fix|  2 of 2\n  fix b\n  more" {
		t.Errorf("drawn as\n%s", got)
	}
	if got := strings.Join(e.Popup(30, 5), "\n"); got != "  fix a\n> fix b" {
		t.Errorf("the list is\n%s", got)
	}
	do(t, e, keys.DeleteBack)
	do(t, e, keys.FindAccept)
	if got := e.Text(); got != "fix b\nmore" {
		t.Errorf("the text is %q", got)
	}
	do(t, e, keys.Undo)
	if got := e.Text(); got != "" {
		t.Errorf("undo does not take it back: %q", got)
	}
	do(t, e, keys.Yank, keys.HistoryFind, keys.FindCancel)
	if got := e.Text(); got != "draft" {
		t.Errorf("after cancelling the text is %q", got)
	}
}

func TestAFoundPromptIsSentAtOnce(t *testing.T) {
	e := fresh()
	answer(t, e, do(t, e, keys.HistoryFind), history("fix a"))
	if s := last[editor.Submit](t, do(t, e, keys.FindExecute)); s.Text != "fix a" {
		t.Errorf("sent %+v", s)
	}
	answer(t, e, do(t, e, keys.HistoryFind), nil)
	typed(e, "zzz")
	if got := frame(t, e, 40, 4); got != "search: zzz|\n  no earlier prompt matches" {
		t.Errorf("drawn as\n%s", got)
	}
	if outs := do(t, e, keys.FindExecute); len(outs) != 0 {
		t.Errorf("sent %v", outs)
	}
}

func TestADescriptionStandsNearTheName(t *testing.T) {
	e := fresh()
	answer(t, e, typed(e, "/m"), []event.Candidate{
		{Text: "mode", Help: "choose how much runs without asking"},
		{Text: "memory", Hint: "[name | edit name | save name text | forget name | on | off]", Help: "notes"},
	})
	if got := e.Popup(80, 5)[0]; strings.Index(got, "choose") > 36 || !strings.HasSuffix(got, "asking") {
		t.Errorf("the row is %q", got)
	}
}

func TestHistoryBeginsAtTheNewestAgainAfterThePromptWasEmptied(t *testing.T) {
	e := fresh()
	outs, _ := e.Do(keys.HistoryBack)
	answer(t, e, outs, history("newest", "older", "oldest"))
	do(t, e, keys.HistoryBack)
	if got := e.Text(); got != "older" {
		t.Fatalf("the second is %q", got)
	}
	do(t, e, keys.ClearInput, keys.HistoryBack)
	if got := e.Text(); got != "newest" {
		t.Errorf("after it was emptied the first is %q", got)
	}
}
