package snapshot_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// flipped calls check for a copy of a store with each byte of its files damaged in turn.
func flipped(t *testing.T, store string, check func(dir, file string, at int)) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(store, "*"))
	if err != nil || len(list) < 2 {
		t.Fatal(list, err)
	}
	dir := filepath.Join(t.TempDir(), "flipped")
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := range data {
			if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(store))); err != nil {
				t.Fatal(err)
			}
			for _, other := range list { // bits that rot leave the time as it is
				info, err := os.Stat(other)
				if err != nil {
					t.Fatal(err)
				}
				damaged := filepath.Join(dir, filepath.Base(other))
				if other == path {
					wrong := slices.Clone(data)
					wrong[at] ^= 1 << (at % 8)
					err = os.WriteFile(damaged, wrong, 0o600)
				}
				if err = errors.Join(err, os.Chtimes(damaged, info.ModTime(), info.ModTime())); err != nil {
					t.Fatal(err)
				}
			}
			check(dir, filepath.Base(path), at)
		}
	}
}

// inMemory has the test's files be in memory where it can: each damaged byte costs several syncs.
func inMemory(t *testing.T) {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

func TestNoDamagedByteIsPassedOver(t *testing.T) {
	inMemory(t)
	p := newPlace(t)
	p.write("a", "a0")
	p.write("b", "b0")
	p.step(func() { p.write("a", "a1") })
	p.edit(func() { p.write("b", "b1") }, "b")
	p.step(func() { p.write("a", strings.Repeat("a2 ", 60)) })
	steps, err := p.history().Steps()
	p.must(err)
	p.must(p.s.Close())
	intact := p.store
	flipped(t, intact, func(dir, file string, at int) {
		q := &place{t: t, dir: p.dir, store: dir}
		q.write("a", strings.Repeat("a2 ", 60))
		q.write("b", "b1")
		q.open(snapshot.Options{})
		defer func() { q.must(q.s.Close()) }()
		reported(q, file, at)
		two, err := q.history().Undo(2)
		if err == nil && (!slices.Equal(two.Of, idsOf(steps[1:])) || len(two.Files) != 2 ||
			two.Files[0].To.Size != 2 || two.Files[1].To.Size != 2) {
			t.Errorf("%s, byte %d: two steps: %+v", file, at, two)
		}
		q.write("theirs", "by hand")
		defer os.Remove(q.path("theirs"))
		q.step(func() {})
		plan, err := q.history().Undo(1)
		if noted := strings.Contains(strings.Join(q.notes, ""), "damaged"); noted != strings.HasPrefix(file, "index") {
			t.Errorf("%s, byte %d: notes: %q", file, at, q.notes)
		}
		switch {
		case err != nil && !strings.Contains(err.Error(), "damaged"):
			t.Errorf("%s, byte %d: %v", file, at, err)
		case err == nil && !slices.Equal(plan.Of, idsOf(steps[2:])):
			t.Errorf("%s, byte %d: undo takes back %+v", file, at, plan.Steps)
		case err == nil:
			out, err := plan.Apply(nil)
			q.must(err)
			if a := q.read("a"); len(out.Left) == 0 && a != "a1" || len(out.Left) > 0 && a != strings.Repeat("a2 ", 60) {
				t.Errorf("%s, byte %d: a is %q, left: %+v", file, at, a, out.Left)
			}
		}
		q.expect("b", "b1")
		q.expect("theirs", "by hand")
	})
}

func idsOf(list []snapshot.Snapshot) (out []string) {
	for _, n := range list {
		for _, r := range n.Records {
			out = append(out, r.ID)
		}
	}
	return out
}

// reported checks that the check names a damaged file.
func reported(q *place, file string, at int) {
	q.t.Helper()
	v, err := q.s.Verify()
	q.must(err)
	if !slices.ContainsFunc(v.Problems, func(text string) bool { return strings.Contains(text, file) }) {
		q.t.Errorf("%s, byte %d: not reported: %q", file, at, v.Problems)
	}
}

// The store was written before records confirmed the contents before them.
func TestAStoreOfUnconfirmedContentsIsReadAndChecked(t *testing.T) {
	inMemory(t)
	const store = "testdata/unconfirmed"
	q := &place{t: t, dir: "/tmp/lathe-old/project", store: store}
	q.open(snapshot.Options{})
	v, err := q.s.Verify()
	q.must(err)
	steps, err := q.history().Steps()
	q.must(err)
	if len(v.Problems) > 0 || v.Contents != 3 || len(steps) != 3 {
		t.Errorf("%+v, %d steps", v, len(steps))
	}
	flipped(t, store, func(dir, file string, at int) {
		q := &place{t: t, dir: q.dir, store: dir}
		q.open(snapshot.Options{})
		reported(q, file, at)
		plan, err := q.history().Undo(2)
		if err == nil && !slices.Equal(plan.Of, idsOf(steps[1:])) || err != nil && !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%s, byte %d: %v %v", file, at, plan, err)
		}
	})
}

// damage spoils one byte of the first segment.
func (p *place) damage(at func(data []byte) int) {
	p.t.Helper()
	p.must(p.s.Close())
	p.s = nil
	segs, err := filepath.Glob(filepath.Join(p.store, "*.seg"))
	p.must(err)
	data, err := os.ReadFile(segs[0])
	p.must(err)
	data[at(data)] ^= 1
	p.must(os.WriteFile(segs[0], data, 0o600))
	p.open(snapshot.Options{})
}

func TestStepsAfterDamageCanBeUndoneAndPruneLetsItGo(t *testing.T) {
	p := newPlace(t)
	p.write("a", "one")
	p.step(func() { p.write("a", "two") })
	p.step(func() { p.write("a", "three") })
	p.damage(func(data []byte) int { return bytes.Index(data, []byte(`"kind":"step"`)) })
	p.step(func() { p.write("a", "four") })
	p.undo(1, nil)
	p.expect("a", "three")
	if _, err := p.history().Undo(1); err == nil || !strings.Contains(err.Error(), "lathe snapshot prune") {
		t.Errorf("a step before the damage: %v", err)
	}
	if _, err := p.history().Since([]string{"m1"}); err == nil || errors.Is(err, snapshot.ErrNothing) {
		t.Errorf("all steps of the message: %v", err)
	}
	if done, err := p.s.Prune(0); err != nil || done.Records == 0 {
		t.Errorf("prune: %+v %v", done, err)
	}
	if v, err := p.s.Verify(); err != nil || len(v.Problems) > 0 {
		t.Errorf("after the prune: %+v %v", v, err)
	}
	p.redo()
	p.expect("a", "four")
	p.undo(1, nil)
	if _, err := p.history().Undo(1); !errors.Is(err, snapshot.ErrNothing) {
		t.Errorf("after the last step: %v", err)
	}
}

func TestATornEndIsToleratedAndReported(t *testing.T) {
	p := newPlace(t)
	p.write("a", "one")
	p.step(func() { p.write("a", "two") })
	p.step(func() { p.write("b", "new") })
	p.must(p.s.Close())
	segs, err := filepath.Glob(filepath.Join(p.store, "*.seg"))
	p.must(err)
	whole, err := os.ReadFile(segs[0])
	p.must(err)
	last := bytes.LastIndex(whole, []byte(`{"id":`)) - 9 // the head
	for size := last + 1; size < len(whole); size++ {
		p.must(os.WriteFile(segs[0], whole[:size], 0o600))
		q := &place{t: t, dir: p.dir, store: p.store}
		q.open(snapshot.Options{})
		plan, err := q.history().Undo(1)
		if err != nil || plan.Steps[0].Changes()[0].Path != p.path("a") {
			t.Fatalf("%d bytes of the last record: %+v %v", size-last, plan, err)
		}
		if v, err := q.s.Verify(); err != nil || len(v.Problems) != 1 || !strings.Contains(v.Problems[0], "torn") {
			t.Fatalf("%d bytes of the last record: %+v %v", size-last, v, err)
		}
		q.must(q.s.Close())
	}
}

func TestAnUndoThatCannotBeFinishedIsReported(t *testing.T) {
	p := newPlace(t)
	p.write("a", "one")
	p.step(func() { p.write("a", "two") })
	p.must(p.s.Close())
	p.s = nil
	p.must(os.WriteFile(filepath.Join(p.store, "restoring"), []byte("0hoiqbvsx4iffzy"), 0o600))
	p.open(snapshot.Options{})
	reported(p, "restoring", 0)
	p.step(func() {})
	if len(p.notes) != 1 || !strings.Contains(p.notes[0], "cannot be finished") {
		t.Errorf("notes: %q", p.notes)
	}
	p.undo(1, nil)
	p.expect("a", "one")
}
