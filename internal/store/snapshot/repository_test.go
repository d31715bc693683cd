package snapshot_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitIn runs git in a folder below the root; it must succeed.
func (p *place) gitIn(dir string, args ...string) {
	p.t.Helper()
	cmd := exec.Command("git", append([]string{
		"-c", "protocol.file.allow=always", "-c", "user.name=a", "-c",
		"user.email=a@b",
	}, args...)...)
	cmd.Dir = filepath.Join(p.dir, dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Errorf("git %s: %v %s", strings.Join(args, " "), err, out)
	}
}

func TestNestedRepositoriesAndSubmodulesComeBack(t *testing.T) {
	p := repository(t, map[string]string{"a": "before a"})
	other := repository(t, map[string]string{"s": "before s"})
	p.gitIn(".", "submodule", "add", "-q", other.dir, "sub")
	p.gitIn(".", "commit", "-qm", "submodule")
	p.write("nested/n", "before n")
	p.gitIn("nested", "init", "-q")
	p.write("nested/.gitignore", "*.log\n")
	p.gitIn("nested", "add", "-A")
	p.gitIn("nested", "commit", "-qm", "nested")
	p.write("nested/x.log", "noise")
	gitDir := gitFolder(t, p.dir)
	p.step(func() {
		for _, name := range []string{"a", "sub/s", "nested/n", "nested/x.log"} {
			p.write(name, "changed")
		}
		p.write("sub/new", "new")
	})
	p.undo(1, nil)
	for name, want := range map[string]string{
		// ignored there
		"a": "before a", "sub/s": "before s", "sub/new": "(none)", "nested/n": "before n", "nested/x.log": "changed",
	} {
		p.expect(name, want)
	}
	if gitFolder(t, p.dir) != gitDir {
		t.Error("undo changed .git")
	}
	p.gitIn("sub", "diff", "--exit-code")
	p.redo()
	p.expect("sub/s", "changed")
}

func TestASparseCheckoutStaysSparse(t *testing.T) {
	p := repository(t, map[string]string{"in/a": "before a", "out/b": "before b", "top": "t"})
	p.gitIn(".", "sparse-checkout", "set", "in")
	p.expect("out/b", "(none)")
	p.settle()
	p.step(func() { p.write("in/a", "changed"); p.write("out/b", "made by the step") })
	p.undo(1, nil)
	p.expect("in/a", "before a")
	p.expect("out/b", "(none)")
	p.gitIn(".", "diff", "--exit-code")
}

// A program that has a file open goes on with the file that it opened; the name leads to the content before.
func TestAFileThatIsOpenComesBack(t *testing.T) {
	p := newPlace(t)
	p.write("log", "before")
	f, err := os.OpenFile(p.path("log"), os.O_APPEND|os.O_RDWR, 0)
	p.must(err)
	defer f.Close()
	p.step(func() {
		_, err := f.WriteString(" and more")
		p.must(err)
	})
	p.undo(1, nil)
	p.expect("log", "before")
	_, err = f.WriteString("!")
	p.must(err)
	p.expect("log", "before")
}

func TestModesLinksAndEmptyFilesComeBack(t *testing.T) {
	p := repository(t, map[string]string{"run": "#!/bin/sh\n", "empty": "", "one": "shared", "plain": "x"})
	p.must(os.Chmod(p.path("run"), 0o755))
	p.must(os.Link(p.path("one"), p.path("two")))
	p.must(os.Symlink("one", p.path("soft")))
	p.must(os.Symlink("/nowhere", p.path("dangling")))
	p.must(os.Mkdir(p.path("folder"), 0o750))
	want := tree(t, p.dir)
	p.step(func() {
		p.must(os.Chmod(p.path("run"), 0o600))
		p.must(os.Remove(p.path("empty")))
		p.write("two", "changed under both names")
		p.must(os.Remove(p.path("soft")))
		p.must(os.Symlink("plain", p.path("soft")))
		p.must(os.Remove(p.path("dangling")))
		p.must(os.Remove(p.path("folder")))
	})
	p.undo(1, nil)
	if got := tree(t, p.dir); got != want {
		t.Errorf("after undo:\n%s\nwant:\n%s", got, want)
	}
	one, err := os.Stat(p.path("one"))
	p.must(err)
	two, err := os.Stat(p.path("two"))
	p.must(err)
	if !os.SameFile(one, two) {
		t.Error("one and two are not one file any more")
	}
}
