package dialog_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

func act(name keys.Action) dialog.Key { return dialog.Key{Actions: []keys.Action{name}} }
func typed(text string) dialog.Key    { return dialog.Key{Text: text, Name: text} }

// wait is a clock that only moves when told.
type wait struct{ at time.Time }

func (w *wait) now() time.Time       { return w.at }
func (w *wait) pass(d time.Duration) { w.at = w.at.Add(d) }

func TestKeysTypedBeforeADialogWasDrawnDoNotAnswerIt(t *testing.T) {
	c := &wait{at: clock}
	s := dialog.NewStack(c.now)
	s.Ask(dialog.NewPermission(commandQuestion(), around))
	s.Top().Lines(80, 40)
	if r := s.Key(act(keys.ConfirmYes)); r.Answer != nil {
		t.Fatal("a key answered a dialog that is not on the screen")
	}
	s.Drawn()
	for range 5 { // a word in full flow, begun before the dialog came
		c.pass(100 * time.Millisecond)
		if r := s.Key(act(keys.ConfirmYes)); r.Answer != nil {
			t.Fatal("a key of a word that was begun before answered the dialog")
		}
	}
	c.pass(time.Second)
	if r := s.Key(act(keys.ConfirmYes)); r.Answer == nil || r.Answer.Choice != event.ChoiceOnce || !r.Close {
		t.Fatalf("the key did not answer: %+v", r)
	}
	if s.Len() != 0 {
		t.Error("the dialog stays after its answer")
	}
}

func TestTheNextDialogWaitsUntilItIsDrawnToo(t *testing.T) {
	c := &wait{at: clock}
	s := dialog.NewStack(c.now)
	s.Ask(dialog.NewPermission(commandQuestion(), around))
	s.Ask(dialog.NewPermission(editQuestion(), around))
	s.Drawn()
	c.pass(time.Second)
	s.Key(act(keys.ConfirmYes))
	if r := s.Key(act(keys.ConfirmYes)); r.Answer != nil || s.Len() != 1 || s.Top().ID() != "q2" {
		t.Fatalf("the second dialog took a key that was meant for the first: %+v", r)
	}
}

func TestAQuestionAnsweredElsewhereGoesAway(t *testing.T) {
	s := dialog.NewStack(nil)
	s.Ask(dialog.NewPermission(commandQuestion(), around))
	s.Ask(dialog.NewPermission(editQuestion(), around))
	if !s.Close("q1") || s.Close("q1") || s.Len() != 1 || s.Top().ID() != "q2" {
		t.Error("the stack is not what is left")
	}
}

func TestWhatTheUserOpensComesFirstAndTakesKeysAtOnce(t *testing.T) {
	s := dialog.NewStack(nil)
	s.Ask(dialog.NewPermission(commandQuestion(), around))
	s.Open(dialog.NewPicker(sessions(), bare))
	r := s.Key(act(keys.SelectAccept))
	if r.Run == nil || r.Run.Args != "01a" || s.Top().ID() != "q1" {
		t.Errorf("got %+v", r)
	}
}

// press gives keys to a dialog that was drawn, and returns the result of the last one.
func press(d dialog.Dialog, height int, ks ...dialog.Key) (r dialog.Result) {
	for _, k := range ks {
		d.Lines(80, height)
		r = d.Key(k)
	}
	return r
}

func TestEveryAnswerToAPermissionCanBeGiven(t *testing.T) {
	for name, c := range map[string]struct {
		keys []dialog.Key
		want event.Answer
	}{
		"enter":  {[]dialog.Key{act(keys.SelectAccept)}, event.Answer{Choice: event.ChoiceOnce}},
		"yes":    {[]dialog.Key{act(keys.ConfirmYes)}, event.Answer{Choice: event.ChoiceOnce}},
		"no":     {[]dialog.Key{act(keys.ConfirmNo)}, event.Answer{Choice: event.ChoiceNo}},
		"escape": {[]dialog.Key{act(keys.SelectCancel)}, event.Answer{Choice: event.ChoiceNo, Interrupt: true}},
		"number": {[]dialog.Key{typed("3")}, event.Answer{Choice: event.ChoiceAlways}},
		"arrows": {[]dialog.Key{
			act(keys.SelectNext), act(keys.SelectNext), act(keys.SelectNext),
			act(keys.SelectAccept),
		}, event.Answer{Choice: event.ChoiceNo}},
		"around": {
			[]dialog.Key{act(keys.SelectPrevious), act(keys.SelectAccept)},
			event.Answer{Choice: event.ChoiceNever},
		},
		"with guidance": {[]dialog.Key{
			act(keys.ConfirmGuide), typed("use "), typed("makee"), act(keys.DeleteBack),
			act(keys.SelectAccept),
		}, event.Answer{Choice: event.ChoiceNo, Text: "use make"}},
	} {
		r := press(dialog.NewPermission(commandQuestion(), around), 40, c.keys...)
		if r.Answer == nil || !r.Close {
			t.Errorf("%s: no answer", name)
			continue
		}
		if d := cmp.Diff(c.want, *r.Answer); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestAnEditCanBeAcceptedWithAllThatFollow(t *testing.T) {
	for _, k := range []dialog.Key{act(keys.ConfirmEdits), typed("2")} {
		r := press(dialog.NewPermission(editQuestion(), around), 40, k)
		if r.Answer == nil || r.Answer.Choice != event.ChoiceEdits {
			t.Errorf("%+v", r)
		}
	}
}

func TestWhatIsDecidedOnKeepsHalfOfTheDialog(t *testing.T) {
	long := editQuestion()
	var diff strings.Builder
	diff.WriteString("--- a/out\n+++ b/out\n@@ -1,0 +1,40 @@\n")
	for i := range 40 {
		fmt.Fprintf(&diff, "+added line %d\n", i)
	}
	long.Question.Preview = event.Diff{Path: "out", Unified: diff.String(), Added: 40}
	lines := dialog.NewPermission(long, around).Lines(80, 18) // the room that a terminal of 24 rows has for it
	text := strings.Join(lines, "\n")
	if n := strings.Count(text, "added line"); n < 7 {
		t.Errorf("%d lines of the change in:\n%s", n, text)
	}
	for _, want := range []string{"Yes, once", "accept edits", "No, and say why", "Never"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
}

func TestALastingYesNeedsEverythingToHaveBeenOnTheScreen(t *testing.T) {
	long := commandQuestion()
	long.Question.Preview = event.Command{Command: strings.Repeat("true\n", 40) + "rm -rf ~"}
	d := dialog.NewPermission(long, around)
	if r := press(d, 24, typed("3")); r.Close || r.Toast == "" {
		t.Fatalf("what was not read was allowed for good: %+v", r)
	}
	if r := press(d, 24, act(keys.Bottom), typed("3")); r.Close {
		t.Fatal("jumping over the middle counts as reading")
	}
	r := dialog.Result{}
	for range 20 {
		if r = press(d, 24, act(keys.PageDown)); r.Close {
			t.Fatal("scrolling answered")
		}
	}
	press(d, 24, act(keys.Top))
	for range 20 {
		press(d, 24, act(keys.PageDown))
	}
	if r = press(d, 24, typed("3")); r.Answer == nil || r.Answer.Choice != event.ChoiceAlways {
		t.Errorf("reading to the end does not help: %+v", r)
	}
	if r := press(dialog.NewPermission(long, around), 24, typed("1")); r.Answer == nil {
		t.Error("once needs no reading")
	}
}

func TestQuestionsAreAnsweredByChoiceOrInWords(t *testing.T) {
	one := press(dialog.NewQuestion(question(false, true), bare), 24, typed("2"))
	if one.Answer == nil || one.Answer.Choice != "postgres" {
		t.Errorf("one: %+v", one)
	}
	many := press(dialog.NewQuestion(question(true, false), bare), 24, typed("1"), typed("3"), typed("1"), typed("2"),
		act(keys.SelectAccept))
	if many.Answer == nil || !cmp.Equal(many.Answer.Choices, []string{"postgres", "none"}) {
		t.Errorf("many: %+v", many)
	}
	words := press(dialog.NewQuestion(question(false, true), bare), 24, typed("4"), typed("none of them"),
		act(keys.SelectAccept))
	if words.Answer == nil || words.Answer.Text != "none of them" || words.Answer.Choice != "" {
		t.Errorf("words: %+v", words)
	}
	if r := press(dialog.NewQuestion(question(false, true), bare), 24, act(keys.SelectCancel)); r.Answer == nil ||
		!r.Answer.Canceled {
		t.Errorf("escape: %+v", r)
	}
}

func TestTypingNarrowsAList(t *testing.T) {
	d := dialog.NewPicker(sessions(), bare)
	if r := press(d, 24, typed("flaky"), typed(" QUEUE"), act(keys.SelectAccept)); r.Run == nil ||
		*r.Run != (dialog.Command{Name: "resume", Args: "01a"}) {
		t.Errorf("got %+v", r)
	}
	d = dialog.NewPicker(sessions(), bare)
	if r := press(d, 24, typed("no such thing"), act(keys.SelectAccept)); r.Close || r.Toast == "" {
		t.Errorf("nothing was chosen: %+v", r)
	}
	if r := press(d, 24, act(keys.SelectCancel)); !r.Close {
		t.Error("escape does not close the list, as the hint says")
	}
}

func TestASearchRanksAndKnowsIDsByTheirBeginning(t *testing.T) {
	list := event.Pick{Command: "resume", Items: []event.PickItem{
		{ID: "0199aaaa-beef", Label: "clean the model table"},
		{ID: "0199bbbb-mode", Label: "x", Detail: "mode"},
		{ID: "0199cccc-0000", Label: "mode of the queue"},
	}}
	for typedText, want := range map[string]string{"mode": "0199cccc-0000", "0199b": "0199bbbb-mode"} {
		r := press(dialog.NewPicker(list, bare), 24, typed(typedText), act(keys.SelectAccept))
		if r.Run == nil || r.Run.Args != want {
			t.Errorf("%q chooses %+v, want %s", typedText, r.Run, want)
		}
	}
	if r := press(dialog.NewPicker(list, bare), 24, typed("beef"), act(keys.SelectAccept)); r.Run != nil {
		t.Errorf("the middle of an id chooses %+v", r.Run)
	}
}

func TestAnItemIsRenamedAndDeletedWithUndo(t *testing.T) {
	d := dialog.NewPicker(sessions(), bare)
	r := press(d, 24, act(keys.SelectNext), dialog.Key{Name: "ctrl+r"}, typed("queue"), act(keys.SelectAccept))
	if r.Run == nil || *r.Run != (dialog.Command{Name: "rename", Args: "01b queue"}) || r.After == nil ||
		r.After.Name != "sessions" || r.Close {
		t.Errorf("rename: %+v", r)
	}
	r = press(d, 24, dialog.Key{Name: "ctrl+d"})
	if r.Run == nil || *r.Run != (dialog.Command{Name: "delete-session", Args: "01b"}) || r.Toast == "" {
		t.Errorf("delete: %+v", r)
	}
	d.Update(event.Pick{Title: "Sessions", Command: "resume", Actions: sessions().Actions, Items: sessions().Items[:1]})
	if r = press(d, 24, dialog.Key{Name: "ctrl+z"}); r.Run == nil || *r.Run != (dialog.Command{
		Name: "restore-session",
		Args: "01b",
	}) {
		t.Errorf("undo: %+v", r)
	}
}

func TestToastsGoByThemselves(t *testing.T) {
	c := &wait{at: clock}
	ts := dialog.NewToasts(c.now)
	ts.Add("info", "saved")
	ts.Add("error", "disk \x1b[2Jfull")
	ts.Add("info", "saved")
	if got := ts.Lines(80, bare); len(got) != 2 || !strings.Contains(got[1], "saved") ||
		strings.Contains(strings.Join(got, ""), "\x1b[2J") {
		t.Errorf("got %q", got)
	}
	c.pass(5 * time.Second)
	if got := ts.Lines(80, bare); len(got) != 1 || !strings.Contains(got[0], "full") {
		t.Errorf("after 5 s: %q", got)
	}
	c.pass(5 * time.Second)
	if got := ts.Lines(80, bare); len(got) != 0 || !ts.Next().IsZero() {
		t.Errorf("after 10 s: %q", got)
	}
}

func TestATitleGetsTheWidthThereIsAndTheTimeStays(t *testing.T) {
	long := "fix the login of the admin page and the tests that were flaky before"
	list := event.Pick{Command: "resume", Items: []event.PickItem{
		{ID: "1", Label: long, Detail: "12 turns · $0.41", Time: time.Now()},
		{ID: "2", Label: "short", Detail: "1 turn · $0.02", Time: time.Now()},
	}}
	text := strings.Join(dialog.NewPicker(list, bare).Lines(90, 10), "\n")
	for _, want := range []string{long + "  ", "just now │", "1 turn · $0.02  just now │"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if narrow := strings.Join(dialog.NewPicker(list, bare).Lines(40, 10), "\n"); strings.Count(narrow,
		"just now │") != 2 || !strings.Contains(narrow, "fix the login of th") {
		t.Errorf("narrow:\n%s", narrow)
	}
}
