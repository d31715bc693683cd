package tui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
)

// liveEvery is how often a list that changes by itself is fetched again.
const liveEvery = time.Second

// liveMsg is due when an open list may have changed; livelyMsg brings it.
type (
	liveMsg   struct{}
	livelyMsg struct {
		list dialog.Dialog
		out  event.Output
		err  error
	}
)

// living is a dialog that changes by itself.
type living interface {
	dialog.Dialog
	Live() string
}

// showPage opens a page.
func (m *model) showPage(p event.Page) {
	m.dialogs.Open(dialog.NewPage(p, m.look.theme, func(text string, width int) []string {
		it := &item{kind: outputItem, look: &m.look, text: text}
		it.lay(width, false)
		return it.slice(nil, 0, it.height)
	}))
	m.watchList()
}

// watchAgent opens the transcript of the agent that a call started. False: the call started none.
func (m *model) watchAgent(it *item) bool {
	if it.tool == nil {
		return false
	}
	_, running := it.tool.preview.(event.Subagent)
	v, ended := it.tool.view.(event.Subagent)
	if !running && !ended {
		return false
	}
	m.command("tasks", "watch "+cmp.Or(v.Session, it.tool.call.ID))
	return true
}

// watchList has the list on top fetched again, if it changes by itself.
func (m *model) watchList() {
	if list, ok := m.dialogs.Top().(living); ok && list.Live() != "" {
		m.later(liveEvery, liveMsg{})
	}
}

func (m *model) askLive() {
	list, ok := m.dialogs.Top().(living)
	if !ok || list.Live() == "" {
		return
	}
	name, args, _ := strings.Cut(list.Live(), " ")
	m.spawn(func() any {
		out, err := m.session.Command(m.ctx, port.Command{Name: name, Args: args})
		return livelyMsg{list, out, err}
	})
}

func (m *model) lively(msg livelyMsg) {
	if m.dialogs.Top() != msg.list {
		return
	}
	switch d := msg.list.(type) {
	case *dialog.Picker:
		if msg.err == nil && msg.out.Pick != nil {
			d.Update(*msg.out.Pick)
		}
	case *dialog.Page:
		if msg.err == nil && msg.out.Page != nil {
			msg.out.Page.Back = d.Back()
			d.Update(*msg.out.Page)
		}
	}
	m.later(liveEvery, liveMsg{})
}

// leaveAsking leaves, but asks first while commands or agents run in the background. A second request leaves at once.
func (m *model) leaveAsking() {
	n := m.state.Background
	if n == 0 || m.parting != nil && m.dialogs.Top() == dialog.Dialog(m.parting) {
		m.leave()
		return
	}
	pick := event.Pick{Title: "Leave? " + plural(n, "task") + " in the background will end", Command: "exit"}
	pick.Items = []event.PickItem{{ID: stayID, Label: "Stay", Current: true}}
	if m.options.Job != "" {
		pick.Title = "Leave " + plural(n, "task") + " in the background?"
		pick.Items = append(pick.Items, event.PickItem{
			ID: goOnID, Label: "Leave, and let the session go on", Detail: "lathe attach " + m.options.Job + " opens it again",
		})
	}
	pick.Items = append(pick.Items, event.PickItem{
		ID: "leave", Label: "Leave and end them",
		Detail: fmt.Sprintf("agents can be resumed: lathe --resume %s", m.front.Session),
	})
	m.parting = dialog.NewPicker(pick, m.look.theme)
	m.dialogs.Open(m.parting)
}

// Answers to the question of leaveAsking.
const (
	stayID = "stay"
	goOnID = "go on"
)

// parted carries out the answer to the question of leaveAsking; false: the dialog is another one.
func (m *model) parted(d dialog.Dialog, c *dialog.Command) bool {
	if m.parting == nil || d != dialog.Dialog(m.parting) || c == nil {
		return false
	}
	m.parting = nil
	if c.Args != stayID {
		m.stay = c.Args == goOnID
		m.leave()
	}
	return true
}
