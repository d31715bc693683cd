package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// On some file systems names that differ in case only lead to the same file: a look at "readme" finds "README". Undo
// goes by the names as they are spelled, else it would take a file whose name it restores for one that is there
// already.

// spelled is a path as its names are on the disk; the part that is not there stays as it is. Where names do not fold it
// costs two looks.
func spelled(path string) string {
	there, rest := path, ""
	for {
		if _, ok := look(there); ok || there == filepath.Dir(there) {
			break
		}
		rest = filepath.Join(filepath.Base(there), rest)
		there = filepath.Dir(there)
	}
	return filepath.Join(spelledAs(there), rest)
}

// spelledAs is spelled for a path that is there. It goes up as long as names fold.
func spelledAs(path string) string {
	dir, name := filepath.Split(path)
	other := strings.Map(flip, name)
	if name == "" {
		return path
	}
	if other != name {
		a, _ := look(path)
		if b, there := look(filepath.Join(dir, other)); !there || a.ino != b.ino {
			return path
		}
		name = nameIn(dir, name)
	}
	return filepath.Join(spelledAs(filepath.Clean(dir)), name)
}

// nameIn is the name in a folder that folds to a name.
func nameIn(dir, name string) string {
	f, err := os.Open(dir)
	if err != nil {
		return name
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1) // a name that is not read is taken as it is
	found := name
	for _, n := range names {
		if n == name {
			return name
		}
		if strings.EqualFold(n, name) {
			found = n
		}
	}
	return found
}

func flip(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// inDisguise reports whether a path leads to a file or a folder of another spelling.
func inDisguise(path string) bool { return spelled(path) != path }
