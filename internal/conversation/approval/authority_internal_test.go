package approval

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
)

func TestAPinRestrictsTheModesThatAskNobody(t *testing.T) {
	allowed, heard := func(permission.Mode) error { return nil }, func(permission.Mode) {}
	a := &Authority{Modes: NewModes(permission.Bypass, allowed, heard)}
	a.Pin("mcp__one__", permission.Default)
	for tool, want := range map[string]permission.Mode{
		"mcp__one__hi": permission.Default, "mcp__other__hi": permission.Bypass, "Bash": permission.Bypass,
	} {
		if got := a.modeFor(tool); got != want {
			t.Errorf("%s is decided by the mode %s, want %s", tool, got, want)
		}
	}
	if err := a.Set(permission.AcceptEdits); err != nil {
		t.Fatal(err)
	}
	if got := a.modeFor("mcp__one__hi"); got != permission.AcceptEdits {
		t.Errorf("a mode that asks gave way to %s", got)
	}
	a.Pin("mcp__one__", "")
	if err := a.Set(permission.Bypass); err != nil {
		t.Fatal(err)
	}
	if got := a.modeFor("mcp__one__hi"); got != permission.Bypass {
		t.Errorf("without a pin the mode is %s", got)
	}
}
