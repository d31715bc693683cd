package tui

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
)

// editedMsg brings the text that the user edited in their own program.
type editedMsg struct {
	text string
	of   dialog.Dialog // whose text it is; nil: the prompt's
	err  error
}

// lend gives the terminal to something else until comeBack. Events are taken meanwhile, and nothing is drawn. False:
// it is lent already.
func (m *model) lend() bool {
	if m.away.Swap(true) {
		return false
	}
	m.term.drain()
	m.awaitReports()
	m.term.stopReading()
	m.term.leave("")
	return true
}

// loginMsg says that the questions about a provider are over.
type loginMsg struct {
	outcome string
	err     error
}

// login has the person asked for a provider and its key.
func (m *model) login() {
	if m.options.Login == nil {
		m.toast("warning", "there is no /login here; set a key with: lathe config set env.NAME KEY")
		return
	}
	if m.lend() {
		m.spawn(func() any {
			outcome, err := m.options.Login(m.ctx)
			return loginMsg{outcome, err}
		})
	}
}

// loggedIn continues with the provider that is set up now.
func (m *model) loggedIn(msg loginMsg) {
	m.away.Store(false)
	m.comeBack()
	if msg.err != nil {
		m.tell("error", msg.err.Error())
		return
	}
	m.tell("info", msg.outcome)
	m.command("reload", "")
}

// openEditor gives the terminal to the user's editor until that ends. The text is a dialog's, or with nil the prompt's.
func (m *model) openEditor(text string, of dialog.Dialog) {
	if !m.lend() {
		return
	}
	m.spawn(func() any {
		edited, err := edit(m.options, text)
		return editedMsg{edited, of, err}
	})
}

func (m *model) edited(msg editedMsg) {
	m.away.Store(false)
	m.comeBack()
	if msg.err != nil {
		m.tell("error", msg.err.Error())
		return
	}
	if of, ok := msg.of.(interface{ Edited(text string) }); ok {
		of.Edited(msg.text)
		return
	}
	m.edit.SetText(msg.text)
}

// edit runs the editor on a file with text, and returns the edited text.
func edit(o Options, text string) (_ string, err error) {
	dir, err := os.MkdirTemp("", "lathe-prompt-")
	if err != nil {
		return "", fmt.Errorf("the prompt could not be written for the editor: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "prompt.md")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("the prompt could not be written for the editor: %w", err)
	}
	if err := o.runEditor(path); err != nil {
		return "", err
	}
	edited, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("the edited prompt could not be read: %w", err)
	}
	return strings.TrimRight(string(edited), "\n"), nil
}

// editFile gives the terminal to the user's editor for a file, then runs the command line that follows it.
func (m *model) editFile(e event.Edit) {
	if !m.lend() {
		return
	}
	m.spawn(func() any {
		return fileEditedMsg{e, m.options.runEditor(e.Path)}
	})
}

// fileEditedMsg says that the editor has ended.
type fileEditedMsg struct {
	edit event.Edit
	err  error
}

func (m *model) fileEdited(msg fileEditedMsg) {
	m.away.Store(false)
	m.comeBack()
	if msg.err != nil {
		m.tell("error", msg.err.Error())
	} else if msg.edit.Then != "" {
		m.commandLine(msg.edit.Then)
	}
}

// runEditor runs the user's editor on a file.
func (o Options) runEditor(path string) error {
	command := o.editor()
	words := strings.Fields(command)
	cmd := exec.Command(words[0], append(words[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.In, o.Out, o.Out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor %q failed: %w; set $VISUAL or $EDITOR to one that works", command, err)
	}
	return nil
}

// editor is the command of the user's editor.
func (o Options) editor() string {
	for _, c := range []string{o.Editor, o.Getenv("VISUAL"), o.Getenv("EDITOR")} {
		if strings.TrimSpace(c) != "" {
			return c
		}
	}
	return defaultEditor
}
