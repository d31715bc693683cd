package tui

import (
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

// earlierPage is how many events of an earlier part of the conversation are loaded at once.
const earlierPage = 500

// earlierMsg brings the events before a cursor.
type earlierMsg struct {
	session string
	before  event.Cursor
	bodies  []event.Body
	more    event.Cursor
	err     error
}

// askEarlier loads earlier events when the beginning of the transcript is in view.
func (m *model) askEarlier() {
	if m.more == "" || m.loading || m.options.Inline || m.log.follow || !m.log.atTop() {
		return
	}
	m.loading = true
	session, before := m.front.Session, m.more
	m.spawn(func() any {
		c, err := m.session.Read(m.ctx, port.ReadRequest{What: "history", Before: before, Limit: earlierPage})
		if err != nil || c.History == nil {
			return earlierMsg{session: session, before: before, err: err}
		}
		return earlierMsg{session, before, c.History.History, c.History.More, nil}
	})
}

// earlier puts loaded events above the transcript. The view stays where it is.
func (m *model) earlier(msg earlierMsg) {
	m.loading = false
	if msg.session != m.front.Session || msg.before != m.more {
		return // another conversation is in front, or this one went back
	}
	m.more = msg.more
	if msg.err != nil {
		m.more = ""
		m.tell("warning", "the earlier part of the conversation could not be read: "+msg.err.Error())
		return
	}
	now, parts, agents := m.log, m.parts, m.agents
	m.log, m.parts, m.agents = newTranscript(), map[string]*item{}, map[string]string{}
	for _, body := range msg.bodies {
		m.show(event.Event{Session: msg.session, Body: body}, true)
	}
	old := m.log
	m.log, m.parts, m.agents = now, parts, agents
	if m.find.at.item >= 0 {
		m.find.at.item += len(old.items)
	}
	now.prepend(old)
}

// prepend adds the items of another transcript before the first.
func (t *transcript) prepend(old *transcript) {
	if len(t.items) > 0 {
		t.items[0].touch() // there is a gap above it now
	}
	t.items = append(old.items, t.items...)
	t.anchor += len(old.items)
	t.results, t.shortened = t.results+old.results, 0
}
