package snapshot_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A command changes all at once what can be changed: modes, trees, links, a submodule and a repository inside, in a
// worktree of git.
func TestACommandInAWorktreeThatTurnsEverythingOverComesBack(t *testing.T) {
	needProgram(t, "git")
	p := newPlace(t)
	main := filepath.Join(filepath.Dir(p.dir), "main")
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{
			"-c", "user.name=u", "-c", "user.email=u@example.org", "-c",
			"protocol.file.allow=always",
		}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	module := filepath.Join(filepath.Dir(p.dir), "module")
	for _, dir := range []string{main, module} {
		p.must(os.MkdirAll(dir, 0o755))
		run(dir, "init", "-q", "-b", "main")
		p.must(os.WriteFile(filepath.Join(dir, "file"), []byte("of "+filepath.Base(dir)+"\n"), 0o600))
		run(dir, "add", "-A")
		run(dir, "commit", "-qm", "first")
	}
	p.must(os.Remove(p.dir))
	run(main, "worktree", "add", "-q", p.dir, "-b", "side")
	run(p.dir, "submodule", "add", "-q", module, "module")
	p.must(os.MkdirAll(p.path("nested"), 0o755))
	run(p.path("nested"), "init", "-q")
	p.write("nested/file", "nested\n")
	p.write("tree/one/a", "a\n")
	p.write("tree/two/b", "b\n")
	p.write("other/one/a", "other\n")
	p.write("other/only", "only\n")
	p.write("tool.sh", "#!/bin/sh\n")
	p.must(os.Symlink("tree", p.path("link")))
	p.must(os.Symlink("tool.sh", p.path("link2")))
	gitBefore, gitMain := gitFolder(t, main), state(p.path(".git"))
	before := tree(t, p.dir)
	p.step(func() {
		p.must(os.Chmod(p.path("tool.sh"), 0o4755))
		p.must(os.Chmod(p.path("tree"), 0o700))
		p.must(os.RemoveAll(p.path("other/one")))
		p.must(os.Rename(p.path("tree/one"), p.path("other/one")))
		p.must(os.RemoveAll(p.path("tree")))
		p.write("tree", "a file now\n")
		p.must(os.Remove(p.path("link")))
		p.write("link/in", "a folder now\n")
		p.must(os.Remove(p.path("link2")))
		p.must(os.Symlink("other", p.path("link2")))
		p.write("module/file", "changed\n")
		p.write("module/new", "new\n")
		p.write("nested/file", "changed\n")
		p.must(os.Remove(p.path("file")))
	})
	after := tree(t, p.dir)
	for range 2 {
		if out := p.undo(1, nil); len(out.Left) > 0 {
			t.Errorf("left %+v", out.Left)
		}
		if got := tree(t, p.dir); got != before {
			t.Errorf("undo gives\n%s\nwant\n%s", got, before)
		}
		if out := p.redo(); len(out.Left) > 0 {
			t.Errorf("left by redo %+v", out.Left)
		}
		if got := tree(t, p.dir); got != after {
			t.Errorf("redo gives\n%s\nwant\n%s", got, after)
		}
	}
	if gitFolder(t, main) != gitBefore || state(p.path(".git")) != gitMain {
		t.Error("the repository was touched")
	}
}
