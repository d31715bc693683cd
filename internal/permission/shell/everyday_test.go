package shell

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

// office is a machine with a repository that has no secrets.
type office struct{ paper }

func (office) Tracked(string, string) string { return "" }

func TestEverydayLinesDoNotAsk(t *testing.T) {
	lines := permissiontest.Lines(t, "everyday.txt")
	w := office{paper{files: map[string]permission.NodeKind{
		proj + "/src":  permission.Folder,
		proj + "/.git": permission.Folder,
	}}}
	for _, line := range lines {
		r := Analyze(line, proj, w)
		if !approved(r) {
			t.Errorf("%q asks: %s", line, show(r))
		}
	}
	if len(lines) < 300 {
		t.Errorf("only %d lines", len(lines))
	}
}
