package tool

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/creack/pty"
)

// The size of the terminal that a command gets.
const (
	terminalRows = 50
	terminalCols = 160
)

// terminalDrain is how long a process that outlived its command may keep the terminal open.
const terminalDrain = 200 * time.Millisecond

// terminal is a pseudo-terminal. Nobody sits at it: a program that reads a line gets the end of its input.
type terminal struct {
	ours *os.File
	end  *os.File // the command's end
}

func openTerminal() (*terminal, error) {
	ours, end, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("there is no terminal for the command: %w; run it without pty", err)
	}
	t := &terminal{end: end}
	if err = pty.Setsize(ours, &pty.Winsize{Rows: terminalRows, Cols: terminalCols}); err == nil {
		err = quiet(end)
	}
	if err == nil {
		t.ours, err = pollable(ours)
	}
	if err != nil {
		ours.Close()
		end.Close()
		return nil, fmt.Errorf("the terminal for the command cannot be set up: %w; run it without pty", err)
	}
	return t, nil
}

func (t *terminal) close() error {
	t.end.Close()
	return t.ours.Close()
}

// copy copies the output to out from now on; the returned function waits for its end. The command has started.
func (t *terminal) copy(out io.Writer) (drain func()) {
	t.end.Close()
	_, _ = t.ours.Write([]byte{4, 4, 4, 4, 4, 4, 4, 4}) // control-D: each answers one read of a line
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(out, t.ours) // Linux: EIO when the last process closes its end
		if w, ok := out.(interface{ Flush() error }); ok {
			_ = w.Flush()
		}
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(terminalDrain):
		}
		t.ours.Close()
		<-done
	}
}
