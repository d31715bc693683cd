package tui

import (
	"cmp"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// asked opens the dialog of a question.
func (m *model) asked(session string, b event.Asked) {
	if b.Question.Call != nil && len(b.Question.Agent) == 0 && (!b.Question.Consult || len(b.Question.Parts) > 0) {
		m.titled(b.Question.Call.ID, cmp.Or(b.Question.Text, b.Question.Title))
	}
	b.Question = b.Attributed()
	m.askers[b.ID] = session
	switch {
	case len(b.Question.Parts) > 0:
		m.dialogs.Ask(dialog.NewForm(b, m.look.theme))
	case b.Question.Permission != nil:
		m.dialogs.Ask(dialog.NewPermission(b, dialog.Surroundings{
			Theme: m.look.theme, Home: m.options.Getenv("HOME"),
			Key: m.keymap.Key,
		}))
	default:
		m.dialogs.Ask(dialog.NewQuestion(b, m.look.theme))
	}
	m.notify("lathe asks: " + b.Question.Title + " " + b.Question.Text)
}

// titled names the file or command of a call that has not started: it waits for the answer.
func (m *model) titled(id, title string) {
	it := m.parts[id]
	if it == nil || it.tool == nil || it.tool.state != theme.Waiting {
		return
	}
	it.tool.title = title
	it.touch()
}

// answered closes a question that any front end answered.
func (m *model) answered(b event.Answered) {
	delete(m.askers, b.ID)
	m.dialogs.Close(b.ID)
}
