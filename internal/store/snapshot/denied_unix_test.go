//go:build unix

package snapshot_test

import (
	"os"
	"testing"
)

// A folder that may not be written, and a file that may not be read, stay as they are and are named; the others come
// back.
func TestFilesThatMayNotBeReadOrWrittenAreNamed(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may do all")
	}
	p := newPlace(t)
	p.write("locked/a", "before")
	p.write("secret", "before")
	p.write("plain", "before")
	p.must(os.Chmod(p.path("secret"), 0))
	p.step(func() {
		p.write("locked/a", "changed")
		p.write("plain", "changed")
		p.must(os.Remove(p.path("secret")))
	})
	_, err := p.history().Steps()
	p.must(err)
	p.must(os.Chmod(p.path("locked"), 0o555))
	t.Cleanup(func() { _ = os.Chmod(p.path("locked"), 0o755) })
	out := p.undo(1, nil)
	p.expect("plain", "before")
	p.expect("locked/a", "changed")
	p.expect("secret", "(none)")
	named := map[string]bool{}
	for _, f := range out.Left {
		named[f.Path] = f.Blocked != ""
	}
	if len(named) != 2 || !named[p.path("locked/a")] || !named[p.path("secret")] {
		t.Errorf("left %+v", out.Left)
	}
	p.redo()
	p.expect("plain", "changed")
}
