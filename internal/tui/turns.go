package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/lathe-dev/lathe/internal/llm"
)

// hintTime is how long a hint stays.
const hintTime = 3 * time.Second

// spinTime is how long a picture of what moves stays.
const spinTime = 120 * time.Millisecond

// busy reports that a turn runs or is about to.
func (m *model) busy() bool { return m.turn.active || m.turn.running > 0 }

// send gives the session a message: as the prompt of a turn, or, while one runs, into it.
func (m *model) send(msg llm.Message, after bool) {
	m.log.end()
	if m.busy() {
		m.spawn(func() tea.Msg {
			if m.session.Steer(msg, after) {
				return nil
			}
			return unsteeredMsg{msg}
		})
		return
	}
	m.prompt(msg)
}

// unsteeredMsg brings back a message that came too late for its turn.
type unsteeredMsg struct{ message llm.Message }

func (m *model) prompt(msg llm.Message) {
	m.turn.running++
	m.turns++
	m.turn.began, m.turn.stopping, m.turn.retry = m.now(), false, ""
	m.startSpin()
	m.spawn(func() tea.Msg { return promptMsg{m.session.Prompt(m.ctx, msg)} })
}

func (m *model) prompted(err error) {
	m.turn.running--
	if err != nil && m.ctx.Err() == nil && err != context.Canceled {
		m.tell("error", err.Error())
	}
	if !m.busy() {
		m.turn.stopping = false
	}
}

// interrupt ends the running turn. What is shown changes at once, whatever the session does.
func (m *model) interrupt() {
	if !m.busy() {
		return
	}
	m.turn.stopping = true
	m.spawn(func() tea.Msg { m.session.Interrupt(); return nil })
}

// say shows a hint for a moment.
func (m *model) say(hint string) {
	m.hint, m.hintTil = hint, m.now().Add(hintTime)
	time.AfterFunc(hintTime+time.Millisecond, func() { m.program.send(hintMsg{}) })
}

// hintMsg says that a hint may be over.
type hintMsg struct{}

// tell adds a notice to the transcript.
func (m *model) tell(level, text string) {
	m.log.add(&item{kind: noticeItem, look: &m.look, level: level, text: text})
}

// startSpin keeps pictures moving while a turn runs.
func (m *model) startSpin() {
	if !m.turn.spinning {
		m.turn.spinning = true
		time.AfterFunc(m.spinTime(), func() { m.program.send(spinMsg{}) })
	}
}

func (m *model) spinTime() time.Duration {
	if m.look.reduced {
		return time.Second // the seconds still count
	}
	return spinTime
}

func (m *model) spin() {
	m.turn.spinning = false
	if !m.busy() {
		return
	}
	m.look.spin++
	for _, it := range m.parts {
		if it.tool != nil {
			it.touch()
		}
	}
	m.startSpin()
}

func (m *model) resize() {
	m.w, m.h = m.term.size()
	m.screen.resize(m.w, m.h)
}

// suspend stops the process as ctrl+z does in a shell, and goes on when it is continued.
func (m *model) suspend() {
	if !canSuspend {
		return
	}
	m.term.stopReading()
	m.term.leave("")
	m.stopSignals()
	stopSelf()
	m.watchSignals()
	m.comeBack()
}

// comeBack takes the terminal again after somebody else had it.
func (m *model) comeBack() {
	if err := m.term.enter(); err != nil {
		m.cancel(err)
		return
	}
	if err := m.read(); err != nil {
		m.cancel(err)
		return
	}
	m.w, m.h = m.term.size()
	m.screen.resize(m.w, m.h)
	m.screen.forget()
}
