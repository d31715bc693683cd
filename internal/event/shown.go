package event

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// ForPeople is the piece as people see it; those who use the text as data read Delta.
func (d Delta) ForPeople() Delta {
	if text, ok := d.Delta.(llm.TextDelta); ok && d.Shown != nil {
		text.Text = *d.Shown
		d.Delta, d.Shown = text, nil
	}
	return d
}

// ForPeople is the part as people see it; those who use the text as data read Part.
func (p PartDone) ForPeople() PartDone {
	if text, ok := p.Part.(llm.Text); ok && p.Shown != nil {
		text.Text = *p.Shown
		p.Part, p.Shown = text, nil
	}
	return p
}

// forPeople puts what lathe tells the model about the user into words for the user.
var forPeople = strings.NewReplacer(
	"Permission denied: the user refused.", "You said no.",
	"Permission denied: the user never allows this in this project.", "You never allow this in this project.",
	" The user says: ", " You said: ", "The user interrupted ", "You interrupted ",
	"the user interrupted ", "you interrupted ",
	"the user refused", "you refused",
)

// ForPeople is the text of an error or a refusal as the user sees it; the model has it in other words.
func (e ToolEnd) ForPeople() string {
	text := e.Result.PlainText()
	if e.Denied || e.Result.IsError {
		text = forPeople.Replace(text)
	}
	return text
}
