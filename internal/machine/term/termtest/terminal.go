//go:build !windows

package termtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/lathe-dev/lathe/internal/base/await"
)

// Patience is how long a test waits for something to be shown.
const Patience = await.Patience

// Keys, as a terminal sends them. Enter is "\r".
const (
	Esc       = "\x1b"
	AltEnter  = "\x1b\r"
	CtrlC     = "\x03"
	CtrlD     = "\x04"
	CtrlO     = "\x0f"
	CtrlZ     = "\x1a"
	PageUp    = "\x1b[5~"
	PageDown  = "\x1b[6~"
	Up        = "\x1b[A"
	Down      = "\x1b[B"
	ShiftTab  = "\x1b[Z"
	CtrlEnd   = "\x1b[1;5F"
	CtrlHome  = "\x1b[1;5H"
	Backspace = "\x7f"
)

// Terminal is a pseudo-terminal whose keys the test presses, and whose screen it looks at.
type Terminal struct {
	t    testing.TB
	cmd  *exec.Cmd // nil: the program is the test itself
	tty  *os.File
	exit chan struct{}

	mu     sync.Mutex
	cond   *sync.Cond
	screen *Screen
	output bytes.Buffer // everything that was written
	seen   int          // bytes of output that [Terminal.Sees] has passed
	eof    bool
}

// Start runs a command in a terminal of w columns and h rows. It is killed when the test ends.
func Start(t testing.TB, cmd *exec.Cmd, w, h int) *Terminal {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, winsize(w, h))
	if err != nil {
		t.Fatal(err)
	}
	d := newTerminal(t, tty, w, h)
	d.cmd = cmd
	go func() { _ = cmd.Wait(); close(d.exit) }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return d
}

// Open makes a terminal without a program. The file is the terminal's other end, for code that runs in the test.
func Open(t testing.TB, w, h int) (*Terminal, *os.File) {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(keys, winsize(w, h)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	return newTerminal(t, keys, w, h), tty
}

func winsize(w, h int) *pty.Winsize { return &pty.Winsize{Rows: uint16(h), Cols: uint16(w)} }

func newTerminal(t testing.TB, tty *os.File, w, h int) *Terminal {
	d := &Terminal{t: t, tty: tty, screen: NewScreen(w, h), exit: make(chan struct{})}
	d.cond = sync.NewCond(&d.mu)
	go d.read()
	t.Cleanup(func() { _ = tty.Close() })
	return d
}

func (d *Terminal) read() {
	b := make([]byte, 64<<10)
	for {
		n, err := d.tty.Read(b)
		d.mu.Lock()
		_, _ = d.screen.Write(b[:n])
		d.output.Write(b[:n])
		d.eof = err != nil
		d.cond.Broadcast()
		d.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wait waits until ok holds, which is called under the lock.
func (d *Terminal) wait(what string, ok func() bool) {
	d.t.Helper()
	late := time.AfterFunc(Patience, func() { d.mu.Lock(); d.cond.Broadcast(); d.mu.Unlock() })
	defer late.Stop()
	end := time.Now().Add(Patience)
	d.mu.Lock()
	defer d.mu.Unlock()
	for !ok() {
		if d.eof || !time.Now().Before(end) {
			rest := d.output.Bytes()[d.seen:]
			d.t.Fatalf("never saw %s (ended: %v); the screen:\n%s\nlast written: %q", what, d.eof, d.screen.Text(),
				rest[max(0, len(rest)-300):])
		}
		d.cond.Wait()
	}
}

// Until waits until ok holds for the screen.
func (d *Terminal) Until(what string, ok func(s *Screen) bool) {
	d.t.Helper()
	d.wait(what, func() bool { return ok(d.screen) })
}

// Shows waits until a text is on the screen.
func (d *Terminal) Shows(text string) {
	d.t.Helper()
	d.Until(fmt.Sprintf("%q", text), func(s *Screen) bool { return strings.Contains(s.Text(), text) })
}

// Hides waits until a text is not on the screen.
func (d *Terminal) Hides(text string) {
	d.t.Helper()
	d.Until(fmt.Sprintf("the end of %q", text), func(s *Screen) bool { return !strings.Contains(s.Text(), text) })
}

// Sees waits until the program has written a text, sequences included, after the text of the last call.
func (d *Terminal) Sees(text string) {
	d.t.Helper()
	d.wait(fmt.Sprintf("%q written", text), func() bool {
		i := bytes.Index(d.output.Bytes()[d.seen:], []byte(text))
		if i >= 0 {
			d.seen += i + len(text)
		}
		return i >= 0
	})
}

// Look calls f with the screen as it is now.
func (d *Terminal) Look(f func(s *Screen)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d.screen)
}

// Text is the text on the screen now.
func (d *Terminal) Text() (text string) {
	d.Look(func(s *Screen) { text = s.Text() })
	return text
}

// Output is everything that was written so far.
func (d *Terminal) Output() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.output.String()
}

// All waits for the program's end and returns everything that it wrote.
func (d *Terminal) All() string {
	d.t.Helper()
	late := time.AfterFunc(Patience, func() { d.mu.Lock(); d.cond.Broadcast(); d.mu.Unlock() })
	defer late.Stop()
	end := time.Now().Add(Patience)
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.eof {
		if !time.Now().Before(end) {
			d.t.Fatalf("the program does not end; the screen:\n%s", d.screen.Text())
		}
		d.cond.Wait()
	}
	return d.output.String()
}

// Type presses keys.
func (d *Terminal) Type(keys string) {
	d.t.Helper()
	if err := d.Write(keys); err != nil {
		d.t.Fatal(err)
	}
}

// Write presses keys, from any goroutine.
func (d *Terminal) Write(keys string) error {
	_, err := d.tty.WriteString(keys)
	return err
}

// Line types a line, waits for its echo, and sends it.
func (d *Terminal) Line(s string) {
	d.t.Helper()
	d.Type(s)
	d.Shows(s)
	d.Type("\r")
}

// Press presses a key again and again until a text is on the screen: for dialogs, which take no keys just after
// they were drawn, and for keys that depend on the running work.
func (d *Terminal) Press(key, text string) {
	d.t.Helper()
	tick := time.NewTicker(400 * time.Millisecond)
	defer tick.Stop()
	for range 40 {
		d.Type(key)
		<-tick.C
		if strings.Contains(d.Text(), text) {
			return
		}
	}
	d.t.Fatalf("%q never led to %q; the screen:\n%s", key, text, d.Text())
}

// Resize changes the size, as a terminal does that does not reflow.
func (d *Terminal) Resize(w, h int) {
	d.t.Helper()
	d.mu.Lock()
	d.screen.Resize(w, h)
	d.mu.Unlock()
	if err := pty.Setsize(d.tty, winsize(w, h)); err != nil {
		d.t.Fatal(err)
	}
}

// Pause stops reading the program's output, until resume is called: the terminal's buffer fills.
func (d *Terminal) Pause() (resume func()) {
	d.mu.Lock()
	return d.mu.Unlock
}

// Close takes the terminal away from the program.
func (d *Terminal) Close() error { return d.tty.Close() }

// Signal sends the program a signal.
func (d *Terminal) Signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

// Ends waits for the program's end and returns its exit code, -1 after a signal.
func (d *Terminal) Ends() int {
	d.t.Helper()
	select {
	case <-d.exit:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(Patience):
		d.t.Fatalf("the program does not end; the screen:\n%s", d.Text())
		return 0
	}
}

// CheckRestored waits until the terminal is as it was before the program.
func (d *Terminal) CheckRestored() {
	d.t.Helper()
	d.Until("the terminal as it was", func(s *Screen) bool {
		for _, mode := range []string{"1049", "2004", "1004", "1002", "1006", "2026"} {
			if s.Modes[mode] {
				return false
			}
		}
		return !s.Alt && !s.Hidden && !s.WrapOff && s.Pen == Style{}
	})
}

// CheckClean fails the test if the whole screen was ever erased, or anything was written that a terminal may not
// understand.
func (d *Terminal) CheckClean() {
	d.t.Helper()
	d.Look(func(s *Screen) {
		if s.Clears > 0 {
			d.t.Errorf("%d full clears", s.Clears)
		}
		if len(s.Unknown) > 0 {
			d.t.Errorf("sequences nobody should write: %q", slices.Compact(s.Unknown))
		}
	})
}
