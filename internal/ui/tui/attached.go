package tui

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// attached are the files that the prompt names, shown as chips below it.
type attached struct {
	text  string // that was asked for last
	files []event.Candidate
}

type attachedMsg struct {
	text  string
	found []event.Candidate
}

// askAttached asks which files the prompt names, when its text has changed.
func (m *model) askAttached() {
	text := m.edit.Naming()
	if text == m.attached.text {
		return
	}
	m.attached.text = text
	if text == "" {
		m.attached.files = nil
		return
	}
	m.spawn(func() any {
		return attachedMsg{text, m.complete(event.Query{Kind: event.QueryAttach, Text: text})}
	})
}

// chips is the line of the files that go with the prompt, each with its tokens; empty when there are none.
func (m *model) chips() string {
	th := m.look.theme
	var b strings.Builder
	room := m.w - 2
	for i, f := range m.attached.files {
		label := term.EscapeLine(f.Text) + " " + f.Help
		rest := len(m.attached.files) - i
		need := term.Width(label) + 2
		if rest > 1 {
			need += len(" +99 files")
		}
		if i > 0 && need > room {
			b.WriteString(th.Dim.Render(term.Truncate("+"+plural(rest, "file"), max(room, 0), "")))
			break
		}
		label = "[" + term.Truncate(label, max(room-2, 1), "…") + "]"
		b.WriteString(th.Badge.Render(label) + " ")
		room -= term.Width(label) + 1
	}
	if b.Len() == 0 {
		return ""
	}
	return cutCells("  "+b.String(), m.w)
}
