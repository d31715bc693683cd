package files

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// watch notes which folders changed. A nil watch watches nothing.
type watch struct {
	w     *fsnotify.Watcher
	limit int
	done  chan struct{}

	mu      sync.Mutex
	notes   notes
	folders map[string]bool // that are watched
	partly  bool            // there are folders that are not
}

// notes are the folders that changed, by their paths; true: with all that is in them.
type notes struct {
	folders map[string]bool
	all     bool // too many changes to list
}

// maxWatches is how many folders are watched at most: each takes about a kilobyte of the kernel.
const maxWatches = 10_000

// newWatch starts a watcher, or returns nil where there is none.
func newWatch() *watch {
	if runtime.GOOS != "linux" {
		return nil // kqueue opens every file, and Windows does not let go of folders that are watched
	}
	w, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return nil
	}
	x := &watch{w: w, limit: watchLimit(), done: make(chan struct{}), folders: map[string]bool{}}
	x.notes.folders = map[string]bool{}
	go x.run()
	return x
}

// watchLimit leaves other programs of the user most of the watches.
func watchLimit() int {
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, bad := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || bad != nil {
		return maxWatches
	}
	return min(maxWatches, n/3)
}

func (w *watch) run() {
	defer close(w.done)
	for {
		select {
		case e, ok := <-w.w.Events:
			if !ok {
				return
			}
			w.note(e)
		case err, ok := <-w.w.Errors:
			if !ok {
				return
			}
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				w.mu.Lock()
				w.notes.all = true
				w.mu.Unlock()
			}
		}
	}
}

func (w *watch) note(e fsnotify.Event) {
	name := filepath.Base(e.Name)
	rules := name == ".gitignore" || name == ".ignore" || name == ".git"
	if !rules && !e.Has(fsnotify.Create) && !e.Has(fsnotify.Remove) && !e.Has(fsnotify.Rename) {
		return
	}
	dir := filepath.Dir(e.Name)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes.folders[dir] = w.notes.folders[dir] || rules
	if w.folders[e.Name] { // a folder that was known came, went or became another
		w.notes.folders[e.Name] = true
		if !e.Has(fsnotify.Create) {
			delete(w.folders, e.Name)
		}
	}
}

// add watches a folder. What cannot be watched is left to sweeps.
func (w *watch) add(dir string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	full := len(w.folders) >= w.limit && !w.folders[dir]
	w.mu.Unlock()
	failed := full || w.w.Add(dir) != nil
	w.mu.Lock()
	defer w.mu.Unlock()
	if failed {
		w.partly = true
		return
	}
	w.folders[dir] = true
}

func (w *watch) remove(dir string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	known := w.folders[dir]
	delete(w.folders, dir)
	w.mu.Unlock()
	if known {
		_ = w.w.Remove(dir) // it may be gone, and its watch with it
	}
}

// noted reports whether something changed.
func (w *watch) noted() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notes.all || len(w.notes.folders) > 0
}

// take returns the changes and begins anew.
func (w *watch) take() notes {
	if w == nil {
		return notes{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.notes
	w.notes = notes{folders: map[string]bool{}}
	return n
}

// complete reports that every folder is watched.
func (w *watch) complete() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.partly
}

func (w *watch) close() error {
	if w == nil {
		return nil
	}
	err := w.w.Close()
	<-w.done
	return err
}
