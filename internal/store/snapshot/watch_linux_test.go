package snapshot_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAWriteThroughAMappingIsSeenAfterTheStep(t *testing.T) {
	p := newPlace(t)
	p.write("d/a", "before")
	p.step(func() {})
	p.step(func() {
		f, err := os.OpenFile(p.path("d/a"), os.O_RDWR, 0)
		p.must(err)
		mem, err := unix.Mmap(int(f.Fd()), 0, 6, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		p.must(err)
		p.must(f.Close())
		copy(mem, "AFTER!")
		p.must(unix.Munmap(mem))
	})
	p.undo(1, nil)
	p.expect("d/a", "before")
}

func TestAWriteUnderAnotherNameIsSeenAfterTheStep(t *testing.T) {
	p := newPlace(t)
	p.write("d/a", "before")
	other := filepath.Join(p.store, "..", "other")
	p.must(os.Link(p.path("d/a"), other))
	for range 3 {
		p.step(func() {})
	}
	p.step(func() { p.must(os.WriteFile(other, []byte("after"), 0o644)) })
	p.undo(1, nil)
	p.expect("d/a", "before")
}

func TestALinkThatTheStepMakesAndWritesIsSeen(t *testing.T) {
	p := newPlace(t)
	p.write("a", "before")
	p.write("d/b", "")
	p.step(func() {})
	p.step(func() {
		p.must(os.Link(p.path("a"), p.path("d/c")))
		p.must(os.WriteFile(p.path("d/c"), []byte("after"), 0o644))
	})
	p.undo(1, nil)
	p.expect("a", "before")
	p.expect("d/c", "(none)")
}

func TestFoldersThatAStepMakesAreWatched(t *testing.T) {
	p := newPlace(t)
	p.step(func() {})
	p.step(func() { p.write("d/e/a", "first") })
	p.step(func() { p.write("d/e/a", "second") })
	p.step(func() { p.must(os.Rename(p.path("d"), p.path("f"))) })
	p.step(func() { p.write("f/e/a", "third") })
	p.undo(1, nil)
	p.expect("f/e/a", "second")
	p.undo(1, nil)
	p.expect("d/e/a", "second")
	p.undo(1, nil)
	p.expect("d/e/a", "first")
}
