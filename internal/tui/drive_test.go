//go:build !windows

package tui

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
)

// patience is how long a test waits for something to be shown.
const patience = 20 * time.Second

// drive is the program in a terminal of our own.
type drive struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	cond *sync.Cond
	vt   *vt
	raw  bytes.Buffer
	eof  bool
	exit chan struct{}
}

func start(t *testing.T, w, h int, env ...string) *drive {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append([]string{"LATHE_TUI=1", "TERM=xterm-256color", "COLORTERM=truecolor", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GORACE=halt_on_error=1"}, env...)
	return startCommand(t, cmd, w, h)
}

func startCommand(t *testing.T, cmd *exec.Cmd, w, h int) *drive {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
	if err != nil {
		t.Fatal(err)
	}
	d := &drive{t: t, cmd: cmd, tty: tty, vt: newVT(w, h), exit: make(chan struct{})}
	d.cond = sync.NewCond(&d.mu)
	go d.read()
	go func() { _ = cmd.Wait(); close(d.exit) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = tty.Close()
	})
	return d
}

func (d *drive) read() {
	b := make([]byte, 64<<10)
	for {
		n, err := d.tty.Read(b)
		d.mu.Lock()
		_, _ = d.vt.Write(b[:n])
		d.raw.Write(b[:n])
		d.eof = err != nil
		d.cond.Broadcast()
		d.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits until ok holds for what is shown.
func (d *drive) until(what string, ok func(v *vt) bool) {
	d.t.Helper()
	late := time.AfterFunc(patience, func() { d.mu.Lock(); d.cond.Broadcast(); d.mu.Unlock() })
	defer late.Stop()
	end := time.Now().Add(patience)
	d.mu.Lock()
	defer d.mu.Unlock()
	for !ok(d.vt) {
		if d.eof || !time.Now().Before(end) {
			d.t.Fatalf("never saw %s (ended: %v); the screen:\n%s\n", what, d.eof, d.vt.text())
		}
		d.cond.Wait()
	}
}

func (d *drive) shows(text string) {
	d.t.Helper()
	d.until(fmt.Sprintf("%q", text), func(v *vt) bool { return strings.Contains(v.text(), text) })
}

func (d *drive) hides(text string) {
	d.t.Helper()
	d.until(fmt.Sprintf("the end of %q", text), func(v *vt) bool { return !strings.Contains(v.text(), text) })
}

// keys types; Enter is \r.
func (d *drive) keys(s string) {
	d.t.Helper()
	if _, err := d.tty.WriteString(s); err != nil {
		d.t.Fatal(err)
	}
}

// press presses a key again and again until text is shown: a dialog takes no keys just after it was drawn.
func (d *drive) press(key, text string) {
	d.t.Helper()
	tick := time.NewTicker(400 * time.Millisecond)
	defer tick.Stop()
	for range 20 {
		d.keys(key)
		<-tick.C
		if strings.Contains(d.screen(), text) {
			return
		}
	}
	d.t.Fatalf("%q never led to %q; the screen:\n%s", key, text, d.screen())
}

// line types a line, waits for its echo, and sends it.
func (d *drive) line(s string) {
	d.t.Helper()
	d.keys(s)
	d.shows(s)
	d.keys("\r")
}

func (d *drive) resize(w, h int) {
	d.t.Helper()
	d.mu.Lock()
	d.vt.resize(w, h)
	d.mu.Unlock()
	if err := pty.Setsize(d.tty, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drive) signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

func (d *drive) screen() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.vt.text()
}

// ends waits for the program's end and returns its exit code.
func (d *drive) ends() int {
	d.t.Helper()
	select {
	case <-d.exit:
		return d.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		d.t.Fatalf("the program does not end; the screen:\n%s", d.screen())
		return 0
	}
}

// checkRestored holds that the terminal is as it was.
func (d *drive) checkRestored() {
	d.t.Helper()
	d.until("the terminal as it was", func(v *vt) bool {
		for _, mode := range []string{"1049", "2004", "1004", "1002", "1006", "2026"} {
			if v.modes[mode] {
				return false
			}
		}
		return !v.alt && !v.hidden && !v.wrapOff && v.pen == style{}
	})
}

// checkClean holds what is true of all that was written.
func (d *drive) checkClean() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.vt.clears > 0 {
		d.t.Errorf("%d full clears", d.vt.clears)
	}
	if len(d.vt.unknown) > 0 {
		d.t.Errorf("sequences nobody should write: %q", slices.Compact(d.vt.unknown))
	}
}

const (
	esc       = "\x1b"
	altEnter  = "\x1b\r"
	ctrlC     = "\x03"
	pageUp    = "\x1b[5~"
	pageDown  = "\x1b[6~"
	up        = "\x1b[A"
	down      = "\x1b[B"
	shiftTab  = "\x1b[Z"
	ctrlO     = "\x0f"
	ctrlZ     = "\x1a"
	ctrlEnd   = "\x1b[1;5F"
	ctrlHome  = "\x1b[1;5H"
	backspace = "\x7f"
)

func opened(t *testing.T, w, h int, env ...string) *drive {
	t.Helper()
	d := start(t, w, h, env...)
	d.shows("claude-sonnet-4-5")
	return d
}
