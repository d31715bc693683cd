package watch

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Feed brings the system's own reports on some folders, as they come. All feeds of the process share one connection to
// the system, and one watch for each folder, since the system allows few of both. It is safe for concurrent use.
type Feed struct {
	// Events are the reports on the folders and on what lies directly in them.
	Events <-chan fsnotify.Event
	// Lost says that reports were lost: whatever was not asked about since may have changed, and folders that Watches does
	// not have any more are not reported on.
	Lost <-chan struct{}
	// Needed are the folders of this feed also beyond the limit. It is set before the first of them.
	Needed bool

	events chan fsnotify.Event
	lost   chan struct{}
	of     *source
	dirs   map[string]bool // guarded by of.mu
}

// feedBuffer is how many reports wait for the reader of a feed.
const feedBuffer = 1024

// source is the connection to the system.
type source struct {
	// held while feeds and folders come and go; never by the goroutine that passes reports on, or it could wait for itself
	changing sync.Mutex

	mu    sync.Mutex // of what follows, held for moments only
	fs    *fsnotify.Watcher
	how   *means
	feeds map[*Feed]bool
	by    map[string][]*Feed // who wants to hear of a folder
	takes map[string]int     // what each folder takes of the limit
	total int                // of takes
}

// theSource is the one of the process. It is connected while there are feeds.
var theSource source

// ErrLimit is returned by [Feed.Add] when the process watches as many folders as it may.
var ErrLimit = errors.New("too many folders are watched")

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
		if s.how == nil {
			how := meansOf(runtime.GOOS)
			s.how = &how
		}
		s.fs, s.feeds, s.by, s.takes, s.total = fs, map[*Feed]bool{}, map[string][]*Feed{}, map[string]int{}, 0
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
	fs, err := s.enter(f, dir)
	if err != nil {
		return err
	}
	if err = fs.AddWith(dir, fsnotify.WithBufferSize(reportBuffer)); err != nil {
		_ = fs.Remove(dir) // some of its files may be watched
		s.drop(dir)
	}
	return err
}

// enter puts a feed on a folder, if the limit allows.
func (s *source) enter(f *Feed, dir string) (*fsnotify.Watcher, error) {
	s.mu.Lock()
	known, full := len(s.by[dir]) > 0, s.total >= s.how.limit
	s.mu.Unlock()
	takes := 0
	if !known && (!full || f.Needed) {
		takes = s.how.takes(dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.feeds[f]:
		return nil, fsnotify.ErrClosed
	case !known && !f.Needed && (full || s.total+takes > s.how.limit):
		return nil, ErrLimit
	case !f.dirs[dir]:
		f.dirs[dir] = true
		s.by[dir] = append(s.by[dir], f)
	}
	if !known {
		s.takes[dir] = takes
		s.total += takes
	}
	return s.fs, nil
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
	s.forget(dir)
	return s.fs
}

// forget drops what is known of a folder that is not watched any more.
func (s *source) forget(dir string) {
	delete(s.by, dir)
	s.total -= s.takes[dir]
	delete(s.takes, dir)
}

// Watches reports whether changes in a folder are reported.
func (f *Feed) Watches(dir string) bool {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	return f.dirs[filepath.Clean(dir)]
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
	s.forget(dir)
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
		s.forget(name)
	}
	s.count(e, filepath.Dir(name))
}

// count follows what a folder takes while files come and go. Beyond the limit it is watched no more.
func (s *source) count(e fsnotify.Event, dir string) {
	if !s.how.grows || len(s.by[dir]) == 0 {
		return
	}
	switch {
	case e.Has(fsnotify.Create):
		s.takes[dir]++
		s.total++
	case (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) && s.takes[dir] > 1:
		s.takes[dir]--
		s.total--
	}
	if s.total > s.how.limit && e.Has(fsnotify.Create) {
		go s.shed(dir) // not here: the system may wait until this report is passed on
	}
}

// shed ends the watch of a folder that grew beyond the limit, and tells the feeds that had it.
func (s *source) shed(dir string) {
	s.changing.Lock()
	defer s.changing.Unlock()
	if fs := s.release(dir); fs != nil {
		_ = fs.Remove(dir)
	}
}

// release takes all feeds off a folder; nil: it stays.
func (s *source) release(dir string) *fsnotify.Watcher {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total <= s.how.limit || len(s.by[dir]) == 0 {
		return nil
	}
	for _, f := range s.by[dir] {
		if f.Needed {
			return nil
		}
	}
	for _, f := range s.by[dir] {
		delete(f.dirs, dir)
		f.miss()
	}
	s.forget(dir)
	return s.fs
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
