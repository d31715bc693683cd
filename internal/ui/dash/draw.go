package dash

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// draw lays the screen out: the list or the peek, and two lines at the bottom.
func (m *model) draw() (lines []string, x, y int) {
	room := max(m.h-3, 1)
	if m.peek != nil {
		lines = m.drawPeek(room)
	} else {
		lines = m.drawList(room)
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	lines = append(lines[:room], line.Join(m.w, line.Span{Text: strings.Repeat("─", max(m.w, 1)), Style: m.theme.Faint}))
	field, x := m.field()
	return append(lines, field, m.hint()), x, room + 1
}

// field is the line that takes text.
func (m *model) field() (text string, x int) {
	label := map[doing]string{starting: "❯ ", renaming: "new name: ", filtering: "filter: "}[m.doing]
	shown := term.EscapeLine(m.text)
	for room := max(m.w-term.Width(label)-1, 1); term.Width(shown) > room; { // its end is what is typed
		n, _ := term.Cluster(shown, 0)
		shown = shown[n:]
	}
	spans := []line.Span{{Text: label, Style: m.theme.Accent}, {Text: shown}}
	if m.text == "" && m.doing == starting {
		spans = append(spans, line.Span{Text: m.placeholder(), Style: m.theme.Placeholder})
	}
	return line.Join(m.w, spans...), term.Width(label) + term.Width(shown)
}

func (m *model) placeholder() string {
	switch {
	case m.peek == nil:
		return "what should a new session do? (@folder at the beginning: elsewhere)"
	case m.peek.question() != nil:
		return "your answer"
	}
	return "a prompt for this session"
}

// hint is the last line: a note, or the keys.
func (m *model) hint() string {
	if m.note != "" {
		return line.Join(m.w, line.Span{Text: term.EscapeLine(flat(m.note)), Style: m.theme.Warn})
	}
	text := "space look in · enter attach · ctrl+x stop · ctrl+t pin · ctrl+r rename · ctrl+f filter · ctrl+c leave"
	switch {
	case m.doing == renaming:
		text = "enter renames · esc goes back"
	case m.doing == filtering:
		text = "enter keeps the filter · esc shows all"
	case m.peek != nil:
		text = "left goes back · enter attaches · up and down scroll"
	case m.text != "":
		text = "enter starts the session · esc clears"
	}
	return line.Join(m.w, line.Span{Text: text, Style: m.theme.Dim})
}

// drawList lays the groups out, so that the chosen row is shown.
func (m *model) drawList(room int) (lines []string) {
	head := []line.Span{{Text: "lathe", Style: m.theme.Title}, {Text: m.counts(), Style: m.theme.Dim}}
	if m.filter != "" {
		head = append(head, line.Span{Text: "  filter: " + term.EscapeLine(m.filter), Style: m.theme.Accent})
	}
	chosen, last := 0, group(-1)
	for _, j := range m.jobs {
		if g := groupOf(j); g != last {
			lines = append(lines, "", line.Join(m.w, line.Span{Text: groupNames[g], Style: m.theme.Strong}))
			last = g
		}
		if j.ID == m.chosen {
			chosen = len(lines)
		}
		lines = append(lines, m.row(j))
	}
	if len(m.jobs) == 0 {
		lines = append(lines, "", line.Join(m.w, line.Span{Text: m.empty(), Style: m.theme.Dim}))
	}
	room--
	m.top = min(m.top, max(len(lines)-room, 0))
	if chosen < m.top+2 { // with the name of its group
		m.top = max(chosen-2, 0)
	}
	m.top = max(m.top, chosen-room+1)
	return append([]string{line.Join(m.w, head...)}, lines[m.top:min(m.top+room, len(lines))]...)
}

func (m *model) empty() string {
	if m.filter != "" {
		return "The filter lets no session through."
	}
	return "There are no sessions yet: write what one should do, and press enter."
}

func (m *model) counts() string {
	var n [len(groupNames)]int
	for _, j := range m.jobs {
		n[groupOf(j)]++
	}
	return fmt.Sprintf("  %d need you, %d working, %d done", n[needsYou], n[working], n[done])
}

// How wide the parts of a row are.
const (
	nameWidth = 28
	ageWidth  = 5
)

// row is the line of a session.
func (m *model) row(j supervisor.Job) string {
	mark, symbol, style := "  ", theme.Done, m.theme.Text
	switch {
	case j.State == supervisor.Blocked:
		symbol = theme.Waiting
	case j.State == supervisor.Working:
		symbol = theme.Running
	case j.State == supervisor.Failed:
		symbol = theme.Failed
	case j.State == supervisor.Stopped:
		symbol = theme.Denied
	}
	if j.ID == m.chosen {
		mark, style = "❯ ", m.theme.Selected
	}
	name := term.EscapeLine(title(j))
	if m.pins[j.ID] {
		name = "◆ " + name
	}
	right := fmt.Sprintf("%*s", ageWidth, age(m.now.Sub(j.Changed)))
	if pr := m.pulls[j.CWD].text; pr != "" {
		right = term.EscapeLine(pr) + right
	}
	wide := max(min(nameWidth, m.w/3), 1)
	room := max(m.w-term.Width(mark)-2-wide-2-term.Width(right)-1, 0)
	return line.Join(m.w,
		line.Span{Text: mark, Style: m.theme.Accent}, line.Span{Text: symbol.Symbol() + " ", Style: m.theme.State(symbol)},
		line.Span{Text: padded(name, wide), Style: style}, line.Span{Text: "  "},
		line.Span{Text: padded(term.EscapeLine(flat(activity(j))), room), Style: m.theme.Dim},
		line.Span{Text: " " + right, Style: m.theme.Faint})
}

// activity is what a session does, in a line.
func activity(j supervisor.Job) string {
	switch {
	case j.State == supervisor.Blocked && j.WaitingFor != "":
		return strings.TrimSuffix("waits for: "+j.WaitingFor+" · "+j.Activity, " · ")
	case j.State == supervisor.Failed || j.State == supervisor.Stopped:
		return strings.TrimSuffix(string(j.State)+" · "+j.Activity, " · ")
	}
	return j.Activity
}

// padded is text that takes exactly that many cells.
func padded(text string, cells int) string {
	text = term.Truncate(text, cells, "…")
	return text + strings.Repeat(" ", max(cells-term.Width(text), 0))
}
