package shell

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/permissiontest"
)

func TestEverydayLinesDoNotAsk(t *testing.T) {
	lines := permissiontest.Lines(t, "everyday.txt")
	for _, line := range lines {
		r := Analyze(line, proj, paper{files: map[string]permission.NodeKind{proj + "/src": permission.Folder}})
		if !approved(r) || decided(r, permission.Default) != permission.Allow {
			t.Errorf("%q asks: %s", line, show(r))
		}
	}
	if len(lines) < 300 {
		t.Errorf("only %d lines", len(lines))
	}
}
