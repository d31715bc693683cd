package snapshot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/store/snapshot"
)

func TestTheCoverageIsKnownBeforeACommandRuns(t *testing.T) {
	p := newPlace(t)
	p.open(snapshot.Options{MaxFile: 1000, Include: []string{".env"}})
	p.must(os.Mkdir(p.path(".git"), 0o755))
	p.write(".gitignore", "build/\n*.log\n.env\n")
	p.write("src/a.go", "a")
	p.write("src/deep/b.go", "b")
	p.write("src/x.log", "log")
	p.write("build/out/app", strings.Repeat("x", 5000))
	p.write("big.bin", strings.Repeat("x", 2000))
	p.write(".env", "KEY=1")
	outside := filepath.Join(filepath.Dir(p.dir), "other")
	p.must(os.WriteFile(outside, []byte("o"), 0o600))
	for name, want := range map[string]string{
		"src": "2 files can be restored; not: src/x.log, 3 bytes (ignored by git)", "src/deep": "1 file can be restored",
		"build":         "nothing can be restored; not: build/, 4.9 kB (ignored by git)",
		"build/out/app": "nothing can be restored; not: build/out/app, 4.9 kB (ignored by git)",
		"big.bin":       "nothing can be restored; not: big.bin, 2.0 kB (larger than 1000 bytes)",
		".env":          "1 file can be restored", "none": "nothing can be restored",
		".git": "nothing can be restored; not: .git/ (undo leaves .git alone)",
	} {
		if got := p.s.Coverage(t.Context(), []string{p.path(name)}).String(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	want := "4 files can be restored; not: build/, 4.9 kB (ignored by git); " +
		"big.bin, 2.0 kB (larger than 1000 bytes); src/x.log, 3 bytes (ignored by git)"
	if got := p.s.Coverage(t.Context(), nil).String(); got != want {
		t.Errorf("all: %q, want %q", got, want)
	}
	if got := p.s.Coverage(t.Context(), []string{outside}).String(); !strings.Contains(got,
		"outside of the working folders") {
		t.Errorf("outside: %q", got)
	}
	if got := p.s.CoverageOfEdits([]string{outside, p.path("build/out/app")}).String(); !strings.HasPrefix(got,
		"1 file can be restored; not: build/out/app") {
		t.Errorf("edits: %q", got)
	}
	if _, err := os.Stat(p.store); err == nil {
		t.Error("the look made a store")
	}
}

// The forecast must agree with the outcome: every file that the forecast counts comes back, every other is named.
func TestTheCoverageAgreesWithTheUndo(t *testing.T) {
	p := newPlace(t)
	p.open(snapshot.Options{MaxFile: 1000})
	p.must(os.Mkdir(p.path(".git"), 0o755))
	p.write(".gitignore", "*.log\n")
	for _, name := range []string{"d/a", "d/b", "d/c.log", "d/e/f"} {
		p.write(name, name)
	}
	p.write("d/big", strings.Repeat("x", 2000))
	before := p.s.Coverage(t.Context(), []string{p.path("d")})
	p.step(func() { p.must(os.RemoveAll(p.path("d"))) })
	p.undo(1, nil)
	back := 0
	for _, name := range []string{"d/a", "d/b", "d/c.log", "d/e/f", "d/big"} {
		if p.read(name) != "(none)" {
			back++
		}
	}
	if back != before.Files || len(before.Not) != 2 {
		t.Errorf("%d files came back; the forecast was %s", back, before)
	}
}
