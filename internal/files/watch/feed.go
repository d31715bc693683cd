package watch

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Feed brings the system's own reports on some folders, as they come. All feeds of the process share one connection to the system, and
// one watch for each folder, since the system allows few of both. It is safe for concurrent use.
type Feed struct {
	// Events are the reports on the folders and on what lies directly in them.
	Events <-chan fsnotify.Event
	// Lost says that reports were lost: whatever was not asked about since may have changed.
	Lost <-chan struct{}

	events chan fsnotify.Event
	lost   chan struct{}
	of     *source
	dirs   map[string]bool // guarded by of.mu
}

// feedBuffer is how many reports wait for the reader of a feed.
const feedBuffer = 1024

// source is the connection to the system.
type source struct {
	changing sync.Mutex // held while feeds and folders come and go; never by the goroutine that passes reports on, or it could wait for itself

	mu    sync.Mutex // of what follows, held for moments only
	fs    *fsnotify.Watcher
	feeds map[*Feed]bool
	by    map[string][]*Feed // who wants to hear of a folder
}

// theSource is the one of the process. It is connected while there are feeds.
var theSource source

// ErrLimit is returned by [Feed.Add] when the process watches as many folders as it may.
var ErrLimit = errors.New("too many folders are watched")

// maxFolders is how many folders the process watches at most: each takes about a kilobyte of the kernel.
const maxFolders = 60_000

// limit leaves other programs of the user most of the watches.
var limit = sync.OnceValue(func() int {
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, bad := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || bad != nil {
		return maxFolders
	}
	return min(maxFolders, n/3)
})

// NewFeed makes a feed, without folders yet. The error says why the system reports nothing.
func NewFeed() (*Feed, error) { return theSource.feed() }

func (s *source) feed() (*Feed, error) {
	f := &Feed{events: make(chan fsnotify.Event, feedBuffer), lost: make(chan struct{}, 1), of: s, dirs: map[string]bool{}}
	f.Events, f.Lost = f.events, f.lost
	s.changing.Lock()
	defer s.changing.Unlock()
	if len(s.feeds) == 0 {
		fs, err := fsnotify.NewWatcher()
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.fs, s.feeds, s.by = fs, map[*Feed]bool{}, map[string][]*Feed{}
		s.mu.Unlock()
		go s.pass(fs)
	}
	s.mu.Lock()
	s.feeds[f] = true
	s.mu.Unlock()
	return f, nil
}

// Add brings reports on a folder from now on. One that was replaced is to be added again.
func (f *Feed) Add(dir string) error {
	s, dir := f.of, filepath.Clean(dir)
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	open, fs, full := s.feeds[f], s.fs, len(s.by[dir]) == 0 && len(s.by) >= limit()
	if open && !full && !f.dirs[dir] {
		f.dirs[dir] = true
		s.by[dir] = append(s.by[dir], f)
	}
	s.mu.Unlock()
	switch {
	case !open:
		return fsnotify.ErrClosed
	case full:
		return ErrLimit
	}
	err := fs.Add(dir)
	if err != nil {
		s.drop(dir)
	}
	return err
}

// Remove ends the reports on a folder.
func (f *Feed) Remove(dir string) {
	s, dir := f.of, filepath.Clean(dir)
	s.changing.Lock()
	defer s.changing.Unlock()
	if fs := s.leave(f, dir); fs != nil {
		_ = fs.Remove(dir) // it may be gone, and its watch with it
	}
}

// leave takes a feed off a folder; not nil: nobody else wants to hear of it.
func (s *source) leave(f *Feed, dir string) *fsnotify.Watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.dirs[dir] {
		return nil
	}
	delete(f.dirs, dir)
	var rest []*Feed
	for _, o := range s.by[dir] {
		if o != f {
			rest = append(rest, o)
		}
	}
	if len(rest) > 0 {
		s.by[dir] = rest
		return nil
	}
	delete(s.by, dir)
	return s.fs
}

// List has the folders of the feed, in no order.
func (f *Feed) List() []string {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	out := make([]string, 0, len(f.dirs))
	for dir := range f.dirs {
		out = append(out, dir)
	}
	return out
}

// Close ends all reports. The channels stay open.
func (f *Feed) Close() error {
	for _, dir := range f.List() {
		f.Remove(dir)
	}
	s := f.of
	s.changing.Lock()
	defer s.changing.Unlock()
	s.mu.Lock()
	last := s.feeds[f] && len(s.feeds) == 1
	delete(s.feeds, f)
	fs := s.fs
	s.mu.Unlock()
	if !last {
		return nil
	}
	return fs.Close()
}

// drop forgets a folder whose watch is gone.
func (s *source) drop(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.by[dir] {
		delete(f.dirs, dir)
	}
	delete(s.by, dir)
}

// pass hands reports to the feeds until the connection is closed. It waits for none of them.
func (s *source) pass(fs *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-fs.Events:
			if !ok {
				return
			}
			s.report(e)
		case _, ok := <-fs.Errors: // the queue of the system overflowed, mostly
			if !ok {
				return
			}
			s.mu.Lock()
			for f := range s.feeds {
				f.miss()
			}
			s.mu.Unlock()
		}
	}
}

func (s *source) report(e fsnotify.Event) {
	name := filepath.Clean(e.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.by[name]
	for _, f := range s.by[filepath.Dir(name)] {
		f.take(e)
	}
	for _, f := range own {
		if !f.dirs[filepath.Dir(name)] {
			f.take(e)
		}
	}
	if len(own) > 0 && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) { // its watch went with it
		for _, f := range own {
			delete(f.dirs, name)
		}
		delete(s.by, name)
	}
}

func (f *Feed) take(e fsnotify.Event) {
	select {
	case f.events <- e:
	default:
		f.miss()
	}
}

func (f *Feed) miss() {
	select {
	case f.lost <- struct{}{}:
	default:
	}
}
