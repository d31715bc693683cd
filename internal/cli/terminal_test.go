//go:build linux || darwin

package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// onTerminal runs lathe on a terminal of 60 columns, types when it is asked something, and returns all that
// was shown.
func onTerminal(t *testing.T, home, typed string, args ...string) (string, error) {
	t.Helper()
	c := exec.Command(buildLathe(t), args...)
	c.Dir = home
	c.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color"}
	d := termtest.Start(t, c, 60, 24)
	if typed != "" {
		d.Sees("[y/N] ")
		d.Type(typed)
	}
	out := d.All()
	if code := d.Ends(); code != 0 {
		return out, fmt.Errorf("exit code %d", code)
	}
	return out, nil
}

// stored makes a session whose prompt is hostile.
func stored(t *testing.T, home string) string {
	t.Helper()
	store := session.NewStore(filepath.Join(home, ".local", "share", "lathe"))
	s, err := store.Create(t.Context(), session.Meta{Dir: home})
	if err != nil {
		t.Fatal(err)
	}
	err = s.AddUser(t.Context(), llm.UserText("hello \x1b[2J\x1b]0;evil\x07"+strings.Repeat(" and so on", 20)), false,
		false)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return s.ID()
}

func TestRemovingAsksOnATerminal(t *testing.T) {
	for _, tt := range []struct {
		typed string
		gone  bool
	}{{"y\n", true}, {"YES\n", true}, {"n\n", false}, {"\n", false}, {"\x04", false}, {"\x03", false}} {
		home := t.TempDir()
		id := stored(t, home)
		out, err := onTerminal(t, home, tt.typed, "session", "rm", id[:13])
		_, statErr := os.Stat(filepath.Join(home, ".local", "share", "lathe", "projects"))
		left, _ := filepath.Glob(filepath.Join(home, ".local", "share", "lathe", "projects", "*", id))
		if gone := len(left) == 0; gone != tt.gone || (err == nil) != tt.gone || statErr != nil {
			t.Errorf("typed %q: gone %v, %v\n%s", tt.typed, gone, err, out)
		}
		if !strings.Contains(out, "Remove 1 session for good? [y/N]") || strings.Contains(out, "\x1b[2J") ||
			strings.Contains(out, "\x07") {
			t.Errorf("shown: %q", out)
		}
	}
}

func TestAListFitsTheTerminal(t *testing.T) {
	home := t.TempDir()
	stored(t, home)
	out, err := onTerminal(t, home, "", "session", "list")
	if err != nil || !strings.Contains(out, "hello ␛[2J") || !strings.Contains(out, "…") {
		t.Errorf("%v: %q", err, out)
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > 60 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}

func TestASessionInUseIsNotRemoved(t *testing.T) {
	home := t.TempDir()
	store := session.NewStore(filepath.Join(home, ".local", "share", "lathe"))
	s, err := store.Create(t.Context(), session.Meta{Dir: home})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.AddUser(t.Context(), llm.UserText("busy"), false, false); err != nil {
		t.Fatal(err)
	}
	out, err := onTerminal(t, home, "", "session", "rm", "--yes", s.ID())
	if err == nil || !strings.Contains(out, "close it there before removing it") {
		t.Errorf("%v: %s", err, out)
	}
	if _, err := os.Stat(s.Path()); err != nil {
		t.Error(err)
	}
}

func TestTheDoctorLooksAtTheTerminal(t *testing.T) {
	out, err := onTerminal(t, t.TempDir(), "", "doctor")
	if err != nil || !strings.Contains(out, "60x24, 256 colours, TERM=xterm-256color") || !strings.Contains(out,
		"\x1b[32mok") {
		t.Errorf("%v: %q", err, out)
	}
}

func TestAToolCallOnATerminalNeedsATool(t *testing.T) {
	out, err := onTerminal(t, t.TempDir(), "", "tool", "call")
	if err == nil || !strings.Contains(out, "there is no tool to call; call one: lathe tool call Read") {
		t.Errorf("%v: %q", err, out)
	}
}

func TestAWordCloseToACommandIsAskedAboutOnATerminal(t *testing.T) {
	out, err := onTerminal(t, t.TempDir(), "n\n", "docter")
	if err == nil || !strings.Contains(out, `did you mean "doctor"?`) || !strings.Contains(out, "as a prompt? [y/N]") {
		t.Errorf("%v: %q", err, out)
	}
	out, err = onTerminal(t, t.TempDir(), "", "update")
	if err == nil || !strings.Contains(out, "not there yet") {
		t.Errorf("%v: %q", err, out)
	}
}
