package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// Undo never writes outside of the roots: not through a folder that became a link since, nor through a file's own link.
func TestUndoDoesNotFollowAFolderThatBecameALink(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(filepath.Dir(p.dir), "outside")
	p.must(os.MkdirAll(filepath.Join(outside, "deep"), 0o755))
	for _, name := range []string{"d/deep/a", "d/b", "e/c"} {
		p.write(name, "before")
	}
	p.step(func() {
		p.write("d/deep/a", "changed")
		p.write("d/b", "changed")
		p.write("d/new", "new")
		p.must(os.RemoveAll(p.path("e")))
	})
	_, err := p.history().Steps() // waits for the look after the step
	p.must(err)
	for _, name := range []string{"deep/a", "b", "new", "c"} {
		p.must(os.WriteFile(filepath.Join(outside, name), []byte("changed"), 0o600))
	}
	p.must(os.RemoveAll(p.path("d")))
	p.must(os.Symlink(outside, p.path("d")))
	p.must(os.Symlink(outside, p.path("e")))
	before := tree(t, outside)
	for _, choice := range []snapshot.Choice{snapshot.Keep, snapshot.Take, snapshot.Merge} {
		plan, err := p.history().Undo(1)
		p.must(err)
		_, err = plan.Apply(func(snapshot.PlannedFile) snapshot.Choice { return choice })
		p.must(err)
		if got := tree(t, outside); got != before {
			t.Fatalf("%s wrote outside:\n%s\nbefore:\n%s", choice, got, before)
		}
		if _, err := p.history().Redo(); err == nil {
			p.redo()
		}
	}
	if got := tree(t, outside); got != before {
		t.Errorf("redo wrote outside:\n%s", got)
	}
}

// The folder becomes a link after the plan was checked, in the moment of the restore.
func TestAFolderThatBecomesALinkInTheMomentOfTheRestoreLeadsNowhere(t *testing.T) {
	p := newPlace(t)
	outside := filepath.Join(filepath.Dir(p.dir), "outside")
	p.must(os.Mkdir(outside, 0o755))
	p.write("d/a", "before")
	p.step(func() { p.write("d/a", "changed") })
	plan, err := p.history().Undo(1)
	p.must(err)
	p.must(os.WriteFile(filepath.Join(outside, "a"), []byte("changed"), 0o600))
	before := tree(t, outside)
	swapped := false
	snapshot.OnPhase(func(phase string) {
		if phase == "staged" && !swapped {
			swapped = true
			p.must(os.Rename(p.path("d"), p.path("gone")))
			p.must(os.Symlink(outside, p.path("d")))
		}
	})
	t.Cleanup(func() { snapshot.OnPhase(func(string) {}) })
	out, err := plan.Apply(nil)
	p.must(err)
	if !swapped || len(out.Left) != 1 || tree(t, outside) != before {
		t.Errorf("swapped %v, left %+v, outside:\n%s", swapped, out.Left, tree(t, outside))
	}
}

func TestAFileThatBecameAFolderOrTheReverseIsNotLost(t *testing.T) {
	p := newPlace(t)
	p.write("a", "file")
	p.write("d/x", "in the folder")
	p.step(func() {
		p.must(os.Remove(p.path("a")))
		p.write("a/inner", "made by the step")
		p.must(os.RemoveAll(p.path("d")))
		p.write("d", "a file now")
	})
	_, err := p.history().Steps()
	p.must(err)
	p.write("a/mine", "mine")
	out := p.undo(1, nil)
	p.expect("a/mine", "mine")
	p.expect("d/x", "in the folder")
	if len(out.Left) == 0 {
		t.Error("a is a folder with a file of the user, and nothing was left")
	}
	p.must(os.Remove(p.path("a/mine")))
	p.redo()
	p.expect("d", "a file now")
	p.undo(1, nil)
	p.expect("d/x", "in the folder")
}

func TestNamesOfAHostileRepositoryAreFilesLikeOthers(t *testing.T) {
	p := newPlace(t)
	hostile := []string{"new\nline", "esc\x1b[2J", "tab\t", " leading", "-rf", "quote\"'", "\xff\xfe", "..." +
		strings.Repeat("x", 200), "a/.git", "x/.GIT/hooks"}
	for _, name := range hostile {
		if name != "a/.git" {
			p.write(name, "before")
		}
	}
	p.must(os.MkdirAll(p.path("a"), 0o755))
	p.must(os.WriteFile(p.path("a/.git"), []byte("gitdir: /etc\n"), 0o600))
	p.step(func() {
		for _, name := range hostile {
			p.must(os.WriteFile(p.path(name), []byte("changed"), 0o600))
		}
	})
	p.undo(1, nil)
	for _, name := range hostile {
		want := "before"
		if name == "a/.git" {
			want = "changed" // undo leaves .git alone, also where it is a file
		}
		p.expect(name, want)
	}
}

// A repository whose .git points elsewhere, whose alternates do, or whose index is damaged or enormous, costs copies
// and nothing else.
func TestAHostileRepositoryOnlyCostsCopies(t *testing.T) {
	needProgram(t, "git")
	for name, make := range map[string]func(p *place){
		"a file that points nowhere": func(p *place) {
			p.must(os.RemoveAll(p.path(".git")))
			p.write(".git",
				"gitdir: ../none\n")
		},
		"a file that points to itself": func(p *place) {
			p.must(os.RemoveAll(p.path(".git")))
			p.write(".git",
				"gitdir: .git\n")
		},
		"a file that points to a pipe": func(p *place) {
			p.must(os.RemoveAll(p.path(".git")))
			fifo(p, "fifo")
			p.write(".git", "gitdir: fifo\n")
		},
		"a file that points to a folder with pipes": func(p *place) {
			p.must(os.RemoveAll(p.path(".git")))
			p.must(os.Mkdir(p.path("elsewhere"), 0o755))
			fifo(p, "elsewhere/commondir")
			fifo(p, "elsewhere/info")
			p.write(".git", "gitdir: elsewhere\n")
		},
		"a pipe": func(p *place) {
			p.must(os.RemoveAll(p.path(".git")))
			fifo(p, ".git")
		},
		"alternates to a pipe": func(p *place) {
			fifo(p, ".git/objects/pipe")
			p.write(".git/objects/info/alternates",
				"pipe\n/\n")
		},
		"a torn index": func(p *place) {
			data, err := os.ReadFile(p.path(".git/index"))
			p.must(err)
			p.must(os.WriteFile(p.path(".git/index"), data[:len(data)/2], 0o600))
		},
		"an enormous index": func(p *place) { p.must(os.Truncate(p.path(".git/index"), 3<<30)) },
		"an index that is a link": func(p *place) {
			p.must(os.Remove(p.path(".git/index")))
			p.must(os.Symlink("/dev/zero", p.path(".git/index")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := repository(t, map[string]string{"a": "before a", "b": "before b", "c": "before c"})
			make(p)
			p.step(func() {
				p.write("a", "changed")
				p.must(os.Remove(p.path("b")))
			})
			p.undo(1, nil)
			p.expect("a", "before a")
			p.expect("b", "before b")
		})
	}
}

func TestPipesAndDevicesAreNeitherReadNorReplaced(t *testing.T) {
	p := newPlace(t)
	p.write("a", "before")
	fifo(p, "pipe")
	p.must(os.Symlink("/dev/zero", p.path("zero")))
	p.step(func() {
		p.must(os.Remove(p.path("a")))
		fifo(p, "a")
		p.must(os.Remove(p.path("pipe")))
		p.write("pipe", "a file now")
		p.must(os.Remove(p.path("zero")))
	})
	out := p.undo(1, nil)
	if at, err := os.Lstat(p.path("a")); err != nil || at.Mode()&os.ModeNamedPipe == 0 && p.read("a") != "before" {
		t.Errorf("a: %v %v", at, err)
	}
	if target, err := os.Readlink(p.path("zero")); err != nil || target != "/dev/zero" {
		t.Errorf("zero: %q %v", target, err)
	}
	p.expect("pipe", "a file now")
	if len(out.Left) == 0 {
		t.Error("nothing was left")
	}
}

// Two names that fold together are two files here, and one on other systems: both come back, or the one is named.
func TestNamesThatDifferInCaseOnlyComeBack(t *testing.T) {
	p := newPlace(t)
	p.write("Name", "upper")
	p.write("name", "lower")
	want := p.read("Name") + p.read("name")
	p.step(func() {
		p.must(os.Rename(p.path("name"), p.path("NAME")))
		p.must(os.RemoveAll(p.path("Name")))
	})
	p.undo(1, nil)
	if got := p.read("Name") + p.read("name"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A name whose case changes is another name, also where both lead to the same file.
func TestANameWhoseCaseChangedComesBack(t *testing.T) {
	p := newPlace(t)
	p.write("read.me", "text")
	p.write("dir/a", "a")
	p.write("dir/b", "b")
	before := tree(t, p.dir)
	p.step(func() {
		// by way of a third name: Linux leaves a file alone whose names lead to the same
		for from, to := range map[string]string{"read.me": "READ.me", "dir": "Dir"} {
			p.must(os.Rename(p.path(from), p.path("third")))
			p.must(os.Rename(p.path("third"), p.path(to)))
		}
		p.write("Dir/b", "changed")
	})
	after := tree(t, p.dir)
	if out := p.undo(1, nil); len(out.Left) > 0 {
		t.Errorf("left %+v", out.Left)
	}
	if got := tree(t, p.dir); got != before {
		t.Errorf("undo gives\n%s\nwant\n%s", got, before)
	}
	if out := p.redo(); len(out.Left) > 0 {
		t.Errorf("left by redo: %+v", out.Left)
	}
	if got := tree(t, p.dir); got != after {
		t.Errorf("redo gives\n%s\nwant\n%s", got, after)
	}
}

func TestAnEditUnderAnotherSpellingIsTakenBack(t *testing.T) {
	p := newPlace(t)
	p.write("dir/README", "before")
	before := tree(t, p.dir)
	p.edit(func() { p.write("DIR/ReadMe", "changed") }, "DIR/ReadMe")
	p.undo(1, nil)
	if got := tree(t, p.dir); got != before {
		t.Errorf("undo gives\n%s\nwant\n%s", got, before)
	}
	p.step(func() { p.write("dir/README", "changed again") })
	p.undo(1, nil)
	if got := tree(t, p.dir); got != before {
		t.Errorf("undo of a command gives\n%s\nwant\n%s", got, before)
	}
}

func TestAFileThatSomebodySpelledAnewIsNotOverwritten(t *testing.T) {
	for _, choice := range []snapshot.Choice{snapshot.Keep, snapshot.Take, snapshot.Merge} {
		p := newPlace(t)
		p.write("dir/b", "before")
		p.write("c", "before")
		p.step(func() {
			p.write("dir/b", "changed")
			p.write("c", "changed")
		})
		_, err := p.history().Steps()
		p.must(err)
		for from, to := range map[string]string{"dir": "Dir", "c": "C"} {
			p.must(os.Rename(p.path(from), p.path("third")))
			p.must(os.Rename(p.path("third"), p.path(to)))
		}
		p.write("Dir/b", "mine")
		p.write("C", "mine")
		p.undo(1, func(snapshot.PlannedFile) snapshot.Choice { return choice })
		p.expect("Dir/b", "mine")
		p.expect("C", "mine")
	}
}
