package tui

import (
	"context"
	"testing"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
)

// picking is a session whose commands each return a list.
type picking struct{ silent }

func (picking) Command(context.Context, port.Command) (event.Output, error) {
	return event.Output{Pick: &event.Pick{Title: "Resume", Command: "resume", Items: []event.PickItem{{ID: "s2"}}}}, nil
}

// settle gives the model the output of each command on its way.
func (m *model) settle() {
	for m.running > 0 {
		m.update(<-m.mail)
	}
}

// However soon a command answers, the list that it returns stays open when the first session opens.
func TestTheListOfTheFirstCommandOutlivesTheOpeningOfTheSession(t *testing.T) {
	m := newTestModel(t, 80, 24)
	m.session, m.options.Command, m.options.Initial = picking{}, "resume", llm.UserText("go on")
	m.start()
	m.settle()
	m.apply1(event.Opened{Session: "s", Dir: "/home/me/project"})
	m.settle()
	if m.dialogs.Len() != 1 || m.busy() || m.edit.Text() != "go on" {
		t.Errorf("%d dialogs, a turn runs: %v, the editor has %q", m.dialogs.Len(), m.busy(), m.edit.Text())
	}
	m.apply1(event.Opened{Session: "s2", Dir: "/home/me/project"})
	if m.settle(); m.dialogs.Len() != 0 {
		t.Error("the list is open again in the session that was chosen")
	}
}
