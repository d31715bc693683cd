package snapshot_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// small mounts a file system of a megabyte on a new folder.
func small(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system can be mounted here: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("%v %s", err, out)
		}
	})
	return dir
}

// fillDisk writes a file until its disk is full, and returns its path.
func fillDisk(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	return path
}

func TestAFullDiskRefusesTheStepAndWorksAgainWhenThereIsRoom(t *testing.T) {
	p := newPlace(t)
	p.store = filepath.Join(small(t), "store")
	p.open(snapshot.Options{})
	p.write("a", "before")
	p.step(func() {})
	p.write("b", noise(200_000))
	filler := fillDisk(t, filepath.Dir(p.store))
	for _, paths := range [][]string{nil, {p.path("b")}} {
		if _, err := p.s.Begin(t.Context(), snapshot.Where{Session: sessionID, Message: "m1"}, paths); err == nil {
			t.Fatalf("the step of %v runs although its files are not saved", paths)
		}
	}
	p.must(os.Remove(filler))
	was := p.read("b")
	p.step(func() { p.write("b", "changed"); p.write("a", "changed") })
	p.undo(1, nil)
	p.expect("a", "before")
	p.expect("b", was)
}

func TestAnUndoOntoAFullDiskLosesNothing(t *testing.T) {
	p := newPlace(t)
	p.dir = small(t)
	p.open(snapshot.Options{})
	p.write("a", noise(300_000))
	p.write("b", "before")
	was := p.read("a")
	p.step(func() { p.write("a", "changed"); p.must(os.Remove(p.path("b"))) })
	_, err := p.history().Steps() // waits for the look after the step
	p.must(err)
	filler := fillDisk(t, p.dir)
	before := p.read("a")
	out := p.undo(1, nil)
	if len(out.Left) == 0 {
		t.Error("nothing is named")
	}
	p.expect("a", before)
	p.must(os.Remove(filler))
	if out.ID != "" {
		p.redo()
	}
	p.undo(1, nil)
	p.expect("a", was)
	p.expect("b", "before")
}
