package tui

import (
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/tui/dialog"
)

// asked opens the dialog of a question.
func (m *model) asked(session string, b event.Asked) {
	b.Question = b.Attributed()
	m.askers[b.ID] = session
	if b.Question.Permission != nil {
		m.dialogs.Ask(dialog.NewPermission(b, dialog.Surroundings{Theme: m.look.theme, Home: m.options.Getenv("HOME"), Key: m.keymap.Key}))
	} else {
		m.dialogs.Ask(dialog.NewQuestion(b, m.look.theme))
	}
	m.notify("lathe asks: " + b.Question.Title + " " + b.Question.Text)
}

// answered closes it, whoever answered.
func (m *model) answered(b event.Answered) {
	delete(m.askers, b.ID)
	m.dialogs.Close(b.ID)
}
