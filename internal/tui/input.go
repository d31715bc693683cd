package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lathe-dev/lathe/internal/llm"
)

// twice is how soon a key has to follow itself to count as pressed twice.
const twice = 800 * time.Millisecond

func (m *model) key(k tea.KeyPressMsg) {
	name := k.String()
	switch name {
	case "ctrl+c":
		m.ctrlC()
	case "esc":
		m.interrupt()
	case "enter":
		m.submit(false)
	case "alt+enter":
		m.submit(true)
	case "pgup":
		m.log.scroll(-max(m.log.rows-2, 1))
	case "pgdown":
		m.log.scroll(max(m.log.rows-2, 1))
	case "backspace":
		if r := []rune(m.edit.text); len(r) > 0 {
			m.edit.text = string(r[:len(r)-1])
		}
	case "ctrl+o":
		m.look.all = !m.look.all
		m.log.restyle()
	case "ctrl+z":
		m.suspend()
	default:
		m.edit.text += k.Text
	}
}

func (m *model) paste(s string) { m.edit.text += s }

func (m *model) wheel(w tea.MouseWheelMsg) {
	switch w.Button {
	case tea.MouseWheelUp:
		m.log.scroll(-3)
	case tea.MouseWheelDown:
		m.log.scroll(3)
	}
}

// ctrlC interrupts a turn, empties the editor, and leaves when there is neither and it comes twice.
func (m *model) ctrlC() {
	if m.busy() {
		m.interrupt()
		return
	}
	if m.edit.text != "" {
		m.edit.text = ""
		return
	}
	if now := m.now(); now.Sub(m.quit) < twice {
		m.leave()
	} else {
		m.quit = now
		m.say("ctrl+c again leaves")
	}
}

// leave ends the loop.
func (m *model) leave() { m.cancel(errQuit) }

func (m *model) submit(after bool) {
	text := strings.TrimSpace(m.edit.text)
	if text == "" {
		return
	}
	m.edit.text = ""
	m.send(llm.UserText(text), after)
}
