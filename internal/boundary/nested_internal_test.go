package boundary

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestALargeFolderIsReadOnceAndInPart(t *testing.T) {
	root := t.TempDir()
	for i := range 500 {
		write(t, filepath.Join(root, fmt.Sprintf("d%03d", i), "sub", "file"), "x")
	}
	age(t, root)
	one := &tree{}
	one.scan(root)
	if n := len(one.folders); n != nestedFolders {
		t.Fatalf("%d folders", n)
	}
	mark := filepath.Join(root, "d001")
	l := one.folders[mark]
	l.subs = []string{"remembered"}
	one.folders[mark] = l
	one.scan(root)
	if got := one.folders[mark].subs; len(got) != 1 || got[0] != "remembered" {
		t.Errorf("a folder without a change was read again: %v", got)
	}
	write(t, filepath.Join(mark, ".git", "HEAD"), "x")
	if now := one.scan(root); !now.names[filepath.Join(mark, ".git")] {
		t.Errorf("a folder that changed was not read again: %v", now.names)
	}
}

func BenchmarkScan(b *testing.B) {
	root := b.TempDir()
	for i := range 400 {
		if err := os.MkdirAll(filepath.Join(root, fmt.Sprint("d", i), "sub"), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	one := &tree{}
	one.scan(root)
	age(b, root)
	for b.Loop() {
		one.scan(root)
	}
}

// age makes the times of all folders old, so that they are remembered.
func age(t testing.TB, root string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	err := filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return os.Chtimes(path, old, old)
	})
	if err != nil {
		t.Fatal(err)
	}
}
