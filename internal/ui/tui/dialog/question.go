package dialog

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/markdown"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
	"github.com/lathe-dev/lathe/internal/ui/tui/view"
)

// own is the option for an answer in the user's words.
const own = "own"

// Question puts a question of the model, of lathe or of a server: options, one or several, or words.
type Question struct {
	id    string
	q     event.Question
	theme *theme.Theme
	opts  options

	page   page
	room   int
	body   int
	typing bool
	words  lineInput
	caret  [2]int

	more   []hint // of the form that the question is a part of
	edited string // the text to decide on, as the user changed it

	drawn drawnFor // the lines below were made for
	lines []string
}

// drawnFor is all that the text of a question depends on, beside the question.
type drawnFor struct{ width, option int }

// NewQuestion makes the dialog of a question.
func NewQuestion(a event.Asked, t *theme.Theme) *Question {
	d := &Question{id: a.ID, q: a.Question, theme: t}
	d.opts = options{
		items: append([]event.Option(nil), a.Question.Options...), multi: a.Question.Multi,
		checked: map[int]bool{},
	}
	if a.Question.Free {
		d.opts.items = append(d.opts.items, event.Option{ID: own, Label: cmp.Or(a.Question.Own, "In my own words")})
	}
	d.typing = a.Question.Free && len(a.Question.Options) == 0
	return d
}

// ID is the question's id.
func (d *Question) ID() string { return d.id }

// Contexts are those of a question, or of a line that is typed.
func (d *Question) Contexts() []keys.Context {
	if d.typing {
		return typing
	}
	return []keys.Context{keys.Confirmation, keys.Scroll}
}

// Key takes a key.
func (d *Question) Key(k Key) Result {
	if d.typing {
		return d.typed(k)
	}
	if d.page.key(k, d.room) {
		return Result{}
	}
	switch i := d.opts.digit(k); {
	case k.cancels():
		return answer(event.Answer{Canceled: true})
	case k.is(keys.ConfirmEditText) && d.editable():
		return Result{Edit: d.subject()}
	case k.accepts():
		return d.accept(d.opts.at.at)
	case d.opts.multi && k.is(keys.ConfirmToggle):
		d.check(d.opts.at.at)
	case i >= 0 && d.opts.multi:
		d.opts.at.at = i
		d.check(i)
	case i >= 0:
		return d.accept(i)
	default:
		d.opts.at.key(k, len(d.opts.items), 3)
	}
	return Result{}
}

func (d *Question) check(i int) {
	if i < len(d.opts.items) && d.opts.items[i].ID == own {
		d.typing = true
		return
	}
	d.opts.checked[i] = !d.opts.checked[i]
}

func (d *Question) accept(i int) Result {
	if i < 0 || i >= len(d.opts.items) {
		return answer(event.Answer{Canceled: true})
	}
	d.opts.at.at = i
	switch {
	case d.opts.items[i].ID == own:
		d.typing = true
		return Result{}
	case d.opts.multi:
		a := d.several()
		if len(a.Choices) == 0 && a.Text == "" {
			return Result{Toast: "mark answers with space first, or press esc"}
		}
		return answer(a)
	}
	a := event.Answer{Choice: d.opts.items[i].ID}
	if d.edited != "" {
		a.Input, _ = json.Marshal(map[string]string{"plan": d.edited})
	}
	return answer(a)
}

// editable reports whether the text to decide on is the user's to change.
func (d *Question) editable() bool { return d.q.Consult && d.subject() != "" }

// subject is the text to decide on.
func (d *Question) subject() string {
	v, _ := d.q.Preview.(event.TextView)
	return cmp.Or(d.edited, v.Text)
}

// Edited takes the text that the user changed; an empty one changes nothing.
func (d *Question) Edited(text string) {
	if text = strings.TrimSpace(text); text != "" && text != d.subject() {
		d.edited, d.drawn = text, drawnFor{}
	}
}

// several are the checked options, and what was written.
func (d *Question) several() event.Answer {
	a := event.Answer{Text: strings.TrimSpace(d.words.text)}
	for i, o := range d.opts.items {
		if d.opts.checked[i] {
			a.Choices = append(a.Choices, o.ID)
		}
	}
	return a
}

func (d *Question) typed(k Key) Result {
	only := len(d.q.Options) == 0
	switch {
	case k.cancels() && only:
		return answer(event.Answer{Canceled: true})
	case k.cancels():
		d.typing = false
	case k.accepts() && strings.TrimSpace(d.words.text) == "":
		return Result{Toast: "write an answer, or press esc"}
	case k.accepts() && d.opts.multi && !only:
		return answer(d.several())
	case k.accepts():
		return answer(event.Answer{Text: strings.TrimSpace(d.words.text)})
	default:
		d.words.key(k)
	}
	return Result{}
}

// Cursor is where the answer is written.
func (d *Question) Cursor() (x, y int, ok bool) { return d.caret[0], d.caret[1], d.typing }

// Lines draws the dialog.
func (d *Question) Lines(width, height int) []string {
	w, room := inner(width), rows(height)
	body := d.text(w)
	lower, places := d.opts.lines(d.theme, w)
	if d.typing {
		label := "answer: "
		text, caret := d.words.show(w - len(label))
		d.caret[0] = indent(width) + len(label) + caret
		lower = append(fit(lower, max(room/2-1, 0)), line.Join(w, line.Span{Text: label, Style: d.theme.Accent},
			line.Span{Text: text}))
	}
	d.body = len(body)
	d.room = min(max(room-len(lower)-1, min(room/2, 3), 1), d.body)
	from, to := d.page.window(d.room, d.body)
	lines := append([]string(nil), body[from:to]...)
	if len(lines) > 0 && room-len(lines) > len(lower) {
		lines = append(lines, position(d.theme, w, from, to, d.body))
	}
	if !d.typing {
		lower = window(lower, places, d.opts.at.at, room-len(lines))
	}
	lines = append(lines, lower...)
	if over := len(lines) - max(room, 1); over > 0 {
		lines = lines[over:] // the line that is typed stays
	}
	d.caret[1] = len(lines) - under(height)
	return frame{theme: d.theme, title: term.EscapeLine(d.q.Title), hints: d.hints()}.draw(width, height, lines)
}

// text is the question, its subject, and the preview of the option under the cursor.
func (d *Question) text(width int) []string {
	if now := (drawnFor{width, d.opts.at.at}); d.drawn != now {
		d.drawn, d.lines = now, d.makeText(width)
	}
	return d.lines
}

func (d *Question) makeText(width int) []string {
	var lines []string
	for _, text := range []string{d.q.Text, d.q.Reason} {
		if text != "" {
			lines = line.Wrap(lines, []line.Span{{Text: term.Escape(text)}}, line.Format{Width: width})
		}
	}
	markdowns := []string{}
	switch v := d.q.Preview.(type) {
	case nil:
	case event.TextView:
		if v.Language != "markdown" {
			lines = append(append(lines, ""), view.Render(v, view.Options{Width: width, Theme: d.theme, Expanded: true})...)
			break
		}
		markdowns = append(markdowns, d.subject())
	default:
		lines = append(append(lines, ""), view.Render(v, view.Options{Width: width, Theme: d.theme, Expanded: true})...)
	}
	if at := d.opts.at.at; at < len(d.opts.items) {
		markdowns = append(markdowns, d.opts.items[at].Preview)
	}
	for _, text := range markdowns {
		if text == "" {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, markdown.Render(text, width, markdown.Options{Theme: d.theme})...)
	}
	return lines
}

func (d *Question) hints() []hint {
	switch {
	case d.typing:
		return []hint{{"enter", "answer"}, {"esc", "back"}}
	case d.opts.multi:
		return append([]hint{{"space", "check"}, {"enter", "answer"}, {"esc", "do not answer"}}, d.more...)
	}
	out := []hint{{"enter", "choose"}, {"esc", "do not answer"}}
	if d.editable() {
		out = append(out, hint{"ctrl+g", "edit"})
	}
	if d.room < d.body {
		out = append(out, hint{"pgup/pgdn", "scroll"})
	}
	return append(out, d.more...)
}
