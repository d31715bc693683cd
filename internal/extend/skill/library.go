package skill

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// Library is the skills and commands of one working folder. It reads them when they are first asked for, and again
// when their files have changed. It is safe for concurrent use.
type Library struct {
	folders func() []Folder
	only    []string // names that the model may use; nil: all

	mu      sync.Mutex
	catalog *Catalog
	stamp   uint64
	entered map[string]bool // folders below the working one that Enter has scanned
	nested  []Folder        // found by Enter
}

// NewLibrary makes a library of the folders that the function lists. Nothing is read yet.
func NewLibrary(folders func() []Folder) *Library { return &Library{folders: folders} }

// Limit hides from the model every skill that none of the names matches, whole or from a colon on; nil hides none. It
// comes before the first call of Catalog.
func (l *Library) Limit(names []string) { l.only = names }

// Catalog returns the present catalog. While no file changes it costs a listing of the folders and one stat per file,
// and returns the same catalog.
func (l *Library) Catalog() *Catalog {
	folders := l.folders()
	l.mu.Lock()
	folders = append(folders, l.nested...)
	l.mu.Unlock()
	stamp := stampOf(folders)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.catalog == nil || l.stamp != stamp {
		l.catalog, l.stamp = Find(folders), stamp
		if l.only != nil {
			l.catalog.hideAllBut(l.only)
		}
	}
	return l.catalog
}

// Enter adds the skills of the folders between top and a file below it, and reports whether it found any. Each folder
// is scanned once.
func (l *Library) Enter(top, rel string) (found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for dir := path.Dir(rel); dir != "." && dir != "/" && !l.entered[dir]; dir = path.Dir(dir) {
		if l.entered == nil {
			l.entered = map[string]bool{}
		}
		l.entered[dir] = true
		for _, of := range []string{".agents", ".claude", ".lathe"} {
			skills := filepath.Join(top, filepath.FromSlash(dir), of, "skills")
			if info, err := os.Stat(skills); err == nil && info.IsDir() {
				l.nested = append(l.nested, Folder{Path: skills, Kind: KindSkill, Source: SourceProject, Bound: top, Nested: dir})
				found = true
			}
		}
	}
	return found
}

// stampOf is another number when a file that Find reads is added, removed or written.
func stampOf(folders []Folder) uint64 {
	h := fnv.New64a()
	note := func(path string) {
		info, err := os.Stat(path)
		if err != nil {
			return
		}
		h.Write([]byte(path))
		var b [16]byte
		binary.LittleEndian.PutUint64(b[:8], uint64(info.ModTime().UnixNano()))
		binary.LittleEndian.PutUint64(b[8:], uint64(info.Size()))
		h.Write(b[:])
	}
	for _, f := range folders {
		h.Write([]byte(f.Path + "\x00" + f.Source + "\x00"))
		if f.Kind == KindSkill {
			if f.single() {
				note(filepath.Join(f.Path, "SKILL.md"))
			}
			for _, path := range skillFiles(f.Path) {
				note(path)
			}
			continue
		}
		_ = walkCommands(f.Path, func(path string, err error) error {
			if err == nil {
				note(path)
			}
			return nil
		}) // Find reports a folder that cannot be read
	}
	return h.Sum64()
}

// skillFiles lists where the SKILL.md of each folder below dir would be.
func skillFiles(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for i, e := range entries {
		if i == maxSkills {
			break
		}
		if e.Name()[0] != '.' {
			out = append(out, filepath.Join(dir, e.Name(), "SKILL.md"))
		}
	}
	return out
}

// walkCommands visits the Markdown files below dir; an error is of dir itself or of a folder below it.
func walkCommands(dir string, visit func(path string, err error) error) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			if err := visit(path, err); err != nil {
				return err
			}
			return fs.SkipDir
		case e.IsDir() && path != dir && e.Name()[0] == '.':
			return fs.SkipDir
		case e.IsDir() && depth(dir, path) > maxDepth:
			if err := visit(path, fmt.Errorf("it is more than %d folders deep", maxDepth)); err != nil {
				return err
			}
			return fs.SkipDir
		case e.IsDir() || !strings.EqualFold(filepath.Ext(path), ".md"):
			return nil
		}
		return visit(path, nil)
	})
}
