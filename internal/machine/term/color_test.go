package term_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

func TestColorDepthFollowsTheEnvironment(t *testing.T) {
	type env map[string]string
	for _, tt := range []struct {
		name string
		env  env
		tty  bool
		goos string
		want term.Depth
	}{
		{"a terminal", env{"TERM": "xterm"}, true, "linux", term.Color16},
		{"256 colours", env{"TERM": "xterm-256color"}, true, "linux", term.Color256},
		{"true colour", env{"TERM": "xterm-256color", "COLORTERM": "truecolor"}, true, "linux", term.TrueColor},
		{"a terminal known by name", env{"TERM": "xterm-kitty"}, true, "linux", term.TrueColor},
		{
			"a program known by name",
			env{"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"},
			true, "darwin",
			term.TrueColor,
		},
		{"a pipe", env{"TERM": "xterm-256color"}, false, "linux", term.NoColor},
		{"a dumb terminal", env{"TERM": "dumb", "COLORTERM": "truecolor"}, true, "linux", term.NoColor},
		{"no TERM", env{}, true, "linux", term.NoColor},
		{"no TERM on Windows", env{}, true, "windows", term.TrueColor},
		{"NO_COLOR", env{"TERM": "xterm", "NO_COLOR": "1"}, true, "linux", term.NoColor},
		{"empty NO_COLOR", env{"TERM": "xterm", "NO_COLOR": ""}, true, "linux", term.Color16},
		{"CLICOLOR=0", env{"TERM": "xterm", "CLICOLOR": "0"}, true, "linux", term.NoColor},
		{"forced into a pipe", env{"TERM": "xterm-256color", "CLICOLOR_FORCE": "1"}, false, "linux", term.Color256},
		{"forced without TERM", env{"CLICOLOR_FORCE": "1"}, false, "linux", term.Color16},
		{"not forced", env{"TERM": "xterm", "CLICOLOR_FORCE": "0"}, false, "linux", term.NoColor},
		{"NO_COLOR beats force", env{"TERM": "xterm", "CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, true, "linux", term.NoColor},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := term.ColorDepth(func(k string) string { return tt.env[k] }, tt.tty, tt.goos); got != tt.want {
				t.Errorf("%d colours, want %d", got, tt.want)
			}
		})
	}
}
