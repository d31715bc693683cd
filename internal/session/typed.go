package session

import (
	"slices"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Typed is a message as its author wrote it: without the context that lathe put before the text (each piece
// of it is one element, <name ...> ... </name>). A message of such pieces only keeps the last one.
func Typed(m llm.Message) llm.Message {
	n := 0
	for n < len(m.Parts)-1 {
		t, ok := m.Parts[n].(llm.Text)
		if !ok || !wrapped(t.Text) {
			break
		}
		n++
	}
	if n > 0 {
		m.Parts = slices.Clone(m.Parts[n:])
	}
	return m
}
