package tui

import (
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/term"
	"github.com/lathe-dev/lathe/internal/tui/theme"
)

// Sizes of what is shown of calls.
const (
	tailLines = 5    // of a command that runs
	tailBytes = 8192 // that are kept of its output until it ends
)

// tail is the end of the output of a command that runs.
type tail struct {
	text string
	cut  bool
}

func (t *tail) add(s string) {
	t.text += s
	if len(t.text) > 2*tailBytes {
		t.text, t.cut = strings.ToValidUTF8(t.text[len(t.text)-tailBytes:], ""), true
	}
}

// last are the last n lines.
func (t *tail) last(n int) []string {
	lines := strings.Split(strings.TrimRight(t.text, "\r\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return lines
}

func (it *item) renderTool(width int) []string {
	out := []string{it.callLine(width)}
	for _, l := range it.callBody(max(width-2, 1)) {
		if l != "" {
			l = "  " + l
		}
		out = append(out, l)
	}
	return out
}

// callLine is the one line that says what a call is and where it stands.
func (it *item) callLine(width int) string {
	th, c := it.look.theme, it.tool
	sign := c.state.Symbol()
	if c.state == theme.Running && !it.look.reduced {
		sign = theme.Spinner[it.look.spin%len(theme.Spinner)]
	}
	note := c.note(it.look.now())
	title := term.EscapeLine(c.title)
	name := term.EscapeLine(c.call.Name)
	if title == "" || title == name {
		title, name = name, ""
	}
	room := width - 2
	if name != "" {
		room -= term.Width(name) + 1
	}
	if note != "" {
		room -= term.Width(note) + 2
	}
	line := th.State(c.state).Render(sign) + " "
	if name != "" {
		line += th.Strong.Render(name) + " "
	}
	line += term.Truncate(title, max(room, 4), "…")
	if note != "" {
		line += "  " + th.Dim.Render(note)
	}
	return line
}

// note says in words how a call went, where the sign alone might not, and how long it took.
func (c *call) note(now time.Time) string {
	switch c.state {
	case theme.Waiting:
		return "waiting"
	case theme.Denied:
		return "denied"
	case theme.Failed:
		return "failed"
	case theme.Running:
		if d := now.Sub(c.began); !c.began.IsZero() && d >= 2*time.Second {
			return short(d)
		}
	case theme.Done:
		if c.took >= time.Second {
			return short(c.took)
		}
	}
	return ""
}

// callBody is what is shown below the line.
func (it *item) callBody(width int) []string {
	c, th := it.tool, it.look.theme
	if c.state == theme.Running {
		if c.tail.text == "" {
			return nil
		}
		var out []string
		for _, l := range c.tail.last(tailLines) {
			out = append(out, th.Dim.Render(term.Truncate(untab(term.Escape(strings.TrimRight(l, "\r"))), width, "…")))
		}
		return out
	}
	text := c.text
	if v, ok := c.view.(event.Command); ok {
		text = v.Output
	}
	if text == "" {
		return nil
	}
	lines := wrap(term.Escape(text), width)
	if most := 4; len(lines) > most && !it.expanded() {
		lines = append(lines[:most-1:most-1], "… "+plural(len(lines)-most+1, "more line"))
	}
	for i := range lines {
		lines[i] = th.Dim.Render(lines[i])
	}
	return lines
}

// short is a duration in a few characters.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return d.Round(time.Minute).String()
}
