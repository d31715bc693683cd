package dash

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
	"github.com/lathe-dev/lathe/internal/ui/tui/view"
)

// peek is a look into a session.
type peek struct {
	id      string
	loaded  bool
	changed time.Time // of the job when it was loaded
	last    string    // what it said last
	asked   *event.Asked
	session string // of the question

	answers []event.Answer // to the parts before the one that is shown
	top     int
	seen    bool // the end of the question was shown
}

// question is the one that is shown: the open one, or a part of it; nil: none.
func (p *peek) question() *event.Question {
	if p.asked == nil {
		return nil
	}
	q := p.asked.Attributed()
	if n := len(q.Parts); n > 0 {
		part := q.Parts[min(len(p.answers), n-1)]
		return &part
	}
	return &q
}

// look opens the peek of the chosen session, or closes it.
func (d *dash) look() {
	if d.peek != nil {
		d.peek = nil
	} else if j, ok := d.job(); ok {
		d.peek = &peek{id: j.ID}
		d.load(j)
	}
}

// follow loads the peek again when its session changed.
func (d *dash) follow() {
	if j, ok := d.job(); d.peek != nil && ok && d.peek.id == j.ID && !j.Changed.Equal(d.peek.changed) {
		d.load(j)
	}
}

// load reads what the peek shows.
func (d *dash) load(j supervisor.Job) {
	d.peek.changed = j.Changed
	d.beside(func(ctx context.Context) func(*dash) {
		var asked *event.Event
		var err error
		if j.State == supervisor.Blocked && j.WaitingFor != "login" {
			asked, err = d.openQuestion(ctx, j.ID)
		}
		last, lerr := d.o.Last(j)
		return func(d *dash) {
			if d.peek == nil || d.peek.id != j.ID {
				return
			}
			if err = errors.Join(err, lerr); err != nil {
				d.note = err.Error()
			}
			d.peek.take(last, asked)
		}
	})
}

// openQuestion is the first one that is open; nil: none.
func (d *dash) openQuestion(ctx context.Context, id string) (*event.Event, error) {
	c, err := d.o.Dial(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	now, err := c.Read(ctx, port.ReadRequest{What: "questions"})
	if err != nil || len(now.Questions) == 0 {
		return nil, err
	}
	return &now.Questions[0], nil
}

func (p *peek) take(last string, e *event.Event) {
	p.last, p.loaded = last, true
	var asked *event.Asked
	if e != nil {
		if b, ok := e.Body.(event.Asked); ok {
			asked, p.session = &b, e.Session
		}
	}
	if p.asked == nil || asked == nil || p.asked.ID != asked.ID {
		p.answers, p.top, p.seen = nil, 0, false
	}
	p.asked = asked
}

// drawPeek lays the peek out. What was said last is shown from its end, a question from its beginning.
func (m *model) drawPeek(room int) []string {
	p := m.peek
	var head string
	if j, ok := m.job(); ok {
		head = m.row(j)
	}
	body := m.peekLines()
	room = max(room-2, 1)
	end := max(len(body)-room, 0)
	if p.question() == nil && p.top == 0 {
		p.top = end
	}
	p.top = min(max(p.top, 0), end)
	p.seen = p.seen || p.loaded && p.top == end
	return append([]string{head, ""}, body[p.top:min(p.top+room, len(body))]...)
}

func (m *model) peekLines() (out []string) {
	p := m.peek
	if !p.loaded {
		return []string{line.Join(m.w, line.Span{Text: "…", Style: m.theme.Dim})}
	}
	q := p.question()
	if q == nil {
		if p.last == "" {
			return []string{line.Join(m.w, line.Span{Text: "It said nothing yet.", Style: m.theme.Dim})}
		}
		return m.wrap(out, p.last, m.theme.Text)
	}
	return m.questionLines(q)
}

// questionLines shows all that is decided on.
func (m *model) questionLines(q *event.Question) (out []string) {
	head := q.Title
	if q.Permission != nil {
		head = "May " + q.Permission.Tool + " run?"
	}
	out = m.wrap(out, head, m.theme.Strong)
	if q.Text != "" {
		out = m.wrap(out, q.Text, m.theme.Text)
	}
	if q.Preview != nil {
		out = append(out, view.Render(q.Preview, view.Options{Width: m.w, Theme: m.theme, Expanded: true})...)
	}
	if c, ok := q.Preview.(event.Command); ok {
		for _, w := range c.Warning {
			out = m.wrap(out, "Warning: "+w, m.theme.Warn)
		}
	}
	if q.Permission != nil {
		for _, a := range q.Permission.Accesses {
			out = m.wrap(out, fmt.Sprintf("  %s: %s", a.Kind, a.Target), m.theme.Dim)
		}
	}
	for _, text := range []string{q.Reason, q.Undo} {
		if text != "" {
			out = m.wrap(out, text, m.theme.Dim)
		}
	}
	out = append(out, "")
	for i, o := range q.Options {
		out = m.wrap(out, strings.TrimSuffix(fmt.Sprintf("  %d. %s: %s", i+1, o.Label, o.Help), ": "), m.theme.Text)
		if o.Preview != "" {
			out = m.wrap(out, o.Preview, m.theme.Dim)
		}
	}
	return m.wrap(out, howTo(q), m.theme.Dim)
}

func howTo(q *event.Question) string {
	switch {
	case onlyAttached(q):
		return "Press enter, and answer it in the session."
	case len(q.Options) == 0:
		return "Write the answer."
	case q.Multi:
		return "Answer with numbers."
	case q.Free && q.Permission == nil:
		return "Answer with a number, or in your own words."
	case q.Permission != nil:
		return "Answer with a number; words after a refusal are told to the model."
	}
	return "Answer with a number."
}

// onlyAttached: the answer needs more than a line.
func onlyAttached(q *event.Question) bool {
	return len(q.Schema) > 0 || q.Elicitation != nil || q.Trust
}

// wrap lays foreign text out.
func (m *model) wrap(dst []string, text string, style theme.Style) []string {
	for l := range strings.SplitSeq(strings.TrimRight(term.Escape(text), "\n"), "\n") {
		dst = line.Wrap(dst, []line.Span{{Text: l, Style: style}}, line.Format{Width: m.w})
	}
	return dst
}

// reply answers the question, or sends a prompt.
func (d *dash) reply(text string) {
	p := d.peek
	q := p.question()
	if q == nil {
		d.text = ""
		d.try("sent", func(ctx context.Context) error { return d.prompt(ctx, p.id, text) })
		return
	}
	a, err := p.answer(q, text)
	if err != nil {
		d.note = err.Error()
		return
	}
	d.text = ""
	if n := len(p.asked.Question.Parts); n > 0 {
		if p.answers = append(p.answers, a); len(p.answers) < n {
			p.top, p.seen = 0, false
			return
		}
		a = event.Answer{Parts: p.answers}
	}
	answer := port.Answer{Session: p.session, ID: p.asked.ID, Answer: a}
	p.asked, p.answers = nil, nil
	d.try("answered", func(ctx context.Context) error {
		c, err := d.o.Dial(ctx, p.id)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		return c.Answer(ctx, answer)
	})
}

func (d *dash) prompt(ctx context.Context, id, text string) error {
	c, err := d.o.Dial(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Prompt(ctx, port.Prompt{Message: llm.UserText(text)})
	return err
}

// answer is what a line says to a question that was shown whole.
func (p *peek) answer(q *event.Question, text string) (event.Answer, error) {
	switch {
	case onlyAttached(q):
		return event.Answer{}, errors.New("this question is answered in the session: clear the line and press enter")
	case !p.seen:
		return event.Answer{}, errors.New("the question goes on below: read it to its end with down")
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	var chosen []string
	for _, w := range words {
		n, err := strconv.Atoi(strings.TrimSuffix(w, "."))
		if err != nil || n < 1 || n > len(q.Options) {
			break
		}
		chosen = append(chosen, q.Options[n-1].ID)
	}
	switch {
	case q.Multi && len(chosen) > 0 && len(chosen) == len(words):
		return event.Answer{Choices: chosen}, nil
	case !q.Multi && len(chosen) > 0:
		rest := strings.TrimSpace(strings.TrimPrefix(text, words[0]))
		refuses := slices.Contains([]string{event.ChoiceNo, event.ChoiceNever}, chosen[0])
		if rest != "" && q.Permission != nil && !refuses {
			return event.Answer{}, errors.New("only a refusal has words after its number")
		}
		return event.Answer{Choice: chosen[0], Text: rest}, nil
	case q.Permission == nil && (q.Free || len(q.Options) == 0):
		return event.Answer{Text: text}, nil
	}
	return event.Answer{}, fmt.Errorf("answer with a number from 1 to %d", len(q.Options))
}
