package attach

import (
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/memory"
	"github.com/lathe-dev/lathe/internal/prompt"
)

// Notes adds the notes that belong to a message of the user, unless the conversation has them already. A nil store
// has none.
func Notes(store *memory.Store, had []llm.Message, m llm.Message) llm.Message {
	if store == nil {
		return m
	}
	found := store.Recall(authored(m), func(n memory.Note) bool { return hasNote(had, noteHead(n)) })
	if len(found) == 0 {
		return m
	}
	var b strings.Builder
	b.WriteString("<system-reminder>\nNotes of earlier sessions that may matter here. They may be out of date: check before you rely on them.\n")
	for _, n := range found {
		fmt.Fprintf(&b, "\n%s\n%s\n", noteHead(n), prompt.Sanitize(n.Text))
	}
	b.WriteString("</system-reminder>")
	m.Parts = append(m.Parts[:len(m.Parts):len(m.Parts)], llm.Text{Text: b.String(), Origin: llm.OriginMemory})
	return m
}

// noteHead names a note in the state it is in, so that one that was changed is given again.
func noteHead(n memory.Note) string {
	return fmt.Sprintf("Note %s (%s): %s", n.Name, n.Modified.UTC().Format(time.RFC3339), prompt.Sanitize(n.Description))
}

func hasNote(messages []llm.Message, head string) bool {
	for _, m := range messages {
		for _, p := range m.Parts {
			if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginMemory && strings.Contains(t.Text, head) {
				return true
			}
		}
	}
	return false
}
