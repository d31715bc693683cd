package tui

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/ui/tui/editor"
)

// Answers that the editor waits for.
type (
	foundMsg struct {
		gen   uint64
		found []event.Candidate
	}
	imageMsg struct {
		id   int
		data []byte
		err  error
	}
)

// outs carries out the requests of the editor.
func (m *model) outs(outs []editor.Out) {
	for _, out := range outs {
		switch out := out.(type) {
		case editor.Submit:
			m.submit(out)
		case editor.Ask:
			m.spawn(func() any { return foundMsg{out.Gen, m.complete(out.Query)} })
		case editor.LoadImage:
			m.spawn(func() any {
				data, err := readImage(out.Path, out.Limit)
				return imageMsg{out.ID, data, err}
			})
		case editor.OpenEditor:
			m.openEditor(out.Text, nil)
		case editor.Notice:
			m.toast("info", out.Text)
		}
	}
}

// submit sends a message, or runs a command.
func (m *model) submit(s editor.Submit) {
	m.log.end()
	switch s.Kind {
	case editor.Command:
		m.command(s.Name, s.Args)
	case editor.Shell:
		m.command("!", s.Text)
	case editor.Memory:
		m.command("#", s.Text)
	default:
		if text := s.Message.PlainText(); len(s.Message.Parts) == 1 && (text == "exit" || text == "quit") {
			m.command("quit", "")
			return
		}
		if why := m.tooLarge(s.Message); why != "" {
			m.tell("error", why)
			m.giveBack(s.Message)
			return
		}
		if s.Short != "" {
			m.short[s.Message.PlainText()] = s.Short
		}
		m.send(s.Message, s.Queue)
	}
}

// tooLarge says why a message cannot be sent to the model: no compaction would make room for it.
func (m *model) tooLarge(msg llm.Message) string {
	tokens := llm.EstimateTokens(msg)
	if window := m.state.ContextWindow; window <= 0 || tokens < window*9/10 {
		return ""
	}
	return fmt.Sprintf("not sent: it has about %dk tokens, and the model's window %dk; save it to a file, and name "+
		"that with @", tokens/1000, m.state.ContextWindow/1000)
}

// readImage reads a file of at most limit bytes. Files that would block are refused.
func readImage(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes, and %d are allowed; make it smaller first", path, info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s grew while it was read", path)
	}
	return data, err
}

// say shows a hint for a moment.
func (m *model) say(hint string) {
	m.hint, m.hintTil = hint, m.now().Add(hintTime)
	m.later(hintTime+time.Millisecond, tickMsg{})
}

// toast shows a line over the transcript for a moment.
func (m *model) toast(level, text string) {
	m.later(m.toasts.Add(level, text).Sub(m.now())+time.Millisecond, tickMsg{})
}

// tickMsg says that something that shows for a moment may be over.
type tickMsg struct{}

// later gives the loop a message when some time is over.
func (m *model) later(d time.Duration, msg any) {
	time.AfterFunc(d, func() { m.program.send(msg) })
}
