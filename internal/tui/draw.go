package tui

import (
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/term"
)

// draw shows the state as it is now, at once or as soon as a frame is due and the terminal takes bytes.
func (m *model) draw(urgent bool) {
	if wait := m.frames.wait(urgent); wait > 0 {
		if !m.frames.armed {
			m.frames.armed = true
			time.AfterFunc(wait, func() { m.program.send(frameMsg{}) })
		}
		return
	}
	if m.term.ready() {
		m.paint()
	}
}

// paint composes a frame and writes what changed.
func (m *model) paint() {
	out := m.screen.paint(m.compose())
	if len(m.extra) > 0 {
		out = append(m.extra, out...)
		m.extra = nil
	}
	if len(out) == 0 {
		return
	}
	m.frames.drawn()
	m.term.write(out)
}

// compose lays the screen out.
func (m *model) compose() frame {
	w, h := m.w, m.h
	status := m.statusLine(w)
	edit, cx, cy := m.edit.view(w, max(1, h/3))
	rows := h - len(edit) - 1 // the status line
	var bar []string
	if rows > 1 {
		bar = []string{m.activity(w)}
		rows--
	}
	rows = max(rows, 0)
	m.log.resize(w, rows)
	lines := make([]string, 0, h)
	lines = append(lines, m.log.view()...)
	for len(lines) < rows {
		lines = append(lines, "")
	}
	lines = append(lines, bar...)
	cy += len(lines)
	lines = append(lines, edit...)
	lines = append(lines, status)
	return frame{lines: lines, cx: cx, cy: cy, cursor: true}
}

// activity is the line between the transcript and the prompt: what goes on, or a hint.
func (m *model) activity(w int) string {
	th := m.look.theme
	var parts []string
	if m.turn.active || m.turn.running > 0 {
		parts = append(parts, m.working())
	}
	if m.log.unseen > 0 {
		parts = append(parts, th.Accent.Render("↓ "+plural(m.log.unseen, "new item")))
	} else if !m.log.follow {
		parts = append(parts, th.Dim.Render("scrolled back · end returns"))
	}
	if m.hint != "" {
		parts = append(parts, th.Dim.Render(term.EscapeLine(m.hint)))
	}
	return strings.Join(parts, "  ")
}

// working says what the turn does.
func (m *model) working() string {
	th := m.look.theme
	sign := "●"
	if !m.look.reduced {
		sign = spinner(m.look.spin)
	}
	text := "Working"
	if m.turn.stopping {
		text = "Interrupting"
	}
	if m.turn.retry != "" {
		text = m.turn.retry
	}
	if d := m.now().Sub(m.turn.began); d >= time.Second {
		text += " " + short(d.Truncate(time.Second))
	}
	line := th.Running.Render(sign + " " + text)
	if !m.turn.stopping {
		line += th.Dim.Render(" · esc interrupts")
	}
	return line
}
