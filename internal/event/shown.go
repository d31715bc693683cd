package event

import "github.com/lathe-dev/lathe/internal/llm"

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
