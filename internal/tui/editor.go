package tui

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/term"
)

type editor struct{ text string }

func (e *editor) view(w, h int) (lines []string, x, y int) {
	lines = wrap(term.Escape(e.text), max(w-3, 1))
	if len(lines) > h {
		lines = lines[len(lines)-h:]
	}
	lines = mark(append([]string(nil), lines...), "❯ ", "  ")
	last := lines[len(lines)-1]
	if strings.HasSuffix(e.text, "\n") {
		last = ""
	}
	return lines, max(term.Width(last), 2), len(lines) - 1
}
