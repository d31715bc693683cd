package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFoldersAreThoseThatNoIgnoreFileExcludes(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	for path, text := range map[string]string{
		"a/b/c.txt": "", "build/out/x": "", "node_modules/p/x": "", ".git/info/exclude": "private\n",
		".git/objects/ab/x": "", "private/x": "", "keep/.ignore": "!build\n", "keep/build/x": "",
		".gitignore": "build/\nnode_modules\n", ".hg/store/x": "", ".hidden/x": "",
	} {
		put(t, filepath.Join(dir, path), text)
	}
	if err := os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "link")); err != nil {
		t.Log("no links here:", err)
	}
	var got []string
	Folders(dir, func(path string) bool {
		rel, err := filepath.Rel(dir, path)
		check(t, err)
		got = append(got, filepath.ToSlash(rel))
		return true
	})
	slices.Sort(got)
	if want := []string{".", ".hidden", "a", "a/b", "keep", "keep/build"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	n := 0
	Folders(dir, func(string) bool { n++; return n < 3 })
	if n != 3 {
		t.Errorf("went on to %d folders", n)
	}
}
