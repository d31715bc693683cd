//go:build !windows

package tui_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

// start runs the test binary as the program, on its own terminal.
func start(t *testing.T, w, h int, env ...string) *termtest.Terminal {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append([]string{
		"LATHE_TUI=1", "TERM=xterm-256color", "COLORTERM=truecolor", "HOME=" + t.TempDir(),
		"PATH=" + os.Getenv("PATH"), "GORACE=halt_on_error=1",
	}, env...)
	return termtest.Start(t, cmd, w, h)
}

func opened(t *testing.T, w, h int, env ...string) *termtest.Terminal {
	t.Helper()
	d := start(t, w, h, env...)
	d.Shows("claude-sonnet-4-5")
	return d
}

// exchange sends a message, and waits for its answer and the end of the turn.
func exchange(d *termtest.Terminal, text string) {
	d.Line(text)
	d.Shows("You said: " + text)
	d.Hides("Working")
}
