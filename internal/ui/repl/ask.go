package repl

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// asked is a question that waits for its answer.
type asked struct {
	event.Asked
	session string
	shown   time.Time      // zero: it waits for the one before it
	answers []event.Answer // to the parts before the one that is shown
}

// part is the question that is shown: one of several, or the whole.
func (a asked) part() event.Question {
	if len(a.Question.Parts) == 0 {
		return a.Question
	}
	at := len(a.answers)
	q := a.Question.Parts[at]
	if q.Title == "" {
		q.Title = a.Question.Title
	}
	if n := len(a.Question.Parts); n > 1 {
		q.Title = fmt.Sprintf("%s (question %d of %d)", q.Title, at+1, n)
	}
	if at == 0 {
		q.Reason = a.Question.Reason
	}
	return q
}

func (r *repl) asked(session string, b event.Asked) {
	b.Question = b.Attributed()
	r.questions = append(r.questions, asked{Asked: b, session: session})
	r.showQuestion()
}

func (r *repl) answered(b event.Answered) {
	at := slices.IndexFunc(r.questions, func(a asked) bool { return a.ID == b.ID })
	if at < 0 {
		return
	}
	r.questions = slices.Delete(r.questions, at, at+1)
	if at == 0 {
		r.out.working("Thinking")
		r.showQuestion()
	}
}

// showQuestion shows the first question that waits.
func (r *repl) showQuestion() {
	if len(r.questions) == 0 || !r.questions[0].shown.IsZero() {
		return
	}
	q := r.questions[0].part()
	r.out.working("")
	r.out.rest()
	r.out.block(questionText(q))
	if n := len(r.questions) - 1; n > 0 {
		r.out.line("(%d more wait)", n)
	}
	r.questions[0].shown = time.Now()
}

// questionText shows all that is decided on.
func questionText(q event.Question) string {
	var b strings.Builder
	if q.Permission != nil {
		fmt.Fprintf(&b, "lathe asks: may %s run?\n", q.Permission.Tool)
	} else {
		fmt.Fprintf(&b, "%s\n", q.Title)
	}
	preview := wholeView(q.Preview)
	if q.Text != "" && strings.TrimSpace(preview) != strings.TrimSpace(indent(q.Text)) {
		b.WriteString(q.Text + "\n")
	}
	b.WriteString(preview)
	if c, ok := q.Preview.(event.Command); ok {
		for _, w := range c.Warning {
			fmt.Fprintf(&b, "Warning: %s\n", term.EscapeLine(w))
		}
	}
	if q.Permission != nil {
		for _, a := range q.Permission.Accesses {
			if strings.TrimSpace(preview) == a.Target { // shown above
				continue
			}
			what := a.Target
			if a.Named != "" && a.Named != a.Target {
				what = a.Named + " -> " + a.Target
			}
			fmt.Fprintf(&b, "  %s: %s\n", a.Kind, what)
		}
	}
	if q.Reason != "" {
		fmt.Fprintf(&b, "Why: %s\n", q.Reason)
	}
	if q.Undo != "" {
		fmt.Fprintf(&b, "Undo: %s\n", term.EscapeLine(q.Undo))
	}
	for i, o := range q.Options {
		fmt.Fprintf(&b, "  %d. %s", i+1, o.Label)
		switch {
		case strings.Contains(o.Help, "\n"):
			b.WriteString(":\n     " + strings.ReplaceAll(o.Help, "\n", "\n     "))
		case o.Help != "":
			fmt.Fprintf(&b, ": %s", o.Help)
		}
		b.WriteString("\n")
		if o.Preview != "" {
			b.WriteString(indent(indent(o.Preview)) + "\n")
		}
	}
	b.WriteString(howToAnswer(q))
	return b.String()
}

func howToAnswer(q event.Question) string {
	switch {
	case q.Permission != nil:
		return "A number decides" + letters(q) + "; words after a no are told to the model (" + example(q) + ")."
	case q.Consult && len(q.Options) > 0:
		return "A number answers; words after it, or instead of it, go to the model."
	case q.Multi:
		return "Numbers with commas between them answer."
	case q.Free && len(q.Options) > 0:
		return "A number answers, or any text."
	case len(q.Options) == 0:
		return "Any text answers."
	}
	return "A number answers."
}

// example shows how to refuse with words.
func example(q event.Question) string {
	for _, o := range q.Options {
		if o.ID == event.ChoiceNo {
			return "n use the other file"
		}
	}
	return "1"
}

// files names the files of a change.
func files(v event.Diff) string {
	var names []string
	for _, d := range v.Each() {
		names = append(names, d.Path)
	}
	return strings.Join(names, ", ")
}

// wholeView is a complete preview: the user decides on it.
func wholeView(v event.View) string {
	switch v := v.(type) {
	case event.Diff:
		return files(v) + fmt.Sprintf(" +%d -%d\n", v.Added, v.Removed) + strings.TrimRight(v.Unified, "\n") + "\n"
	case event.Command:
		return indent(v.Command) + "\n"
	case event.TextView:
		return indent(v.Text) + "\n"
	case event.Listing:
		return indent(strings.Join(v.Items, "\n")) + "\n"
	case nil:
		return ""
	}
	if text := viewText(v); text != "" {
		return indent(text) + "\n"
	}
	return ""
}

// answer takes a line as the answer to the first question.
func (r *repl) answer(text string) {
	q := r.questions[0]
	a, err := readAnswer(q.part(), text)
	if err != nil {
		r.out.line("%s", err)
		return
	}
	if len(q.Question.Parts) > 0 {
		q.answers = append(q.answers, a)
		if len(q.answers) < len(q.Question.Parts) {
			q.shown = time.Time{}
			r.questions[0] = q
			r.showQuestion()
			return
		}
		a = event.Answer{Parts: q.answers}
	}
	id := q.ID
	r.questions = r.questions[1:]
	if err := r.s.Answer(r.ctx, port.Answer{Session: q.session, ID: id, Answer: a}); err != nil {
		r.out.line("error: %s", err)
	}
	if r.active != "" {
		r.out.working("Thinking")
	}
	r.showQuestion()
}

// readAnswer is the answer that a line gives to a question.
func readAnswer(q event.Question, text string) (event.Answer, error) {
	if q.Multi {
		return manyOf(q, text)
	}
	first, rest, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(strings.TrimSuffix(first, "."))
	if err == nil && n >= 1 && n <= len(q.Options) {
		return event.Answer{Choice: q.Options[n-1].ID, Text: strings.TrimSpace(rest)}, nil
	}
	if id := named(q, first, text); id != "" {
		return event.Answer{Choice: id, Text: strings.TrimSpace(rest)}, nil
	}
	if q.Permission == nil && (q.Free || len(q.Options) == 0) && text != "" {
		return event.Answer{Text: text}, nil
	}
	return event.Answer{}, fmt.Errorf("answer with a number from 1 to %d%s", len(q.Options), letters(q))
}

// words are the answers to a permission by name. Only a refusal may have more words after it.
var words = map[string]string{
	"y": event.ChoiceOnce, "yes": event.ChoiceOnce, "once": event.ChoiceOnce, "allow": event.ChoiceOnce,
	"s": event.ChoiceSession, "session": event.ChoiceSession, "e": event.ChoiceEdits, "edits": event.ChoiceEdits,
	"a": event.ChoiceAlways, "always": event.ChoiceAlways, "n": event.ChoiceNo, "no": event.ChoiceNo,
	"deny": event.ChoiceNo, "d": event.ChoiceNever, "never": event.ChoiceNever, "stop": event.ChoiceStop,
}

// named is the option that a line names: of a permission by its letter or word, else by its whole label; "": none.
func named(q event.Question, first, text string) string {
	id := words[strings.ToLower(first)]
	if q.Permission == nil || id != event.ChoiceNo && first != text {
		id = ""
	}
	for _, o := range q.Options {
		if id != "" && o.ID == id || strings.EqualFold(o.Label, text) {
			return o.ID
		}
	}
	return ""
}

// letters says which letters answer a permission too.
func letters(q event.Question) string {
	if q.Permission == nil {
		return ""
	}
	var out []string
	for _, letter := range []string{"y", "s", "e", "a", "n", "d"} {
		if named(q, letter, letter) != "" {
			out = append(out, letter)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ", or with " + strings.Join(out, ", ")
}

func manyOf(q event.Question, text string) (event.Answer, error) {
	var a event.Answer
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(q.Options) {
			if q.Free {
				return event.Answer{Text: text}, nil
			}
			return a, fmt.Errorf("answer with numbers from 1 to %d", len(q.Options))
		}
		a.Choices = append(a.Choices, q.Options[n-1].ID)
	}
	if len(a.Choices) == 0 {
		return a, fmt.Errorf("answer with numbers from 1 to %d", len(q.Options))
	}
	return a, nil
}

// offer shows a list to choose from.
func (r *repl) offer(p *event.Pick) {
	if len(p.Items) == 0 {
		r.out.line("%s", cmp.Or(p.Empty, "There is nothing to choose from."))
		return
	}
	var b strings.Builder
	b.WriteString(p.Title + "\n")
	for i, item := range p.Items {
		mark := " "
		if item.Current {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s%3d. %s%s", mark, i+1, strings.Repeat("  ", item.Depth), item.Label)
		if about := strings.Trim(item.Detail+", "+age(item.Time), ", "); about != "" {
			b.WriteString("  (" + about + ")")
		}
		b.WriteString("\n")
	}
	b.WriteString("A number chooses")
	for _, a := range p.Actions {
		extra := ""
		if a.Ask != "" {
			extra = " " + strings.ToUpper(a.Ask)
		}
		fmt.Fprintf(&b, "; %s 1%s", word(a.Label), extra)
		b.WriteString(" does that with the first")
	}
	b.WriteString("; an empty line leaves the list.")
	r.out.block(b.String())
	r.pick = p
}

// age is how long ago something was.
func age(t time.Time) string {
	switch d := time.Since(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return t.Local().Format("2006-01-02")
}

func word(label string) string { return strings.ToLower(strings.Fields(label + " act")[0]) }

// choose takes a line as a choice from the list. False: it was something else, and the list is gone.
func (r *repl) choose(text string) bool {
	p := r.pick
	if text == "" {
		r.pick = nil
		return true
	}
	fields := strings.SplitN(text, " ", 3)
	if item, ok := pickItem(p, fields[0]); ok && len(fields) == 1 {
		r.pick = nil
		r.runPicked(p.Command, item, "")
		return true
	}
	for _, a := range p.Actions {
		if len(fields) < 2 || !strings.EqualFold(fields[0], word(a.Label)) {
			continue
		}
		item, ok := pickItem(p, fields[1])
		if !ok {
			break
		}
		rest := ""
		if len(fields) == 3 {
			rest = fields[2]
		}
		r.pick = nil
		r.runPicked(a.Command, item, rest)
		return true
	}
	if _, err := strconv.Atoi(fields[0]); err == nil && len(fields) == 1 {
		r.out.line("choose a number from 1 to %d", len(p.Items))
		return true
	}
	r.pick = nil
	return false
}

// pickItem is the item of a number.
func pickItem(p *event.Pick, number string) (event.PickItem, bool) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(p.Items) {
		return event.PickItem{}, false
	}
	return p.Items[n-1], true
}

// runPicked runs the command of an item of a list.
func (r *repl) runPicked(command string, item event.PickItem, more string) {
	name, args, _ := strings.Cut(command, " ")
	r.command(name, strings.TrimSpace(strings.Join([]string{args, item.ID, more}, " ")))
}
