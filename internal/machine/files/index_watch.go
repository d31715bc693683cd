package files

import (
	"path/filepath"
	"runtime"
	"sync"

	"github.com/fsnotify/fsnotify"

	"github.com/lathe-dev/lathe/internal/machine/files/watch"
)

// watching notes which folders changed. A nil one watches nothing.
type watching struct {
	feed  *watch.Feed
	limit int
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once

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

// maxWatches is how many folders are watched at most.
const maxWatches = 20_000

// newWatching starts to watch, or returns nil where the system reports nothing.
func newWatching() *watching {
	if runtime.GOOS != "linux" {
		return nil // kqueue opens every file, and Windows does not let go of folders that are watched
	}
	feed, err := watch.NewFeed()
	if err != nil {
		return nil
	}
	x := &watching{
		feed: feed, limit: maxWatches, stop: make(chan struct{}), done: make(chan struct{}),
		folders: map[string]bool{},
	}
	x.notes.folders = map[string]bool{}
	go x.run()
	return x
}

func (w *watching) run() {
	defer close(w.done)
	for {
		select {
		case e := <-w.feed.Events:
			w.note(e)
		case <-w.feed.Lost:
			w.mu.Lock()
			w.notes.all = true
			w.mu.Unlock()
		case <-w.stop:
			return
		}
	}
}

func (w *watching) note(e fsnotify.Event) {
	name := filepath.Base(e.Name)
	rules := rulesName(name)
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
func (w *watching) add(dir string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	full := len(w.folders) >= w.limit && !w.folders[dir]
	w.mu.Unlock()
	failed := full || w.feed.Add(dir) != nil
	w.mu.Lock()
	defer w.mu.Unlock()
	if failed {
		w.partly = true
		return
	}
	w.folders[dir] = true
}

func (w *watching) remove(dir string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	known := w.folders[dir]
	delete(w.folders, dir)
	w.mu.Unlock()
	if known {
		w.feed.Remove(dir)
	}
}

// noted reports whether something changed.
func (w *watching) noted() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notes.all || len(w.notes.folders) > 0
}

// take returns the changes and begins anew.
func (w *watching) take() notes {
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
func (w *watching) complete() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.partly
}

func (w *watching) close() error {
	if w == nil {
		return nil
	}
	w.once.Do(func() { close(w.stop) })
	<-w.done
	return w.feed.Close()
}
