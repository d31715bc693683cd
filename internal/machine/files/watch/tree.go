package watch

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// walk has the folders of a tree found in the background.
func (l *loop) walk(dir string, fresh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.walks = append(l.walks, visit{dir, fresh})
	if !l.walking {
		l.walking = true
		l.walkers.Go(l.findFolders)
	}
}

// findFolders finds the folders of the trees that are waiting. It works for a few milliseconds at a time.
func (l *loop) findFolders() {
	began := time.Now()
	rest := time.NewTimer(time.Hour)
	defer rest.Stop()
	for {
		l.mu.Lock()
		if len(l.walks) == 0 || l.closed {
			l.walking = false
			l.mu.Unlock()
			return
		}
		next := l.walks[0]
		l.walks = l.walks[1:]
		l.mu.Unlock()
		l.o.Folders(next.dir, next.fresh, func(dir string) bool {
			select {
			case l.found <- visit{dir, next.fresh}:
			case <-l.stop:
				return false
			}
			select {
			case <-l.visited: // it is watched before it is read, so that nothing comes between
			case <-l.stop:
				return false
			}
			if time.Since(began) < walkFor {
				return true
			}
			rest.Reset(walkRest)
			select {
			case <-rest.C:
				began = time.Now()
				return true
			case <-l.stop:
				return false
			}
		})
	}
}

// visit watches a folder of a tree, and reports the files of a fresh one.
func (l *loop) visit(v visit) {
	f := l.folders[v.dir]
	if f == nil {
		f = &folder{}
		l.folders[v.dir] = f
	}
	if !f.watched {
		l.add(v.dir, f)
	}
	f.tree, f.neighbours = true, true
	if !f.watched && !f.polled {
		f.polled = true
		l.polled = append(l.polled, v.dir)
		l.compareFolder(v.dir, f, v.fresh)
		return
	}
	if !v.fresh || !f.watched {
		return
	}
	list, _ := os.ReadDir(v.dir)
	for _, e := range list {
		if path := filepath.Join(v.dir, e.Name()); !e.IsDir() && f.files[path] == (stamp{}) && !passing(e.Name()) {
			l.note(path, Added)
		}
	}
}

// left forgets a folder that is gone from its place, and after a move those below it, whose watches would report under
// the old names.
func (l *loop) left(dir string, f *folder, moved bool) {
	if len(f.files) == 0 {
		l.forget(dir, f)
	}
	if !moved {
		return
	}
	for below, f := range l.folders {
		if !strings.HasPrefix(below, dir+string(filepath.Separator)) {
			continue
		}
		if f.watched {
			l.feed.Remove(below)
			l.watches--
			f.watched = false
		}
		if len(f.files) == 0 {
			l.forget(below, f)
		}
	}
}

// forget drops a folder. Where the one above is compared, it is a new one there when it comes back.
func (l *loop) forget(dir string, f *folder) {
	l.entries -= len(f.listed)
	delete(l.folders, dir)
	if up := l.folders[filepath.Dir(dir)]; up != nil && up.listed != nil {
		before := len(up.listed)
		delete(up.listed, filepath.Base(dir))
		l.entries -= before - len(up.listed)
	}
}

// sweep compares folders of trees that are not watched, as many as fit into a small part of the time, and goes on there
// the next time.
func (l *loop) sweep() {
	began := time.Now()
	for range len(l.polled) {
		if len(l.polled) == 0 || time.Since(began) > l.o.Every/sweepPart {
			return
		}
		l.next %= len(l.polled)
		dir := l.polled[l.next]
		f := l.folders[dir]
		if f == nil || f.watched || !l.compareFolder(dir, f, false) {
			l.polled[l.next] = l.polled[len(l.polled)-1]
			l.polled = l.polled[:len(l.polled)-1]
			if f != nil {
				l.entries -= len(f.listed)
				f.polled, f.listed = false, nil
			}
			continue
		}
		l.next++
	}
}

// compareFolder compares the entries of a folder with those of the last time; the first time they are noted, and
// reported if it is fresh. False: the folder is gone.
func (l *loop) compareFolder(dir string, f *folder, fresh bool) bool {
	list, err := os.ReadDir(dir)
	if err != nil && len(list) == 0 {
		for name, was := range f.listed {
			if was.size > 0 {
				l.note(filepath.Join(dir, name), Removed)
			}
		}
		l.forget(dir, f)
		return false
	}
	if l.entries+len(list)-len(f.listed) > maxListed {
		return true // too many: only those that are followed are compared
	}
	before := f.listed
	f.listed = make(map[string]stamp, len(list))
	l.entries += len(list) - len(before)
	for _, e := range list {
		l.compareEntry(dir, f, e, before, fresh)
	}
	for name, was := range before {
		path := filepath.Join(dir, name)
		if _, there := f.listed[name]; !there && was.size > 0 && !f.follows(path) {
			l.note(path, Removed)
		}
	}
	return true
}

func (l *loop) compareEntry(dir string, f *folder, e os.DirEntry, before map[string]stamp, fresh bool) {
	name := e.Name()
	path := filepath.Join(dir, name)
	was, known := before[name]
	now := stamp{} // of a folder
	if !e.IsDir() {
		now = stampOf(path)
	}
	f.listed[name] = now
	switch {
	case before == nil && !fresh, f.follows(path), passing(name): // compare looks at those that are followed
	case e.IsDir():
		if before != nil && !known {
			l.walk(path, true)
		}
	case !known:
		l.note(path, Added)
	case was != now:
		l.note(path, Changed)
	}
}

func (f *folder) follows(path string) bool {
	_, ok := f.files[path]
	return ok
}
