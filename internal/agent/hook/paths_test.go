package hook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFileChangesMatchNamesOfFiles(t *testing.T) {
	m := machine(t,
		`{"hooks": {"FileChanged": [{"matcher": ".env|.envrc", "hooks": [{"type": "command", "command": "cat >> seen; echo '{\"hookSpecificOutput\":{\"watchPaths\":[\"/x/y\", \"rel\"]}}'"}]}]}}`)
	h, _ := open(t, m)
	for _, path := range []string{"/p/.env", "/p/xenv", "/p/a.go", "/p/sub/.envrc"} {
		h.FileChanged(t.Context(), path, "change")
	}
	seen, _ := os.ReadFile(filepath.Join(m.Root, "seen"))
	if n := strings.Count(string(seen), `"event":"change"`); n != 2 || strings.Contains(string(seen), "xenv") {
		t.Errorf("%d changes: %s", n, seen)
	}
	if got := strings.Join(h.Watched(), " "); got != ".env .envrc /x/y" {
		t.Errorf("watched: %s", got)
	}
}
