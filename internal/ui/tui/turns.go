package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// hintTime is how long a hint stays.
const hintTime = 3 * time.Second

// spinTime is how long a picture of the spinner stays.
const spinTime = 120 * time.Millisecond

// busy reports that a turn runs or is about to.
func (m *model) busy() bool { return m.turn.active || m.turn.sent != "" || m.turn.id != "" }

// runs reports that something runs that can be interrupted: a turn, or a command of the user.
func (m *model) runs() bool { return m.busy() || m.anyCall() || m.lingers() }

// send gives the session a message: as the prompt of a turn, or, while one runs, into it or for its end.
func (m *model) send(msg llm.Message, after bool) {
	m.log.end()
	p := port.Prompt{ID: uuid.NewString(), Message: msg}
	if after {
		p.When = port.AfterTurn
	}
	if !m.busy() {
		m.turn.sent = p.ID
		m.turns++
		m.turn.began, m.turn.stopping, m.turn.retry = m.now(), time.Time{}, retry{}
		m.turn.heard = time.Time{}
		m.startSpin()
	}
	m.spawn(func() any {
		m.awaitSession(m.ctx)
		r, err := m.session.Prompt(m.ctx, p)
		return promptMsg{p, r, err}
	})
}

// awaitSession waits until the session has opened: that clears the transcript.
func (m *model) awaitSession(ctx context.Context) {
	select {
	case <-m.there:
	case <-ctx.Done():
	}
}

// prompted handles what became of a prompt. One that was not taken goes back into the editor.
func (m *model) prompted(msg promptMsg) {
	switch {
	case msg.err != nil && m.ctx.Err() == nil:
		if !errors.Is(msg.err, context.Canceled) {
			m.tell("error", msg.err.Error())
		}
		m.giveBack(msg.prompt.Message)
	case msg.receipt.State == port.Begun:
		return // its turn ends the wait
	}
	if m.turn.sent == msg.prompt.ID {
		m.turn.sent = ""
	}
	m.stopped()
}

// waiting reports that messages were not delivered yet.
func (m *model) waiting() bool { return len(m.state.Waiting) > 0 }

// unqueue takes the newest message that was not delivered back into the editor.
func (m *model) unqueue() {
	m.spawn(func() any {
		q, err := m.session.Queue(m.ctx, port.QueueChange{Do: "drop"})
		if err != nil || q.Dropped == nil {
			return tellMsg{}
		}
		return unqueuedMsg{*q.Dropped}
	})
}

type unqueuedMsg struct{ message llm.Message }

// taken forgets a message that waited.
func (m *model) taken(id string) {
	m.state.Waiting = slices.DeleteFunc(slices.Clone(m.state.Waiting), func(w event.Waiting) bool { return w.ID == id })
}

// calling reports that a call of the agent runs in the foreground.
func (m *model) calling() bool { return m.busy() && m.anyCall() }

// anyCall reports that a call of the agent or a command of the user runs in the foreground.
func (m *model) anyCall() bool {
	for _, it := range m.parts {
		if it.tool != nil && it.tool.state == theme.Running {
			return true
		}
	}
	return false
}

// longPaste is how many bytes are given back as a paste, which stays folded.
const longPaste = 20_000

// giveBack puts a message that was not taken into the editor, or below the transcript when the user types another one.
func (m *model) giveBack(msg llm.Message) {
	if text := msg.PlainText(); m.edit.Empty() && len(text) > longPaste {
		m.outs(m.edit.Paste(text))
		return
	}
	if m.edit.Empty() {
		m.edit.SetMessage(msg)
		return
	}
	m.tell("info", "not sent: "+msg.PlainText())
}

// stopped forgets an interrupt when nothing runs any more.
func (m *model) stopped() {
	if !m.runs() {
		m.turn.stopping = time.Time{}
	}
}

// interrupt ends the running turn, and commands of the user. The screen changes at once, whatever the session does.
func (m *model) interrupt() {
	if !m.runs() {
		return
	}
	if m.turn.stopping.IsZero() {
		m.turn.stopping = m.now()
	}
	if m.lingers() {
		m.slow.end()
	}
	m.spawn(func() any {
		if err := m.session.Interrupt(m.ctx, ""); err != nil {
			return tellMsg{"warning", err.Error()}
		}
		return nil
	})
}

// tell adds a notice to the transcript.
func (m *model) tell(level, text string) {
	if text == "" {
		return
	}
	m.log.add(&item{kind: noticeItem, look: &m.look, level: level, text: text})
}

// startSpin keeps pictures moving while something runs.
func (m *model) startSpin() {
	if !m.turn.spinning {
		m.turn.spinning = true
		m.later(m.spinTime(), spinMsg{})
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
	if !m.runs() {
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

// resize takes the new size. Inline, the next frame does.
func (m *model) resize() {
	if !m.options.Inline {
		m.setSize(m.term.size())
	}
}

// suspend stops the process as ctrl+z does in a shell, and resumes when it is continued.
func (m *model) suspend() {
	if !canSuspend || m.away.Load() {
		return
	}
	m.term.drain()
	m.awaitReports()
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
	m.setSize(m.term.size())
	m.query.w, m.query.h = m.w, m.h
	m.screen.forget()
}
