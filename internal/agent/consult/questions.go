package consult

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Questions is the input of AskUserQuestion, with Claude Code's names. Answers is by the text of the question; several
// chosen labels are joined with a comma.
type Questions struct {
	Questions []Question        `json:"questions"`
	Answers   map[string]string `json:"answers,omitempty"`
}

// Question is one of them.
type Question struct {
	Question string   `json:"question"`
	Header   string   `json:"header,omitempty"` // a word or two
	Options  []Option `json:"options"`
	Multi    bool     `json:"multiSelect,omitempty"`
}

// Option is one answer to choose.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Preview     string `json:"preview,omitempty"` // Markdown, shown while the option is the selected one
}

// Bounds of a call.
const (
	maxQuestions = 4
	maxOptions   = 8
	maxText      = 4_000  // bytes of a question or a description
	maxLabel     = 200    // bytes of a label or header
	maxPreview   = 16_000 // bytes
)

// Check refuses questions that nobody could answer. The error is text for the model.
func (q Questions) Check() error {
	if n := len(q.Questions); n == 0 || n > maxQuestions {
		return fmt.Errorf("ask 1 to %d questions, not %d", maxQuestions, n)
	}
	seen := map[string]bool{}
	for i, one := range q.Questions {
		if err := one.check(); err != nil {
			return fmt.Errorf("question %d: %w", i+1, err)
		}
		if seen[one.Question] {
			return fmt.Errorf("question %d is asked twice: answers are told apart by the question's text", i+1)
		}
		seen[one.Question] = true
	}
	return nil
}

func (q Question) check() error {
	switch {
	case strings.TrimSpace(q.Question) == "":
		return errors.New("it has no text")
	case len(q.Question) > maxText || len(q.Header) > maxLabel:
		return fmt.Errorf("its text must be shorter than %d bytes and its header than %d", maxText, maxLabel)
	case len(q.Options) < 2 || len(q.Options) > maxOptions:
		return fmt.Errorf("give 2 to %d options, not %d; the user can always answer in words of their own", maxOptions,
			len(q.Options))
	}
	seen := map[string]bool{}
	for _, o := range q.Options {
		switch {
		case strings.TrimSpace(o.Label) == "":
			return errors.New("an option has no label")
		case len(o.Label) > maxLabel || len(o.Description) > maxText || len(o.Preview) > maxPreview:
			return fmt.Errorf("an option is too long; a label has at most %d bytes, a description %d, a preview %d", maxLabel,
				maxText, maxPreview)
		case seen[o.Label]:
			return fmt.Errorf("two options are called %q", o.Label)
		}
		seen[o.Label] = true
	}
	return nil
}

// Asking is how AskUserQuestion asks.
func Asking() Dialog {
	return Dialog{
		Question: askQuestions, Decide: decideQuestions,
		Nobody: "nobody answers questions in this run; decide yourself, and name your assumptions",
	}
}

func askQuestions(a agent.Approval) (event.Question, error) {
	var in Questions
	if err := json.Unmarshal(a.Call.Input, &in); err != nil {
		return event.Question{}, err
	}
	in.Answers = nil // the model does not answer for the user
	call := a.Call
	call.Input = encode(in)
	out := event.Question{Agent: a.Agent, Title: a.Title, Consult: true, Call: &call}
	for _, q := range in.Questions {
		part := event.Question{Title: q.Header, Text: q.Question, Multi: q.Multi, Free: true}
		for i, o := range q.Options {
			part.Options = append(part.Options, event.Option{
				ID: strconv.Itoa(i), Label: o.Label, Help: o.Description,
				Preview: o.Preview,
			})
		}
		out.Parts = append(out.Parts, part)
	}
	return out, nil
}

func decideQuestions(a agent.Approval, ans event.Answer) permission.Decision {
	var in Questions
	if err := json.Unmarshal(a.Call.Input, &in); err != nil {
		return refused(err.Error(), event.Answer{Text: err.Error()})
	}
	in.Answers = map[string]string{}
	switch {
	case ans.Input != nil:
		if err := in.take(ans.Input); err != nil {
			return refused("the answers cannot be read: "+err.Error(), event.Answer{Text: "ask again"})
		}
	case ans.Canceled || ans.Choice == event.ChoiceNo:
		return refused("the user did not answer", ans)
	default:
		in.choose(ans.Parts)
	}
	if len(in.Answers) == 0 { // a host allowed the call and answered nothing
		return refused("the user did not answer", event.Answer{Text: "decide yourself, and name your assumptions"})
	}
	d := allowed("the user answered")
	d.Input = encode(in)
	return d
}

// choose takes the answers of a dialog, one for each question.
func (q *Questions) choose(parts []event.Answer) {
	for i, one := range q.Questions {
		if i >= len(parts) {
			return
		}
		var labels []string
		for _, id := range append(slices.Clone(parts[i].Choices), parts[i].Choice) {
			if at, err := strconv.Atoi(id); err == nil && at >= 0 && at < len(one.Options) {
				labels = append(labels, one.Options[at].Label)
			}
		}
		if text := strings.TrimSpace(parts[i].Text); text != "" {
			labels = append(labels, text)
		}
		if len(labels) > 0 {
			q.Answers[one.Question] = strings.Join(labels, ", ")
		}
	}
}

// take reads the answers that a host puts into the input: each a text, or a list of labels. Those to other questions do
// not count.
func (q *Questions) take(input json.RawMessage) error {
	var given struct {
		Answers map[string]json.RawMessage `json:"answers"`
	}
	if err := json.Unmarshal(input, &given); err != nil {
		return err
	}
	for _, one := range q.Questions {
		raw, ok := given.Answers[one.Question]
		if !ok {
			continue
		}
		var text string
		var list []string
		switch {
		case json.Unmarshal(raw, &text) == nil:
		case json.Unmarshal(raw, &list) == nil:
			text = strings.Join(list, ", ")
		default:
			return fmt.Errorf("the answer to %q is neither a text nor a list of texts", one.Question)
		}
		if text = strings.TrimSpace(text); text != "" {
			q.Answers[one.Question] = text
		}
	}
	return nil
}

// Result is the answers for the model and for people.
func (q Questions) Result() *agent.Result {
	var b strings.Builder
	b.WriteString("The user answered:\n")
	items := make([]string, 0, len(q.Questions))
	for _, one := range q.Questions {
		text, ok := q.Answers[one.Question]
		if !ok {
			text = "(no answer)"
		}
		fmt.Fprintf(&b, "\n%s\n→ %s\n", one.Question, text)
		items = append(items, one.short()+": "+text)
	}
	r := agent.TextResult(b.String())
	r.Title, r.View = q.Title(), event.TextView{Text: strings.Join(items, "\n")}
	r.Meta = map[string]any{"questions": q.Questions, "answers": maps.Clone(q.Answers)}
	return r
}

// Title is the questions in a few words.
func (q Questions) Title() string {
	var names []string
	for _, one := range q.Questions {
		names = append(names, one.short())
	}
	return strings.Join(names, ", ")
}

func (q Question) short() string {
	if q.Header != "" {
		return oneLine(q.Header, 40)
	}
	return oneLine(q.Question, 60)
}

// oneLine is a text without line ends, cut to n bytes.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// encode writes an input. The types of this package can always be written.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return bytes.TrimSpace(b.Bytes())
}
