package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
)

// liveEvery is how often a list that changes by itself is fetched again.
const liveEvery = time.Second

// liveMsg is due when an open list may have changed; livelyMsg brings it.
type (
	liveMsg   struct{}
	livelyMsg struct {
		list *dialog.Picker
		out  event.Output
		err  error
	}
)

// watchList has the list on top fetched again, if it changes by itself.
func (m *model) watchList() {
	if list, ok := m.dialogs.Top().(*dialog.Picker); ok && list.Live() != "" {
		m.later(liveEvery, liveMsg{})
	}
}

func (m *model) askLive() {
	list, ok := m.dialogs.Top().(*dialog.Picker)
	if !ok || list.Live() == "" {
		return
	}
	name, args, _ := strings.Cut(list.Live(), " ")
	m.spawn(func() any {
		out, err := m.session.Command(m.ctx, name, args)
		return livelyMsg{list, out, err}
	})
}

func (m *model) lively(msg livelyMsg) {
	if m.dialogs.Top() != dialog.Dialog(msg.list) {
		return
	}
	if msg.err == nil && msg.out.Pick != nil {
		msg.list.Update(*msg.out.Pick)
	}
	m.later(liveEvery, liveMsg{})
}

// leaveAsking leaves, but asks first while commands or agents run in the background, which end with lathe. A second
// request leaves at once.
func (m *model) leaveAsking() {
	n := m.state.Background
	if n == 0 || m.parting != nil && m.dialogs.Top() == dialog.Dialog(m.parting) {
		m.leave()
		return
	}
	m.parting = dialog.NewPicker(event.Pick{
		Title: "Leave? " + plural(n, "task") + " in the background will end", Command: "exit",
		Items: []event.PickItem{
			{ID: stayID, Label: "Stay", Current: true},
			{ID: "leave", Label: "Leave and end them", Detail: fmt.Sprintf("agents can be resumed: lathe --resume %s",
				m.front.Session)},
		},
	}, m.look.theme)
	m.dialogs.Open(m.parting)
}

const stayID = "stay"

// parted carries out the answer to the question of leaveAsking; false: the dialog is another one.
func (m *model) parted(d dialog.Dialog, c *dialog.Command) bool {
	if m.parting == nil || d != dialog.Dialog(m.parting) || c == nil {
		return false
	}
	m.parting = nil
	if c.Args != stayID {
		m.leave()
	}
	return true
}
