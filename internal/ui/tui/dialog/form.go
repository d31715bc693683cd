package dialog

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Form puts several questions that are answered together, one at a time; several end with a review of the answers.
type Form struct {
	id      string
	theme   *theme.Theme
	parts   []*Question
	answers []*event.Answer // nil: not answered yet
	at      int             // len(parts): the review
	review  options
}

// Choices of the review.
const (
	sendAnswers   = "send"
	changeAnswers = "change"
)

// NewForm makes the dialog of a question with parts.
func NewForm(a event.Asked, t *theme.Theme) *Form {
	n := len(a.Question.Parts)
	d := &Form{id: a.ID, theme: t, answers: make([]*event.Answer, n)}
	for i, q := range a.Question.Parts {
		q.Reason = a.Question.Reason
		if n > 1 {
			q.Title = strings.TrimSuffix(fmt.Sprintf("Question %d of %d: %s", i+1, n, q.Title), ": ")
		} else if q.Title == "" {
			q.Title = "Question"
		}
		part := NewQuestion(event.Asked{ID: a.ID, Question: q}, t)
		if n > 1 {
			part.more = []hint{{"←/→", "other questions"}}
		}
		d.parts = append(d.parts, part)
	}
	d.review.items = []event.Option{
		{ID: sendAnswers, Label: "Send these answers"},
		{ID: changeAnswers, Label: "Change them"},
	}
	return d
}

// ID is the question's id.
func (d *Form) ID() string { return d.id }

// Contexts are those of the question that is shown.
func (d *Form) Contexts() []keys.Context {
	if d.at < len(d.parts) {
		return d.parts[d.at].Contexts()
	}
	return []keys.Context{keys.Confirmation, keys.Scroll}
}

// Cursor is where an answer is written.
func (d *Form) Cursor() (x, y int, ok bool) {
	if d.at < len(d.parts) {
		return d.parts[d.at].Cursor()
	}
	return 0, 0, false
}

// Key takes a key.
func (d *Form) Key(k Key) Result {
	typing := d.at < len(d.parts) && d.parts[d.at].typing
	switch {
	case !typing && k.is(keys.ConfirmLeft):
		d.at = max(d.at-1, 0)
		return Result{}
	case !typing && k.is(keys.ConfirmRight):
		d.at = min(d.at+1, d.last())
		return Result{}
	case d.at == len(d.parts):
		return d.reviewed(k)
	}
	r := d.parts[d.at].Key(k)
	if r.Answer == nil || r.Answer.Canceled {
		return r
	}
	d.answers[d.at], d.parts[d.at].typing = r.Answer, false
	return d.next()
}

// last is the furthest place: the review when all is answered.
func (d *Form) last() int {
	if len(d.parts) > 1 && d.open() < 0 {
		return len(d.parts)
	}
	return len(d.parts) - 1
}

// open is the next question without an answer, or -1.
func (d *Form) open() int {
	for i := range d.parts {
		if at := (d.at + i) % len(d.parts); d.answers[at] == nil {
			return at
		}
	}
	return -1
}

func (d *Form) next() Result {
	if at := d.open(); at >= 0 {
		d.at = at
		return Result{}
	}
	if len(d.parts) == 1 {
		return d.send()
	}
	d.at = len(d.parts)
	return Result{}
}

func (d *Form) send() Result {
	var a event.Answer
	for _, part := range d.answers {
		a.Parts = append(a.Parts, *part)
	}
	return answer(a)
}

// reviewed takes a key of the review.
func (d *Form) reviewed(k Key) Result {
	choose := func(i int) Result {
		if d.review.items[i].ID == sendAnswers {
			return d.send()
		}
		d.at = 0
		return Result{}
	}
	switch i := d.review.digit(k); {
	case k.cancels():
		return answer(event.Answer{Canceled: true})
	case k.accepts():
		return choose(d.review.at.at)
	case i >= 0:
		return choose(i)
	}
	d.review.at.key(k, len(d.review.items), 2)
	return Result{}
}

// Lines draws the question that is shown, or the review.
func (d *Form) Lines(width, height int) []string {
	if d.at < len(d.parts) {
		return d.parts[d.at].Lines(width, height)
	}
	w := inner(width)
	var lines []string
	for i, part := range d.parts {
		lines = line.Wrap(lines, []line.Span{{Text: term.EscapeLine(part.q.Text), Style: d.theme.Dim}}, line.Format{Width: w})
		lines = line.Wrap(lines, []line.Span{{Text: term.EscapeLine(part.inWords(*d.answers[i])), Style: d.theme.Strong}},
			hang(w, "→ ", d.theme.Accent))
	}
	lower, _ := d.review.lines(d.theme, w)
	room := rows(height)
	lines = append(fit(append(lines, ""), max(room-len(lower), 1)), lower...)
	f := frame{theme: d.theme, title: "Your answers", hints: []hint{
		{"enter", "choose"},
		{"←", "back"},
		{"esc", "do not answer"},
	}}
	return f.draw(width, height, lines)
}

// inWords is an answer in words.
func (d *Question) inWords(a event.Answer) string {
	var out []string
	for _, id := range append(append([]string(nil), a.Choices...), a.Choice) {
		for _, o := range d.q.Options {
			if o.ID == id {
				out = append(out, o.Label)
			}
		}
	}
	if a.Text != "" {
		out = append(out, a.Text)
	}
	return strings.Join(out, ", ")
}
