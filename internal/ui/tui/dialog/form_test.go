package dialog_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

func formOf(parts ...event.Question) *dialog.Form {
	return dialog.NewForm(event.Asked{ID: "q1", Question: event.Question{
		Parts: parts, Consult: true,
		Reason: "Asked by explore.",
	}}, around.Theme)
}

func part(text string, multi bool) event.Question {
	return event.Question{Title: "T", Text: text, Multi: multi, Free: true, Options: []event.Option{
		{ID: "0", Label: "first", Preview: "the first **preview**"}, {ID: "1", Label: "second", Preview: "other\x1b[2J"},
	}}
}

func TestSeveralQuestionsAreAnsweredAndReviewed(t *testing.T) {
	d := formOf(part("One?", false), part("Two?", true), part("Three?", false))
	text := strings.Join(d.Lines(80, 20), "\n")
	if !strings.Contains(text, "Question 1 of 3") || !strings.Contains(text, "the first preview") ||
		!strings.Contains(text, "Asked by explore.") {
		t.Errorf("%s", text)
	}
	press(d, 20, act(keys.ConfirmRight), act(keys.ConfirmRight), typed("1"))  // the third, first
	press(d, 20, typed("2"), typed("1"), typed("2"), act(keys.ConfirmAccept)) // the first, then both of the second
	if text = strings.Join(d.Lines(80, 20), "\n"); !strings.Contains(text, "Your answers") || !strings.Contains(text,
		"first, second") {
		t.Fatalf("%s", text)
	}
	press(d, 20, act(keys.ConfirmLeft), typed("3")) // the third again, in words
	for _, r := range "own" {
		press(d, 20, typed(string(r)))
	}
	press(d, 20, act(keys.SelectAccept))
	r := press(d, 20, act(keys.ConfirmAccept))
	want := event.Answer{Parts: []event.Answer{{Choice: "1"}, {Choices: []string{"0", "1"}}, {Text: "own"}}}
	if r.Answer == nil || cmp.Diff(want, *r.Answer) != "" {
		t.Errorf("%+v", r.Answer)
	}
}

func TestEscAnswersNoneOfTheQuestions(t *testing.T) {
	d := formOf(part("One?", false), part("Two?", false))
	press(d, 20, typed("1"))
	if r := press(d, 20, act(keys.SelectCancel)); r.Answer == nil || !r.Answer.Canceled || r.Answer.Parts != nil {
		t.Errorf("%+v", r)
	}
}

func TestOneQuestionNeedsNoReview(t *testing.T) {
	d := formOf(part("One?", false))
	if r := press(d, 20, typed("2")); r.Answer == nil || len(r.Answer.Parts) != 1 || r.Answer.Parts[0].Choice != "1" {
		t.Errorf("%+v", r)
	}
}

func TestHostileQuestionsAndPlansAreEscaped(t *testing.T) {
	evil := "x\x1b]0;pwned\x07\x1b[2J\u202e"
	q := event.Question{
		Title: evil, Text: evil, Free: true,
		Options: []event.Option{{ID: "0", Label: evil, Help: evil, Preview: evil}},
	}
	plan := dialog.NewQuestion(event.Asked{ID: "q", Question: event.Question{
		Title: "Approve?", Consult: true,
		Preview: event.TextView{Text: "# " + evil + "\n\n```\n" + evil + "\n```", Language: "markdown"},
	}}, around.Theme)
	for _, d := range []dialog.Dialog{formOf(q), formOf(q, q), plan} {
		for _, size := range [][2]int{{80, 24}, {20, 5}, {3, 2}} {
			text := strings.Join(d.Lines(size[0], size[1]), "\n")
			if strings.Contains(text, "\x1b]0;") || strings.Contains(text, "\x1b[2J") || strings.Contains(text, "\u202e") {
				t.Errorf("%dx%d: %q", size[0], size[1], text)
			}
		}
	}
}

func TestAPlanIsApprovedAsTheUserEditedIt(t *testing.T) {
	d := dialog.NewQuestion(event.Asked{ID: "q", Question: event.Question{
		Title: "Approve?", Consult: true, Free: true, Options: []event.Option{
			{ID: event.ChoiceEdits, Label: "Yes"},
			{ID: event.ChoiceNo, Label: "No"},
		},
		Preview: event.TextView{Text: "# One", Language: "markdown"},
	}}, around.Theme)
	if r := press(d, 20, act(keys.ConfirmEditText)); r.Edit != "# One" || r.Close {
		t.Fatalf("%+v", r)
	}
	d.Edited(" # Two\n")
	if text := strings.Join(d.Lines(80, 20), "\n"); !strings.Contains(text, "Two") || strings.Contains(text, "One") {
		t.Errorf("%s", text)
	}
	r := press(d, 20, typed("1"))
	var in struct{ Plan string }
	if r.Answer == nil || r.Answer.Choice != event.ChoiceEdits || json.Unmarshal(r.Answer.Input, &in) != nil ||
		in.Plan != "# Two" {
		t.Errorf("%+v", r.Answer)
	}
}
