package snapshot_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// fromGit are options with which nothing is copied that git keeps.
func fromGit() snapshot.Options { return snapshot.Options{Git: git.New(sandbox.New()), Few: -1} }

// settle makes git's index newer than the files, as it is some time after a checkout.
func (p *place) settle() {
	p.t.Helper()
	later := time.Now().Add(time.Second)
	p.must(os.Chtimes(p.path(".git/index"), later, later))
}

// repository is a place with committed files that are not copied.
func repository(t *testing.T, files map[string]string) *place {
	t.Helper()
	needProgram(t, "git")
	p := newPlace(t)
	p.open(fromGit())
	p.git("init", "-q", "-b", "main")
	for name, text := range files {
		p.write(name, text)
	}
	p.git("add", "-A")
	p.git("commit", "-qm", "first")
	p.settle()
	return p
}

// holds reports whether the store has a content, as the bytes of a segment: short contents are not compressed.
func (p *place) holds(text string) bool {
	p.t.Helper()
	list, err := filepath.Glob(filepath.Join(p.store, "*.seg"))
	p.must(err)
	for _, path := range list {
		data, err := os.ReadFile(path)
		p.must(err)
		if strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}

func TestATrackedCleanFileIsNotCopiedUntilItChanges(t *testing.T) {
	p := repository(t, map[string]string{"a": "content of a", "d/b": "content of b"})
	p.write("new", "content of new")
	p.step(func() {
		if p.holds("content of a") || p.holds("content of b") || !p.holds("content of new") {
			t.Error("before the step the store should have the untracked file alone")
		}
		p.write("a", "changed")
		p.must(os.Remove(p.path("d/b")))
		p.must(os.Remove(p.path("d")))
	})
	p.git("add", "-A")
	p.git("commit", "-qm", "second", "--amend")
	p.git("reflog", "expire", "--expire=now", "--all")
	steps, err := p.history().Steps() // waits for the look after the step
	if err != nil || len(steps) != 1 {
		t.Fatalf("%+v %v", steps, err)
	}
	p.git("gc", "-q", "--prune=now")
	if out := p.undo(1, nil); len(out.Left) > 0 {
		t.Errorf("left: %+v", out.Left)
	}
	p.expect("a", "content of a")
	p.expect("d/b", "content of b")
}

func TestAContentThatGitPrunedInTheStepIsNamed(t *testing.T) {
	p := repository(t, map[string]string{"a": "content of a", "b": "content of b"})
	p.step(func() {
		p.write("a", "changed")
		p.git("commit", "-qam", "only this", "--amend")
		p.git("reflog", "expire", "--expire=now", "--all")
		p.git("gc", "-q", "--prune=now")
	})
	plan, err := p.history().Undo(1)
	p.must(err)
	if len(plan.Files) != 1 || !strings.Contains(plan.Files[0].Blocked, "git does not have it any more") {
		t.Errorf("the plan is %+v", plan.Files)
	}
	out, err := plan.Apply(func(snapshot.PlannedFile) snapshot.Choice { return snapshot.Take })
	if err != nil || len(out.Left) != 1 {
		t.Errorf("%+v %v", out, err)
	}
	p.expect("a", "changed")
}

func TestAnEditOfATrackedFileCopiesIt(t *testing.T) {
	p := repository(t, map[string]string{"a": "content of a"})
	p.step(func() {})
	p.edit(func() {
		if !p.holds("content of a") {
			t.Error("the store does not have the file before the edit")
		}
		p.write("a", "edited")
	}, "a")
	p.undo(1, nil)
	p.expect("a", "content of a")
}

func TestAnotherProcessKnowsWhatGitKeeps(t *testing.T) {
	p := repository(t, map[string]string{"a": "content of a", "b": "content of b"})
	p.step(func() {})
	p.open(fromGit())
	p.write("b", "by somebody else")
	p.step(func() { p.write("a", "changed") })
	p.undo(1, nil)
	p.expect("a", "content of a")
	p.expect("b", "by somebody else")
}

// In each of these cases git's object is not what the file holds, or may not be, so the file is copied.
func TestAFileThatMayDifferFromGitIsCopied(t *testing.T) {
	for name, tc := range map[string]struct {
		text    string
		prepare func(p *place)
	}{
		"changed to the same size and time": {"content of a", func(p *place) {
			info, err := os.Lstat(p.path("a"))
			p.must(err)
			p.write("a", "CONTENT of a")
			p.must(os.Chtimes(p.path("a"), info.ModTime(), info.ModTime()))
		}},
		"racy": {"content of a", func(p *place) {
			info, err := os.Lstat(p.path("a"))
			p.must(err)
			p.must(os.Chtimes(p.path(".git/index"), info.ModTime(), info.ModTime()))
		}},
		"line ends": {"content of a\r\n", func(p *place) {
			p.write(".gitattributes", "* text=auto\n")
			p.git("add", "--renormalize", "a")
			p.settle()
		}},
		"autocrlf": {"content of a\r\n", func(p *place) {
			p.git("config", "core.autocrlf", "true")
			p.git("add", "--renormalize", "a")
			p.settle()
		}},
		"a filter": {"content of a", func(p *place) {
			p.write(".gitattributes", "a filter=rot\n")
			p.git("config", "filter.rot.clean", "tr a-z n-za-m")
			p.git("add", "--renormalize", "a")
			p.settle()
		}},
		"a filter in a macro": {"content of a", func(p *place) {
			p.must(os.MkdirAll(p.path(".git/info"), 0o755))
			p.write(".git/info/attributes", "[attr]secret filter=rot\n*  secret\n")
			p.settle()
		}},
		"an encoding": {"content of a", func(p *place) { p.write(".gitattributes", "a working-tree-encoding=UTF-16\n") }},
		"assumed unchanged": {"content of a", func(p *place) {
			p.git("update-index", "--assume-unchanged", "a")
			p.settle()
		}},
		"skipped": {"content of a", func(p *place) {
			p.git("update-index", "--skip-worktree", "a")
			p.settle()
		}},
		"a split index": {"content of a", func(p *place) {
			p.git("update-index", "--split-index")
			p.settle()
		}},
		"a missing object": {"content of a", func(p *place) {
			p.must(os.RemoveAll(p.path(".git/objects")))
			p.must(os.Mkdir(p.path(".git/objects"), 0o755))
		}},
		"a hard link": {"content of a", func(p *place) {
			p.must(os.Link(p.path("a"), p.path("b")))
			p.git("update-index", "--refresh")
			p.settle()
		}},
		"only to be added": {"content of a", func(p *place) {
			p.git("rm", "-q", "--cached", "a")
			p.git("add", "-N", "a")
			p.settle()
		}},
		"no repository any more": {"content of a", func(p *place) { p.must(os.RemoveAll(p.path(".git"))) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := repository(t, map[string]string{"a": tc.text})
			tc.prepare(p)
			was := p.read("a")
			p.step(func() {
				if !p.holds(was) {
					t.Error("it is not in the store before the step")
				}
				p.write("a", "changed by the step")
			})
			p.undo(1, nil)
			p.expect("a", was)
		})
	}
}

func TestTheFormsOfTheIndexAreReadAsGitWritesThem(t *testing.T) {
	for _, version := range []string{"2", "3", "4"} {
		p := repository(t, map[string]string{"a": "content of a", "d/é": "content of b", "d/new\nline": "content of c"})
		p.write("later", "content of later")
		if version == "3" {
			p.git("add", "-N", "later")
		}
		p.git("update-index", "--index-version", version)
		p.settle()
		p.step(func() {
			for _, text := range []string{"content of a", "content of b", "content of c"} {
				if p.holds(text) {
					t.Errorf("version %s: %q was copied", version, text)
				}
			}
			cmd := exec.Command("sh", "-c", "rm -r *")
			cmd.Dir = p.dir
			p.must(cmd.Run())
		})
		if out := p.undo(1, nil); len(out.Left) > 0 {
			t.Errorf("version %s: left %+v", version, out.Left)
		}
		p.expect("d/é", "content of b")
		p.expect("d/new\nline", "content of c")
	}
}
