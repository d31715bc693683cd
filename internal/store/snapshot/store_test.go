package snapshot_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// place is a project with a store.
type place struct {
	t     failing
	dir   string // the working root
	store string
	s     *snapshot.Store
	notes []string
	waits []string // announced while a step waited
}

// failing is a test, or one run of a property.
type failing interface {
	Helper()
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

func newPlace(t testing.TB) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t, dir: filepath.Join(base, "project"), store: filepath.Join(base, "store")}
	p.must(os.Mkdir(p.dir, 0o755))
	p.open(snapshot.Options{})
	t.Cleanup(func() { _ = p.s.Close() })
	return p
}

// open opens the store, again if it was open.
func (p *place) open(o snapshot.Options) {
	p.t.Helper()
	if p.s != nil {
		p.must(p.s.Close())
	}
	o.Dir, o.Roots = p.store, func() []string { return []string{p.dir} }
	o.Note = func(text string) { p.notes = append(p.notes, text) }
	o.Wait = func(text string) { p.waits = append(p.waits, text) }
	p.s = snapshot.New(o)
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

func (p *place) write(name, text string) {
	p.t.Helper()
	p.must(os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	p.must(os.WriteFile(p.path(name), []byte(text), 0o644))
}

func (p *place) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(p.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "(none)"
	}
	p.must(err)
	return string(b)
}

const sessionID = "s1"

// step runs one step that may change everything.
func (p *place) step(run func()) { p.t.Helper(); p.stepOf(sessionID, "m1", nil, run) }

// edit runs one step that changes only the named files.
func (p *place) edit(run func(), names ...string) {
	p.t.Helper()
	var paths []string
	for _, n := range names {
		paths = append(paths, p.path(n))
	}
	p.stepOf(sessionID, "m1", paths, run)
}

func (p *place) stepOf(session, message string, paths []string, run func()) {
	p.t.Helper()
	end, err := p.s.Begin(context.Background(), snapshot.Where{Session: session, Message: message, Title: "a step"}, paths)
	p.must(err)
	run()
	end()
}

func (p *place) history() snapshot.History {
	return snapshot.History{Store: p.s, Sessions: []string{sessionID}}
}

// undo undoes the last n steps.
func (p *place) undo(n int, choose func(snapshot.PlannedFile) snapshot.Choice) snapshot.Outcome {
	p.t.Helper()
	plan, err := p.history().Undo(n)
	p.must(err)
	out, err := plan.Apply(choose)
	p.must(err)
	return out
}

func (p *place) redo() snapshot.Outcome {
	p.t.Helper()
	plan, err := p.history().Redo()
	p.must(err)
	out, err := plan.Apply(nil)
	p.must(err)
	return out
}

func (p *place) expect(name, want string) {
	p.t.Helper()
	if got := p.read(name); got != want {
		p.t.Errorf("%s: %q, want %q", name, got, want)
	}
}

func TestUndoAndRedoOfACommandBringEveryKindOfChangeBack(t *testing.T) {
	p := newPlace(t)
	p.write("kept.txt", "kept")
	p.write("changed.txt", "before")
	p.write("deleted.txt", "deleted")
	p.write("moved/from.txt", "moved")
	p.write("empty.txt", "")
	p.write("tool.sh", "#!/bin/sh\n")
	p.write("wasfile", "a file")
	p.write("wasdir/in.txt", "in a folder")
	p.must(os.Symlink("kept.txt", p.path("link")))
	p.step(func() {
		p.write("changed.txt", "after")
		p.must(os.Remove(p.path("deleted.txt")))
		p.must(os.Rename(p.path("moved"), p.path("other")))
		p.must(os.Remove(p.path("empty.txt")))
		p.must(os.Chmod(p.path("tool.sh"), 0o755))
		p.must(os.Remove(p.path("wasfile")))
		p.write("wasfile/deep/new.txt", "new")
		p.must(os.RemoveAll(p.path("wasdir")))
		p.write("wasdir", "a file now")
		p.must(os.Remove(p.path("link")))
		p.must(os.Symlink("changed.txt", p.path("link")))
		p.must(os.MkdirAll(p.path("a/b/c"), 0o700))
	})
	after := tree(t, p.dir)
	if out := p.undo(1, nil); len(out.Left) > 0 {
		t.Errorf("left: %+v", out.Left)
	}
	p.expect("changed.txt", "before")
	p.expect("deleted.txt", "deleted")
	p.expect("moved/from.txt", "moved")
	p.expect("empty.txt", "")
	p.expect("wasfile", "a file")
	p.expect("wasdir/in.txt", "in a folder")
	p.expect("kept.txt", "kept")
	for _, name := range []string{"other", "a"} {
		if _, err := os.Lstat(p.path(name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	if info, err := os.Stat(p.path("tool.sh")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if to, _ := os.Readlink(p.path("link")); to != "kept.txt" {
		t.Errorf("the link points to %s", to)
	}
	if out := p.redo(); len(out.Left) > 0 {
		t.Errorf("left: %+v", out.Left)
	}
	if got := tree(t, p.dir); got != after {
		t.Errorf("redo gives\n%s\nwant\n%s", got, after)
	}
	if _, err := p.history().Redo(); !errors.Is(err, snapshot.ErrNothing) {
		t.Errorf("a second redo: %v", err)
	}
}

func TestUndoOfEditsLooksOnlyAtTheirFiles(t *testing.T) {
	p := newPlace(t)
	p.write("a.txt", "one")
	p.edit(func() { p.write("a.txt", "two") }, "a.txt")
	p.edit(func() { p.write("a.txt", "three") }, "a.txt")
	p.edit(func() { p.write("new/deep/b.txt", "b") }, "new/deep/b.txt")
	p.undo(1, nil)
	p.expect("new/deep/b.txt", "(none)")
	if _, err := os.Lstat(p.path("new")); err == nil {
		t.Error("the folders of the new file stayed")
	}
	p.undo(1, nil)
	p.expect("a.txt", "two")
	p.undo(1, nil)
	p.expect("a.txt", "one")
	p.redo()
	p.expect("a.txt", "two")
	p.redo()
	p.expect("a.txt", "three")
	p.redo()
	p.expect("new/deep/b.txt", "b")
}

func TestAFileThatSomebodyElseChangedIsLeftAlone(t *testing.T) {
	lines := func(first, last string) string { return first + "\n2\n3\n4\n5\n6\n7\n" + last + "\n" }
	for _, tc := range []struct {
		choice snapshot.Choice
		want   string
	}{
		{snapshot.Keep, lines("lathe", "theirs")}, {snapshot.Take, lines("1", "8")}, {snapshot.Merge, lines("1", "theirs")},
	} {
		t.Run(string(tc.choice), func(t *testing.T) {
			p := newPlace(t)
			p.write("a.txt", lines("1", "8"))
			p.write("b.txt", "b")
			p.step(func() { p.write("a.txt", lines("lathe", "8")); p.write("b.txt", "c") })
			p.must(p.s.Close())
			p.s = nil
			p.open(snapshot.Options{})
			p.write("a.txt", lines("lathe", "theirs"))
			plan, err := p.history().Undo(1)
			p.must(err)
			if c := plan.Conflicts(); len(c) != 1 || c[0].Path != p.path("a.txt") {
				t.Fatalf("conflicts: %+v", c)
			}
			out, err := plan.Apply(func(snapshot.PlannedFile) snapshot.Choice { return tc.choice })
			p.must(err)
			p.expect("a.txt", tc.want)
			p.expect("b.txt", "b")
			if tc.choice == snapshot.Keep && (len(out.Left) != 1 || out.Left[0].Blocked == "") {
				t.Errorf("left: %+v", out.Left)
			}
			p.redo()
			p.expect("a.txt", lines("lathe", "theirs"))
			p.expect("b.txt", "c")
		})
	}
}

func TestTheOldestSnapshotsGoFirst(t *testing.T) {
	p := newPlace(t)
	limit := int64(400 << 10)
	p.open(snapshot.Options{Limit: limit})
	noise := func(seed byte) string {
		b := make([]byte, 50<<10)
		x := uint32(seed) + 1
		for i := range b {
			x = x*1664525 + 1013904223
			b[i] = byte(x >> 24)
		}
		return string(b)
	}
	p.write("a", noise(0))
	for i := range byte(20) {
		p.step(func() { p.write("a", noise(i+1)) })
	}
	p.open(snapshot.Options{Limit: limit})
	if len(p.notes) == 0 || !strings.Contains(p.notes[0], "let go") {
		t.Errorf("notes: %q", p.notes)
	}
	v, err := p.s.Verify()
	p.must(err)
	if v.Size > limit || len(v.Problems) > 0 {
		t.Errorf("%+v", v)
	}
	list, err := p.history().Steps()
	p.must(err)
	if len(list) == 0 || len(list) > 8 {
		t.Fatalf("%d steps are left", len(list))
	}
	p.undo(len(list), nil)
	p.expect("a", noise(byte(20-len(list))))
	for range 3 {
		p.step(func() { p.write("a", noise(99)) })
	}
	p.undo(1, nil)
}

func TestDamageIsReportedAndNothingElseIsLost(t *testing.T) {
	p := newPlace(t)
	p.write("a", strings.Repeat("first ", 100))
	p.write("b", strings.Repeat("second ", 100))
	p.step(func() { p.write("a", "x"); p.write("b", "y") })
	p.must(p.s.Close())
	p.s = nil
	segs, err := filepath.Glob(filepath.Join(p.store, "*.seg"))
	p.must(err)
	data, err := os.ReadFile(segs[0])
	p.must(err)
	data[60] ^= 1 // in the first content
	p.must(os.WriteFile(segs[0], data, 0o600))
	p.open(snapshot.Options{})
	v, err := p.s.Verify()
	p.must(err)
	if len(v.Problems) != 1 {
		t.Errorf("%+v", v)
	}
	out := p.undo(1, nil)
	if len(out.Changed) != 1 || len(out.Left) != 1 || !strings.Contains(out.Left[0].Blocked, "damaged") {
		t.Errorf("%+v", out)
	}
}

func TestAFolderWithTooManyFilesIsCoveredForEditsOnly(t *testing.T) {
	p := newPlace(t)
	p.open(snapshot.Options{MaxFiles: 2})
	for _, name := range []string{"a", "b", "c"} {
		p.write(name, "before")
	}
	p.step(func() { p.write("a", "command") })
	if list := p.s.Uncovered(); len(list) != 1 || !strings.Contains(list[0], "more than 2 files") {
		t.Errorf("%q", list)
	}
	p.edit(func() { p.write("b", "edit") }, "b")
	p.undo(1, nil)
	p.expect("a", "command")
	p.expect("b", "before")
}

func TestAPatternOfIncludedFilesThatCannotBeReadIsNoted(t *testing.T) {
	p := newPlace(t)
	p.open(snapshot.Options{Include: []string{"*.env", strings.Repeat("{a,*}", 20) + "x", "[a"}})
	if len(p.notes) != 2 || !strings.Contains(p.notes[0], "too many alternatives") || !strings.Contains(p.notes[1],
		`"[a"`) {
		t.Errorf("notes: %q", p.notes)
	}
}

func TestALongFirstCopyIsAnnounced(t *testing.T) {
	p := newPlace(t)
	p.fill(1001)
	p.step(func() {
		if len(p.waits) != 1 || !strings.HasPrefix(p.waits[0], "Saving ") {
			t.Errorf("announced before the step: %q", p.waits)
		}
	})
	p.step(func() {})
	if len(p.waits) != 1 {
		t.Errorf("announced: %q", p.waits)
	}
}
