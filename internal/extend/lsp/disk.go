package lsp

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// Changes on disk that no tool made (a command, a checkout) are looked for before the next question, by comparing the
// files' times.

const (
	maxScanned = 50_000 // entries of a root
	scanTime   = time.Second
)

// stamp is the state of a file.
type stamp struct {
	mod  int64
	size int64
}

// CommandRan notes that files may have changed other than by an edit that was passed to a Seat.
func (p *Pool) CommandRan() {
	for _, s := range p.each() {
		if r := s.current(); r != nil {
			r.outdated.Store(true)
		}
	}
}

// scan returns the states of the files of the server's languages below its root; nil if there are too many to look at.
func (r *run) scan() map[string]stamp {
	out, entries, began := map[string]stamp{}, 0, time.Now()
	err := filepath.WalkDir(r.s.root, func(path string, e fs.DirEntry, err error) error {
		if entries++; entries > maxScanned || entries%100 == 0 && time.Since(began) > scanTime || r.s.p.life.Err() != nil {
			return fs.ErrInvalid
		}
		switch {
		case err != nil:
			return nil //nolint:nilerr // a folder that cannot be read is left out
		case e.IsDir():
			if name := e.Name(); path != r.s.root && (strings.HasPrefix(name, ".") || name == "node_modules" ||
				name == "target" || name == "__pycache__") {
				return fs.SkipDir
			}
		case e.Type().IsRegular() && r.s.def.language(path) != "":
			if info, err := e.Info(); err == nil {
				out[path] = stamp{info.ModTime().UnixNano(), info.Size()}
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

// remember notes the states of the files, as the server reads them now.
func (r *run) remember() {
	r.scanning.Lock()
	defer r.scanning.Unlock()
	if r.disk == nil {
		r.disk = r.scan()
	}
}

// catchUp passes on what changed on disk, when something may have.
func (r *run) catchUp() {
	if !r.outdated.Swap(false) {
		return
	}
	r.scanning.Lock()
	defer r.scanning.Unlock()
	for path := range r.openPaths() {
		_, _ = r.sync(path) // one that is gone is closed
	}
	before := r.disk
	now := r.scan()
	if r.disk = now; before == nil || now == nil {
		return
	}
	kinds := map[int][]string{}
	for path, st := range now {
		if old, ok := before[path]; !ok {
			kinds[created] = append(kinds[created], path)
		} else if old != st {
			kinds[changed] = append(kinds[changed], path)
		}
	}
	for path := range before {
		if _, ok := now[path]; !ok {
			kinds[deleted] = append(kinds[deleted], path)
		}
	}
	for kind, paths := range kinds {
		r.watched(paths, kind)
	}
}
