package tui

import (
	"slices"
	"strings"
	"time"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// twice is how soon a key has to follow itself to count as pressed twice.
const twice = 800 * time.Millisecond

// contexts are where the user is, innermost first.
func (m *model) contexts() []keys.Context {
	if top := m.dialogs.Top(); top != nil {
		return top.Contexts()
	}
	switch {
	case m.find.open:
		return []keys.Context{keys.Select, keys.Chat}
	case m.pick.on:
		return []keys.Context{keys.Transcript, keys.Scroll}
	}
	in := m.edit.Contexts()
	if m.calling() {
		in = append([]keys.Context{keys.Task}, in...)
	}
	return append(in, keys.Scroll)
}

// key handles a key press.
func (m *model) key(k uv.KeyPressEvent) {
	m.typed, m.hint = m.now(), ""
	m.follow()
	press := m.keys.Press(k, m.contexts()...)
	switch {
	case press.Pending:
		return
	case press.Unknown != "":
		m.say(press.Unknown + " does nothing")
		return
	}
	if m.dialogs.Top() != nil {
		m.dialogKey(k, press)
		return
	}
	for _, hit := range press.Hits {
		if m.do(hit) {
			return
		}
	}
	if k.Text != "" {
		m.text(k.Text)
	}
}

// text handles typed or pasted text.
func (m *model) text(s string) {
	switch {
	case m.find.open:
		m.find.text += oneLine(s)
		m.findFrom(0)
		return
	case m.pick.on:
		m.pick.on = false
	}
	m.outs(m.edit.Type(s))
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

func (m *model) paste(s string) {
	m.typed = m.now()
	if m.dialogs.Top() != nil {
		m.tellDialog(dialog.Key{Text: s})
		return
	}
	if m.find.open || m.pick.on {
		m.text(s)
		return
	}
	m.outs(m.edit.Paste(s))
}

// dialogKey gives a key to the dialog in front, except for global bindings.
func (m *model) dialogKey(k uv.KeyPressEvent, press keys.Press) {
	var actions []keys.Action
	for _, hit := range press.Hits {
		if hit.Context != keys.Global {
			actions = append(actions, hit.Action)
		}
	}
	list, takes := m.dialogs.Top().(interface{ Takes(name string) bool })
	if own := takes && list.Takes(keys.Stroke(k)); !own && len(actions) == 0 && k.Text == "" {
		for _, hit := range press.Hits {
			if m.everywhere(hit.Action) {
				return
			}
		}
	}
	m.tellDialog(dialog.Key{Actions: actions, Text: k.Text, Name: keys.Stroke(k)})
}

func (m *model) tellDialog(k dialog.Key) {
	top := m.dialogs.Top()
	m.finish(top, m.dialogs.Key(k))
}

// do carries an action out. False: it does not apply here, and the next one is tried.
func (m *model) do(hit keys.Hit) bool {
	a := hit.Action
	switch {
	case hit.Context == keys.Global:
		return m.everywhere(a)
	case m.find.open:
		return m.inFind(a)
	}
	switch hit.Context {
	case keys.Scroll:
		return m.scrollBy(a)
	case keys.Transcript:
		return m.onItem(a)
	case keys.Task:
		if a == keys.Background {
			m.command("background", "")
		}
		return a == keys.Background
	}
	if name, ok := strings.CutPrefix(string(a), "command:"); ok {
		m.commandLine(name)
		return true
	}
	return m.inPrompt(a)
}

// inPrompt handles the actions that the editor does not know, and gives it the rest.
func (m *model) inPrompt(a keys.Action) bool {
	switch a {
	case keys.Cancel:
		m.escape()
		return true
	case keys.CycleMode:
		m.nextMode()
		return true
	case keys.ShowKeys:
		if !m.edit.Empty() || m.edit.Text() != "" {
			return false // it is a character
		}
		m.showKeys()
		return true
	case keys.ChooseModel:
		m.command("model", "")
		return true
	case keys.ToggleThinking:
		m.command("effort", "")
		return true
	case keys.Left:
		if m.options.Job != "" && m.edit.Empty() && m.edit.Text() == "" && len(m.edit.Contexts()) == 1 {
			m.stay, m.list = true, true
			m.leave()
			return true
		}
	case keys.HistoryBack:
		if m.waiting() && m.edit.Empty() && slices.Equal(m.edit.Contexts(), []keys.Context{keys.Chat}) {
			m.unqueue()
			return true
		}
	}
	outs, handled := m.edit.Do(a)
	m.outs(outs)
	return handled
}

// everywhere handles global actions.
func (m *model) everywhere(a keys.Action) bool {
	switch a {
	case keys.Interrupt:
		m.ctrlC()
	case keys.Exit:
		m.leaveTwice("ctrl+d")
	case keys.Suspend:
		m.suspend()
	case keys.Redraw:
		m.screen.forget()
	case keys.Palette:
		m.palette()
	case keys.ToggleTodos:
		m.todos = !m.todos
	case keys.ToggleTranscript:
		m.expandAll()
	case keys.ToggleSidebar:
		m.toggleSidebar()
	case keys.ShowKeys:
		m.showKeys()
	default:
		name, ok := strings.CutPrefix(string(a), "command:")
		if ok {
			m.commandLine(name)
		}
		return ok
	}
	return true
}

// escape interrupts a turn; pressed twice while nothing runs and nothing is typed, it goes back to an earlier
// message.
func (m *model) escape() {
	switch now := m.now(); {
	case m.runs():
		m.interrupt()
	case m.edit.Empty() && now.Sub(m.escaped) < twice:
		m.escaped = time.Time{}
		m.command("rewind", "")
	case m.edit.Empty() && slices.ContainsFunc(m.log.items, func(it *item) bool { return it.kind == userItem }):
		m.escaped = now
		m.say("esc again goes back to an earlier message")
	default:
		_, _ = m.edit.Do(keys.Cancel)
	}
}

// ctrlC interrupts the turn or command, empties the editor, and leaves when there is neither and it comes twice; also
// when a turn does not end though it was interrupted.
func (m *model) ctrlC() {
	switch {
	case m.runs() && (m.turn.stopping.IsZero() || m.now().Sub(m.turn.stopping) < twice):
		m.interrupt()
	case m.dialogs.Top() == nil && !m.runs() && !m.edit.Empty():
		if _, ok := m.edit.Do(keys.ClearInput); !ok {
			m.edit.SetText("")
		}
	default:
		m.leaveTwice("ctrl+c")
	}
}

// leaveTwice leaves when it is called twice in short order.
func (m *model) leaveTwice(key string) {
	if now := m.now(); now.Sub(m.leaving) < twice {
		m.leaveAsking()
	} else {
		m.leaving = now
		m.say(key + " again leaves")
	}
}

// leave ends the loop.
func (m *model) leave() { m.cancel(errQuit) }

func (m *model) expandAll() {
	m.look.all = !m.look.all
	m.log.restyle()
	switch {
	case m.options.Inline && m.look.all:
		m.say("new output is shown in full")
	case m.options.Inline:
		m.say("new output is shown short")
	}
}

// scrollBy moves through the transcript. The screen of an inline terminal is moved by the terminal.
func (m *model) scrollBy(a keys.Action) bool {
	if m.options.Inline {
		return false
	}
	page := max(m.log.rows-2, 1)
	switch a {
	case keys.LineUp:
		m.log.scroll(-1)
	case keys.LineDown:
		m.log.scroll(1)
	case keys.HalfPageUp:
		m.log.scroll(-max(page/2, 1))
	case keys.HalfPageDown:
		m.log.scroll(max(page/2, 1))
	case keys.PageUp:
		m.log.scroll(-page)
	case keys.PageDown:
		m.log.scroll(page)
	case keys.Top:
		m.log.top()
	case keys.Bottom:
		m.log.end()
	case keys.PreviousMessage:
		m.choose(-1)
	case keys.NextMessage:
		m.choose(1)
	case keys.Search:
		m.openFind()
	default:
		return false
	}
	return true
}
