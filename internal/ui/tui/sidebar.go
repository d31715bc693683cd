package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// Widths of the sidebar, and of the screen that has room for one.
const (
	sideWidth  = 34
	sideScreen = 90
)

// sessionsMsg brings the sessions for the sidebar.
type sessionsMsg struct{ found []event.Candidate }

func (m *model) toggleSidebar() {
	m.side = !m.side
	if m.side && m.w < sideScreen {
		m.say(fmt.Sprintf("the sidebar needs %d columns", sideScreen))
	}
	m.loadSessions()
}

// loadSessions asks for the names of other sessions, when they are shown. Reading them takes as long as all
// else up to the first frame, so the request waits until a frame without them is on the screen.
func (m *model) loadSessions() {
	if m.side || m.greets() {
		m.unlisted, m.unlistedDrawn = true, false
	}
}

// askUnlisted sends the request that loadSessions left, once the frame drawn without its answer was written.
func (m *model) askUnlisted() {
	if m.unlisted && m.unlistedDrawn && m.term.ready() {
		m.unlisted = false
		m.askSessions()
	}
}

// sidebar draws the column beside the transcript: the session, its tasks, the files it changed, other sessions.
func (m *model) sidebar(width, rows int) []string {
	th := m.look.theme
	var out []string
	head := func(s string) {
		if len(out) > 0 {
			out = append(out, "")
		}
		out = append(out, th.Heading3.Render(s))
	}
	row := func(s string) { out = append(out, s) }
	cut := func(s string) string { return term.Truncate(term.EscapeLine(s), width, "…") }
	if m.state.Title != "" {
		row(th.Strong.Render(cut(m.state.Title)))
	}
	if len(m.state.Todos) > 0 {
		head("Tasks")
		for _, t := range m.state.Todos {
			row(m.todoLine(t, width))
		}
	}
	if len(m.state.Changed) > 0 {
		head("Changed files")
		for _, c := range m.state.Changed {
			counts := fmt.Sprintf("+%d -%d", c.Added, c.Removed)
			path := middleCells(term.EscapeLine(m.relative(c.Path)), max(width-len(counts)-1, 1))
			row(path + " " + th.Good.Render(fmt.Sprintf("+%d", c.Added)) + " " + th.Bad.Render(fmt.Sprintf("-%d", c.Removed)))
		}
	}
	if len(m.state.Servers) > 0 {
		head("Language servers")
		for _, s := range m.state.Servers {
			row(cut(serverLine(s)))
		}
	}
	if len(m.sessions) > 0 {
		head("Sessions")
		for _, c := range m.sessions {
			label := c.Label
			if label == "" {
				label = c.Help
			}
			if label == "" {
				label = c.Text
			}
			row(th.Dim.Render(cut(label)))
		}
	}
	if len(out) == 0 {
		row(th.Dim.Render("nothing yet"))
	}
	return out[:min(len(out), rows)]
}

// relative is a path as people write it: below the session's folder without that, below the home with ~.
func (m *model) relative(path string) string {
	if rel, err := filepath.Rel(m.front.Dir, path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
		return rel
	}
	return m.tilde(path)
}

// tilde is a path with ~ for the home.
func (m *model) tilde(path string) string {
	if home := m.options.Getenv("HOME"); home != "" && home != "/" {
		if rest, ok := strings.CutPrefix(path, home+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}

// todoLine is one task, its state shown by a sign.
func (m *model) todoLine(t event.TodoItem, width int) string {
	th := m.look.theme
	text, sign, st := t.Content, "○", th.Text
	switch t.Status {
	case "completed":
		sign, st = "✓", th.Dim
	case "in_progress":
		sign, st = "◐", th.Strong
		if t.ActiveForm != "" {
			text = t.ActiveForm
		}
	}
	return st.Render(sign + " " + term.Truncate(term.EscapeLine(text), max(width-2, 1), "…"))
}

// beside puts the sidebar to the right of lines that are at most width wide.
func (m *model) beside(lines []string, width int) []string {
	bar := m.sidebar(sideWidth-3, len(lines))
	rule := m.look.theme.Border.Render("│")
	for i, l := range lines {
		var b strings.Builder
		b.WriteString(l)
		fmt.Fprintf(&b, "\x1b[m\x1b[%dG", width+1) // resolved by the screen: it pads to the column
		b.WriteString(rule)
		if i < len(bar) {
			b.WriteString(" " + bar[i])
		}
		lines[i] = b.String()
	}
	return lines
}

// serverLine is a language server with its state, memory and diagnostics.
func serverLine(s event.LanguageServer) string {
	line := s.Name + " " + s.State
	if s.Memory > 0 {
		line += fmt.Sprintf(", %d MB", s.Memory>>20)
	}
	if s.Errors > 0 {
		line += ", " + plural(s.Errors, "error")
	}
	if s.Warnings > 0 {
		line += ", " + plural(s.Warnings, "warning")
	}
	return line
}
