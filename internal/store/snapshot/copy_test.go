package snapshot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

// names lists the files below the working root.
func (p *place) names() []string {
	p.t.Helper()
	var out []string
	p.must(filepath.WalkDir(p.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			rel, _ := filepath.Rel(p.dir, path)
			out = append(out, rel)
		}
		return err
	}))
	return out
}

func (p *place) contents() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	for _, name := range p.names() {
		out[name] = p.read(name)
	}
	return out
}

func TestACommandThatDoesNotWaitForAllCopiesLosesNothingItWasKnownToChange(t *testing.T) {
	p := newPlace(t)
	p.open(snapshot.Options{Patience: -1})
	p.fill(1100)
	before := p.contents()
	named := []string{p.path("d0"), p.path("d3/e2/f43/file3.go")}
	end, err := p.s.Begin(t.Context(), snapshot.Where{Session: sessionID, Named: named}, nil)
	p.must(err)
	for name := range before {
		p.write(name, "changed "+name)
	}
	end()
	if len(p.waits) != 2 || !strings.Contains(p.waits[1], "runs before") {
		t.Errorf("announced: %q", p.waits)
	}
	out := p.undo(1, nil)
	left := map[string]bool{}
	for _, f := range out.Left {
		if !strings.Contains(f.Blocked, "changed before its first copy") {
			t.Errorf("%s: %s", f.Path, f.Blocked)
		}
		left[f.Path] = true
	}
	for name, want := range before {
		if left[p.path(name)] {
			want = "changed " + name
		}
		p.expect(name, want)
	}
	for name := range before {
		if left[p.path(name)] && (strings.HasPrefix(name, "d0/") || p.path(name) == named[1]) {
			t.Errorf("%s was known to change, and was not saved", name)
		}
	}
}

func TestCopiesThatAreOwedAreMadeByTheNextProcess(t *testing.T) {
	p := newPlace(t)
	p.open(snapshot.Options{Patience: -1})
	p.fill(1100)
	before := p.contents()
	p.step(func() {})
	p.open(snapshot.Options{})
	p.step(func() {
		for name := range before {
			p.write(name, "changed")
		}
	})
	if out := p.undo(1, nil); len(out.Left) > 0 {
		t.Errorf("left: %v", out.Left)
	}
	for name, want := range before {
		p.expect(name, want)
	}
}

func TestALookAheadSavesWithoutACommand(t *testing.T) {
	p := newPlace(t)
	p.fill(1100)
	p.s.Ahead()
	if !await.Until(func() bool {
		v, err := p.s.Verify()
		return err == nil && v.Contents >= 1100
	}) {
		t.Fatal("the store does not get the contents")
	}
	before := p.contents()
	p.step(func() {
		for name := range before {
			p.must(os.Remove(p.path(name)))
		}
	})
	p.undo(1, nil)
	for name, want := range before {
		p.expect(name, want)
	}
	for _, text := range p.waits {
		if strings.HasPrefix(text, "Saving") {
			t.Errorf("the command waited: %s", text)
		}
	}
}

// An edit that runs while the folder is looked at is a step, and not somebody else's change.
func TestAnEditBesideALookAheadIsNotForeign(t *testing.T) {
	for i := range 5 {
		p := newPlace(t)
		p.write("a", "before")
		p.step(func() {})
		p.open(snapshot.Options{})
		p.edit(func() {
			p.s.Ahead()
			p.write("a", fmt.Sprint("edit ", i))
		}, "a")
		p.step(func() {})
		theirs, err := p.history().Theirs()
		p.must(err)
		if len(theirs) > 0 {
			t.Fatalf("theirs: %+v", theirs)
		}
		p.undo(1, nil)
		p.expect("a", "before")
	}
}

func TestALookThatTakesTooLongIsGivenUpWithANotice(t *testing.T) {
	p := newPlace(t)
	p.open(snapshot.Options{Patience: 1})
	p.write("d/a", "before")
	p.step(func() { p.write("d/a", "command") })
	if len(p.waits) != 1 || !strings.Contains(p.waits[0], "takes longer than 1ns") {
		t.Errorf("announced: %q", p.waits)
	}
	if list := p.s.Uncovered(); len(list) != 1 {
		t.Errorf("%q", list)
	}
}
