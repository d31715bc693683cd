//go:build !windows

package tui_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
)

// tmux is the program in a shell in its own tmux server.
type tmux struct {
	t    *testing.T
	path string
	sock string
}

func inTmux(t *testing.T, w, h int) *tmux {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		t.Skip("there is no tmux to drive")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "tui") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	x := &tmux{t, path, filepath.Join(dir, "s")}
	t.Cleanup(func() {
		_ = x.command("kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	rc := filepath.Join(dir, "rc")
	if err := os.WriteFile(rc, []byte("PS1='shell> '\nset -m\nalias lathe='LATHE_TUI=1 LATHE_TUI_HISTORY=30 "+exe+
		"'\nshopt -s expand_aliases\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.run("-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "env", "-u", "TMUX", "bash",
		"--noprofile", "--rcfile", rc, "-i")
	x.shows("shell>")
	return x
}

func (x *tmux) command(args ...string) *exec.Cmd {
	return exec.Command(x.path, append([]string{"-u", "-S", x.sock}, args...)...)
}

func (x *tmux) run(args ...string) string {
	x.t.Helper()
	out, err := x.command(args...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (x *tmux) keys(keys ...string) { x.t.Helper(); x.run(append([]string{"send-keys"}, keys...)...) }
func (x *tmux) screen() string      { x.t.Helper(); return x.run("capture-pane", "-p") }

func (x *tmux) shows(text string) {
	x.t.Helper()
	if !await.Until(func() bool { return strings.Contains(x.screen(), text) }) { // tmux reports no change of a screen
		x.t.Fatalf("tmux never showed %q; the screen:\n%s", text, x.screen())
	}
}

func TestInTmux(t *testing.T) {
	x := inTmux(t, 100, 30)
	x.keys("lathe", "Enter")
	x.shows("Answer 29")
	x.keys("hello", "Enter")
	x.shows("You said: hello")
	x.keys("PPage")
	x.shows("scrolled back")
	x.run("resize-window", "-x", "60", "-y", "15")
	x.keys("C-End")
	x.shows("You said: hello")
	x.keys("wait", "Enter")
	x.shows("sleep 1000")
	x.keys("Escape")
	x.shows("interrupted")
	x.keys("C-z")
	x.shows("Stopped")
	if s := x.screen(); strings.Contains(s, "Answer 29") {
		t.Errorf("the screen of the program is still there:\n%s", s)
	}
	x.keys("fg", "Enter")
	x.shows("interrupted")
	x.keys("ask", "Enter")
	x.shows("rm -rf build-0")
	x.keys("C-c")
	x.shows("Thanks.")
	x.keys("/quit", "Enter")
	x.shows("resume with: 0199-fake")
}

func TestInlineInTmuxKeepsTheScrollback(t *testing.T) {
	x := inTmux(t, 80, 20)
	x.keys("LATHE_TUI_INLINE=1 lathe", "Enter")
	x.shows("Answer 29")
	x.keys("hello", "Enter")
	x.shows("You said: hello")
	x.run("resize-window", "-x", "50", "-y", "12")
	x.keys("again", "Enter")
	x.shows("You said: again")
	x.keys("/quit", "Enter")
	x.shows("resume with: 0199-fake")
	all := x.run("capture-pane", "-p", "-S", "-")
	for _, want := range []string{"question 0", "question 29", "❯ hello", "❯ again"} {
		if strings.Count(all, want+"\n") != 1 {
			t.Errorf("%q is there %d times in:\n%s", want, strings.Count(all, want+"\n"), all)
		}
	}
}
