package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// draw shows the state as it is now, at once or as soon as a frame is due and the terminal takes bytes.
func (m *model) draw(urgent bool) {
	if m.away.Load() {
		return
	}
	if wait := m.frames.wait(urgent); wait > 0 && !m.printsOn() {
		if !m.frames.armed {
			m.frames.armed = true
			m.later(wait, frameMsg{})
		}
		return
	}
	if m.term.ready() {
		m.paint()
	}
}

// paint composes a frame and writes the changes.
func (m *model) paint() {
	var f frame
	if m.options.Inline {
		if !m.sized() {
			return
		}
		f = m.composeInline()
	} else {
		f = m.compose()
	}
	m.unlistedDrawn = true
	out := m.screen.paint(f)
	if len(m.extra) > 0 {
		out = append(m.extra, out...)
		m.extra = nil
	}
	if len(out) == 0 {
		return
	}
	out = m.askAfter(out)
	if len(m.unprinted) == 0 {
		m.frames.drawn()
	}
	m.term.write(out)
	m.dialogs.Drawn()
}

// compose lays out the whole screen.
func (m *model) compose() frame {
	f, popup := m.bottom(m.h - 1)
	rows := m.h - len(f.lines)
	width := m.w
	side := m.side && m.w >= sideScreen && rows > 0
	if side {
		width -= sideWidth
	}
	m.log.resize(width, rows)
	m.log.picked, m.log.mark = m.pick.it, m.look.theme.Accent.Render("▼")
	lines := make([]string, 0, m.h)
	for _, l := range m.log.view() {
		lines = append(lines, m.marked(l))
	}
	if m.greets() {
		if g := m.greeting(width, rows); len(lines) == 0 || len(lines)+len(g) <= rows {
			lines = append(lines, g...)
		}
	}
	for len(lines) < rows {
		lines = append(lines, "")
	}
	overlay(lines, m.toasts.Lines(width, m.look.theme))
	if side {
		lines = m.beside(lines, width)
	}
	f.cy += len(lines)
	lines = append(lines, f.lines...)
	overlay(lines[:min(len(lines), rows+m.above)], popup)
	if m.w < tightest {
		for i := range lines {
			lines[i] = cutCells(lines[i], m.w)
		}
	}
	f.lines = lines
	return f
}

// tightest is the width below which not every part of the screen has a layout, so that rows are cut.
const tightest = 16

// overlay puts over over the last of lines.
func overlay(lines, over []string) {
	if n := len(over) - len(lines); n > 0 {
		over = over[n:]
	}
	copy(lines[len(lines)-len(over):], over)
}

// bottom is the part below the transcript, in at most height rows: the activity, the prompt or a dialog, and
// the status line. Popup is the list of completions, to be laid over the rows above the prompt. Of a low screen
// the prompt is the last to go.
func (m *model) bottom(height int) (f frame, popup []string) {
	th := m.look.theme
	f.cursor = true
	var prompt []string
	status := m.statusLines(m.w)
	switch top := m.dialogs.Top(); {
	case top != nil:
		prompt = m.dialogs.Lines(m.w, max(height-len(status)-min(height/5, 6), 1), th)
		var ok bool
		if f.cx, f.cy, ok = top.Cursor(); !ok {
			f.cursor = false
		}
	case m.find.open:
		line, x := m.findLine(m.w)
		prompt, f.cx = []string{line}, x
	default:
		prompt, f.cx, f.cy = m.edit.View(m.w, max(height/3, 1))
		popup = m.edit.Popup(m.w, max(min(height/2, 12), 1))
		if chips := m.chips(); chips != "" && height >= leastRuled {
			prompt = append(prompt, chips)
		}
		if height >= leastRuled {
			prompt = append([]string{m.rule()}, prompt...)
			f.cy++
		}
	}
	m.above = 0
	for _, part := range [][]string{m.activity(), m.queueLines(), m.todoLines()} {
		if len(part) > 0 && len(f.lines)+len(part)+len(prompt)+len(status) < height {
			f.lines = append(part, f.lines...)
			m.above += len(part)
		}
	}
	f.cx, f.cy = min(max(f.cx, 0), max(m.w-1, 0)), min(f.cy, max(len(prompt)-1, 0))+len(f.lines)
	f.lines = append(f.lines, prompt...)
	if room := height + 1 - len(f.lines); room < len(status) {
		status = status[:max(room, 0)]
	}
	f.lines = append(f.lines, status...)
	return f, popup
}

// leastRuled is the height from which a rule is above the prompt.
const leastRuled = 10

// rule is the line above the prompt, in the colour of the mode.
func (m *model) rule() string {
	st := m.modeStyle()
	if st == m.look.theme.Dim {
		st = m.look.theme.Border
	}
	return st.Render(strings.Repeat("─", m.w))
}

// activity is the line above the prompt: the running work, the position of the view, or a hint. It is one line, but for
// a long one about a retry.
func (m *model) activity() []string {
	th := m.look.theme
	var parts, out []string
	if m.runs() {
		out = m.working()
		parts, out = append(parts, out[len(out)-1]), out[:len(out)-1]
	}
	switch {
	case m.options.Inline:
	case m.log.unseen > 0:
		parts = append(parts, th.Accent.Render("↓ "+plural(m.log.unseen, "new item")))
	case !m.log.follow:
		parts = append(parts, th.Dim.Render("↑ scrolled back · "+m.keymap.Key("scroll:bottom")+" returns"))
	}
	if pending := m.keys.Pending(); pending != "" {
		parts = append(parts, th.Key.Render(pending+" …"))
	}
	if m.pick.on {
		parts = append(parts, th.Dim.Render("enter: all of it · y: copy · esc: back to the prompt"))
	}
	if m.hint != "" {
		parts = append(parts, th.Dim.Render(term.EscapeLine(m.hint)))
	}
	if notice := m.cacheNotice(); notice != "" && len(parts) == 0 {
		parts = append(parts, th.Dim.Render(notice))
	}
	return append(out, cutCells(strings.Join(parts, "  "), m.w))
}

// working describes the running turn in one line, or more for the reason of a retry.
func (m *model) working() []string {
	th := m.look.theme
	sign := "●"
	if !m.look.reduced {
		sign = spinner(m.look.spin)
	}
	text, began := "Working", m.turn.began
	switch {
	case !m.busy() && !m.anyCall():
		text, began = "Running /"+term.EscapeLine(m.slow.name), m.slow.began
	case !m.busy():
		text, began = "Running your command", time.Time{} // which shows how long it runs
	case !m.turn.retry.at.IsZero() && m.turn.stopping.IsZero():
		return m.retrying(sign)
	case m.dialogs.Len() > 0:
		text = "Waiting for you"
	case !m.anyCall() && !m.turn.heard.IsZero() && m.now().Sub(m.turn.heard) >= unanswered:
		text, began = "No answer for", m.turn.heard
	}
	if !m.turn.stopping.IsZero() {
		text = "Interrupting"
	}
	if d := m.now().Sub(began); !began.IsZero() && d >= time.Second {
		text += " " + seconds(d)
	}
	text = sign + " " + text
	ways := m.ways()
	for _, shorter := range shorterWays {
		if term.Width(text)+term.Width(ways) > m.w {
			ways = strings.Replace(ways, shorter[0], shorter[1], 1)
		}
	}
	return []string{th.Running.Render(text) + th.Dim.Render(ways)}
}

// unanswered is how long the model may be silent before the user is told.
const unanswered = 20 * time.Second

// shorterWays are pairs of a phrase in ways and its shorter form for a narrow screen.
var shorterWays = [][2]string{
	{" sends the command to the background", " to background"},
	{" to background", " background"},
	{"esc interrupts", "esc stops"},
	{" background", " bg"},
}

// seconds is a duration that counts up, without fractions.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return strconv.Itoa(int(d.Seconds())) + "s"
	}
	return short(d)
}

// ways are the keys that stop the running work or send it to the background.
func (m *model) ways() string {
	if !m.turn.stopping.IsZero() || m.dialogs.Top() != nil { // a dialog has its own meaning for esc
		return ""
	}
	s := " · esc interrupts"
	if m.waiting() {
		s = " · esc sends your message now"
	}
	if key := m.keymap.Key(keys.Background); key != "" && m.calling() {
		s += " · " + key + " sends the command to the background"
	}
	return s
}

// retrying shows why a request is sent again, and counts down to it.
func (m *model) retrying(sign string) []string {
	th, r := m.look.theme, m.turn.retry
	when := "now"
	if left := r.at.Sub(m.now()); left > 0 {
		when = "in " + (left + time.Second - 1).Truncate(time.Second).String()
	}
	out := wrap(sign+" "+term.EscapeLine(r.Err), m.w)
	if most := max(m.h/4, 1); len(out) > most {
		out = append(out[:most-1:most-1], term.Truncate(strings.Join(out[most-1:], " "), m.w, "…"))
	}
	for i := range out {
		out[i] = th.Warn.Render(out[i])
	}
	again := fmt.Sprintf("  trying again %s (%d of %d)", when, r.Attempt, r.Max)
	if ways := m.ways(); len(again)+len(ways) <= m.w {
		return append(out, th.Running.Render(again)+th.Dim.Render(ways))
	}
	return append(out, th.Running.Render(again), th.Dim.Render(strings.Replace(m.ways(), " · ", "  ", 1)))
}

// mostQueued is how many of the waiting messages are shown.
const mostQueued = 3

// queueLines are the messages that were not delivered yet.
func (m *model) queueLines() []string {
	th := m.look.theme
	var out []string
	add := func(text, when string) {
		out = append(out, th.Dim.Render("⤷ "+term.Truncate(term.EscapeLine(text), max(m.w-len(when)-5, 1), "…")+" ("+when+
			")"))
	}
	for _, w := range m.state.Waiting {
		when := "next step"
		if w.After {
			when = "after the turn"
		}
		add(w.Text, when)
	}
	if len(out) > mostQueued {
		out = append(out[:mostQueued-1:mostQueued-1], th.Dim.Render("⤷ "+plural(len(out)-mostQueued+1, "more message")))
	}
	return out
}

// mostTodos is how many tasks are shown above the prompt.
const mostTodos = 6

// todoLines are the tasks, while a turn works on them and no sidebar shows them.
func (m *model) todoLines() []string {
	todos := m.state.Todos
	if !m.todos || !m.busy() || len(todos) == 0 || m.side && m.w >= sideScreen || m.h < 20 {
		return nil
	}
	for len(todos) > mostTodos && todos[0].Status == "completed" {
		todos = todos[1:]
	}
	var out []string
	for _, t := range todos[:min(len(todos), mostTodos)] {
		out = append(out, m.todoLine(t, m.w))
	}
	return out
}
