//go:build amd64 || arm64

package boundary_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestABrokenHEADIsPutBack(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for line, restored := range map[string]bool{
		"echo broken >.git/HEAD": true, "rm .git/HEAD": true, "rm .git/HEAD; ln -s /etc/passwd .git/HEAD": true,
		"git checkout -q -b other": false,
	} {
		p := newPlace(t)
		gitIn(t, p.dir, "init", "-q", "-b", "main")
		_, out, notes, _ := run(t, p.open(t, `{"enabled": true}`), p.dir, line)
		head, err := os.ReadFile(p.dir + "/.git/HEAD")
		want := "ref: refs/heads/other\n"
		if restored {
			want = "ref: refs/heads/main\n"
		}
		said := strings.Contains(strings.Join(notes, "\n"), "put the one before back")
		if err != nil || string(head) != want || said != restored {
			t.Errorf("%s: %q, %v: %s %q", line, head, err, out, notes)
		}
	}
}

func TestCommandsPlantNoFilesThatChoosePrograms(t *testing.T) {
	p := newPlace(t)
	gitIn(t, p.dir, "init", "-q", "-b", "main")
	_, _, notes, _ := run(t, p.open(t, `{"enabled": true}`), p.dir, "for f in .qwen .amp .factory .trae .augment "+
		".devcontainer .jj/repo; do mkdir -p $f; done; for f in .qwen/settings.json .hg/hgrc .jj/repo/config.toml "+
		".git/objects/info/alternates .tool-versions mise.toml rust-toolchain.toml .pre-commit-config.yaml lefthook.yml; do "+
		"mkdir -p $(dirname $f); echo x >$f; done")
	for _, name := range []string{
		".qwen", ".amp", ".factory", ".trae", ".augment", ".devcontainer", ".jj/repo/config.toml", ".hg/hgrc",
		".git/objects/info/alternates", ".tool-versions", "mise.toml", "rust-toolchain.toml", ".pre-commit-config.yaml",
		"lefthook.yml",
	} {
		if _, err := os.Lstat(p.dir + "/" + name); err == nil {
			t.Errorf("%s is there: %q", name, notes)
		}
	}
}
