package tui

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// examples are prompts that work in any project.
var examples = []string{
	"Explain how this project is built and tested",
	"Find the cause of the failing test and fix it",
	"Review what changed since the last commit",
}

// greeting fills a transcript without a conversation: the folder, examples of prompts, and the last session here. Of a
// low screen only the first part is left.
func (m *model) greeting(width, rows int) []string {
	th := m.look.theme
	if rows < 6 || width < 20 {
		return nil
	}
	cut := func(s string) string { return term.Truncate(term.EscapeLine(s), width, "…") }
	lines := []string{"", cutCells(th.Strong.Render("lathe")+th.Dim.Render(" "+term.EscapeLine(m.options.Version)), width)}
	if place := m.place(); place != "" {
		lines = append(lines, th.Dim.Render(cut(place)))
	}
	lines = append(lines, "")
	if rows >= 16 {
		lines = append(lines, th.Dim.Render("Try:"))
		for _, e := range examples {
			lines = append(lines, "  "+term.Truncate(e, max(width-2, 1), "…"))
		}
		lines = append(lines, "")
		if last := m.lastHere(width - 11); last != "" {
			lines = append(lines, th.Dim.Render("Last here: ")+last, "")
		}
	}
	help := "/ commands · @ files · ! runs a command · # adds to memory · ? keys"
	return append(lines, wrapStyled(help, width, th.Dim)...)
}

// place is the folder, the model and the mode, as far as they are known.
func (m *model) place() string {
	var parts []string
	for _, s := range []string{m.tilde(m.front.Dir), m.state.Model, string(m.state.Mode)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " · ")
}

// lastHere names the newest earlier session of this folder and how to continue it. A long title is truncated.
func (m *model) lastHere(width int) string {
	for _, c := range m.sessions {
		if c.Text == m.front.Session || c.Label == "" {
			continue
		}
		rest := ""
		if c.Help != "" {
			rest = ", " + term.EscapeLine(c.Help)
		}
		rest += " · " + m.keymap.Key(keys.Action("command:resume")) + " goes on with it"
		return term.Truncate(term.Truncate(term.EscapeLine(c.Label), max(width-term.Width(rest), 8), "…")+rest,
			max(width, 1), "…")
	}
	return ""
}

// greets reports that the transcript shows the greeting: it is empty, but for notices from the start.
func (m *model) greets() bool {
	return !slices.ContainsFunc(m.log.items, func(it *item) bool { return it.kind != noticeItem })
}

// askSessions asks for the names of the sessions of this folder.
func (m *model) askSessions() {
	m.spawn(func() any {
		return sessionsMsg{m.complete(event.Query{Kind: event.QueryArgument, Name: "resume", Limit: 8})}
	})
}
