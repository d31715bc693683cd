package memory

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A lathe that is killed while it writes a note leaves a temporary file; the next write removes it, and not one that
// another lathe writes right now.
func TestWhatAKilledWriteLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, ".note-1"), filepath.Join(dir, ".note-2")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hour := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, hour, hour); err != nil {
		t.Fatal(err)
	}
	if err := replace(filepath.Join(dir, "a.md"), "text"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the old one is there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
}
