//go:build linux && (amd64 || arm64)

package boundary_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRepositoriesBelowTheFolderRunNothingThatACommandPlants(t *testing.T) {
	const evil = `printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch RAN; false"\n'`
	for name, c := range map[string]struct {
		line, gone string // gone: a path that is set aside; "": nothing is
		note       string
	}{
		"a new repository with a program": {
			"git init -q new && " + evil + " >new/.git/config", "new/.git/config",
			"core.fsmonitor",
		},
		"a new one, deep": {
			"mkdir -p a/b && git init -q a/b/c && " + evil + " >a/b/c/.git/config",
			"a/b/c/.git/config", "core.fsmonitor",
		},
		"a new repository": {"git init -q new", "", ""},
		"a hook of a new one": {
			"git init -q new && echo x >new/.git/hooks/post-checkout",
			"new/.git/hooks/post-checkout", "set aside",
		},
		"a program in an old one": {evil + " >old/.git/config", "", "core.fsmonitor"},
		"a hook in an old one":    {"echo x >old/.git/hooks/pre-commit", "old/.git/hooks/pre-commit", "set aside"},
		"a remote in an old one":  {"cd old && git remote add o https://example.com/x", "", ""},
		"an old one that moves":   {"mv old moved", "", ""},
		"tasks of an editor": {
			"mkdir -p old/.vscode && echo '{}' >old/.vscode/tasks.json", "old/.vscode",
			"set aside",
		},
		"settings of an agent":        {"mkdir -p x/.claude", "x/.claude", "set aside"},
		"a file that leads elsewhere": {"mkdir x; echo gitdir: ../evil >x/.git", "x/.git", "set aside"},
	} {
		p := newPlace(t)
		b := p.open(t, "")
		gitIn(t, p.dir, "init", "-q")
		gitIn(t, p.dir, "init", "-q", "old")
		gitIn(t, p.dir+"/old", "config", "alias.mine", "!echo") // the user's own stays
		if code, out, _, _ := run(t, b, p.dir, "true"); code != 0 {
			t.Fatal(out)
		}
		_, out, notes, _ := run(t, b, p.dir, c.line)
		if all := strings.Join(notes, "\n"); c.note == "" && all != "" || !strings.Contains(all, c.note) {
			t.Errorf("%s: %q, %s", name, all, out)
		}
		if _, err := os.Lstat(filepath.Join(p.dir, c.gone)); c.gone != "" && err == nil {
			t.Errorf("%s: %s stays", name, c.gone)
		}
		for _, repo := range []string{"old", "moved"} {
			if text, err := os.ReadFile(filepath.Join(p.dir, repo, ".git/config")); err == nil &&
				(!strings.Contains(string(text), "mine") || strings.Contains(string(text), "fsmonitor")) {
				t.Errorf("%s: the configuration is %s", name, text)
			}
		}
	}
}
