// Package watch reports changes of files. It is the only package that asks the system for them, through one connection
// of the process.
//
// The words: a file is followed; a folder is watched because a followed file is in it, or because it belongs to a tree
// that is followed; a batch is the changes of a burst; a [Feed] brings the system's own reports to those who need no
// batches.
//
// Promises: nothing is read or started before the first file is followed, which only takes a note; the folders of a
// tree are found in the background with a small part of the time, and of their files nothing is read; where the system
// cannot watch a folder, or should not, its files are compared every few seconds.
package watch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Op is the kind of a change. The words are those of hooks.
type Op string

// The kinds.
const (
	Added   Op = "add"
	Changed Op = "change"
	Removed Op = "unlink"
)

// Event is a change of one file. A file that was replaced by another one has changed.
type Event struct {
	Path string
	Op   Op
}

// Options configure New. Zero values are defaults.
type Options struct {
	// Changed takes a batch: at most one event per file, by path. Calls do not overlap.
	Changed func(batch []Event)
	// Notice takes a line for the user, once, when folders cannot be watched; may be nil.
	Notice func(text string)
	Quiet  time.Duration // how long a burst must pause before its batch is passed on; 100 ms
	Every  time.Duration // how often files are compared where folders cannot be watched; 2 s
	Limit  int           // of watched folders; 50,000, and what the system allows at most
	// Folders calls fn for the folders of a tree, dir first and each before it reads it, until fn returns false. fresh:
	// dir was made just now, or moved there. Nil: trees are not followed.
	Folders func(dir string, fresh bool, fn func(dir string) bool)
	Poll    bool // watch no folder

	source *source // nil: that of the process
}

// Watcher watches folders. It is safe for concurrent use.
type Watcher struct {
	o    Options
	wake chan struct{}

	mu      sync.Mutex
	asked   []request
	known   map[string]bool // asked for
	walks   []visit         // trees whose folders are to be found
	walking bool
	walkers sync.WaitGroup
	started bool
	closed  bool
	stop    chan struct{}
	done    chan struct{}
}

type request struct {
	path        string
	alone, tree bool
}

// visit is a folder of a tree.
type visit struct {
	dir   string
	fresh bool
}

const (
	maxBurst  = time.Second // a burst without a pause is passed on in parts
	maxBatch  = 1000        // files; the others of a larger burst are left out
	maxWatch  = 50_000      // folders
	maxFollow = 5000        // files
	maxListed = 50_000      // files of trees that are compared where folders cannot be watched

	// Of the time, this part goes to finding the folders of a tree, and to comparing those that cannot be watched.
	walkFor, walkRest = 4 * time.Millisecond, 16 * time.Millisecond
	sweepPart         = 50
)

// New makes a watcher that does nothing yet.
func New(o Options) *Watcher {
	if o.Quiet <= 0 {
		o.Quiet = 100 * time.Millisecond
	}
	if o.Every <= 0 {
		o.Every = 2 * time.Second
	}
	return &Watcher{
		o: o, wake: make(chan struct{}, 1), known: map[string]bool{}, stop: make(chan struct{}),
		done: make(chan struct{}),
	}
}

// Follow reports changes of a file from now on, which need not be there, and those of its neighbours in the same
// folder. The path is absolute, without links. It takes a note and returns at once.
func (w *Watcher) Follow(path string) { w.ask(request{path: path}) }

// FollowAlone is Follow without the neighbours.
func (w *Watcher) FollowAlone(path string) { w.ask(request{path: path, alone: true}) }

// FollowTree reports changes of the files in a folder and in all below it, as far as Options.Folders names them. It
// takes a note and returns at once.
func (w *Watcher) FollowTree(dir string) {
	if w.o.Folders != nil {
		w.ask(request{path: dir, tree: true})
	}
}

func (w *Watcher) ask(r request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.known[r.path] || len(w.known) >= maxFollow {
		return
	}
	w.known[r.path] = true
	w.asked = append(w.asked, r)
	if !w.started {
		w.started = true
		go w.run()
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close ends the watcher; no batch is passed on after it.
func (w *Watcher) Close() {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.stop)
	}
	started := w.started
	w.mu.Unlock()
	if started {
		<-w.done
	}
}

// folder is a folder with followed files.
type folder struct {
	watched    bool
	neighbours bool
	tree       bool
	polled     bool             // it is in loop.polled
	listed     map[string]stamp // of a tree's folder that is not watched: its entries by name, once it was read
	files      map[string]stamp // the followed ones, by path
}

// stamp is the state of a file; the zero stamp: it is not there.
type stamp struct {
	mod  int64
	size int64
}

func stampOf(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{mod: info.ModTime().UnixNano(), size: info.Size() + 1}
}

// loop is the state of the goroutine that watches.
type loop struct {
	*Watcher
	feed    *Feed // nil: none
	how     *means
	watches int
	trees   []string
	found   chan visit
	visited chan struct{}
	polled  []string // folders of trees that are not watched
	next    int      // of polled
	entries int      // in all that is listed
	limit   int
	folders map[string]*folder
	batch   map[string]Op
	since   time.Time // of the batch
	noticed bool
}

func (w *Watcher) run() {
	defer close(w.done)
	defer w.walkers.Wait()
	l := &loop{
		Watcher: w, folders: map[string]*folder{}, batch: map[string]Op{}, limit: w.o.Limit,
		found: make(chan visit), visited: make(chan struct{}, 1),
	}
	if l.limit <= 0 {
		l.limit = maxWatch
	}
	var events <-chan fsnotify.Event
	var lost <-chan struct{}
	if l.connect(); l.feed != nil {
		events, lost = l.feed.Events, l.feed.Lost
		defer l.feed.Close()
	}
	quiet := time.NewTimer(time.Hour)
	defer quiet.Stop()
	poll := time.NewTicker(w.o.Every)
	defer poll.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-w.wake:
			l.begin()
		case e := <-events:
			l.take(e)
		case v := <-l.found:
			l.visit(v)
			l.visited <- struct{}{}
		case <-lost:
			l.lookAgain()
		case <-poll.C:
			l.compare(l.how.misses)
			l.sweep()
		case <-quiet.C:
			l.pass()
		}
		if len(l.batch) > 0 {
			quiet.Reset(min(w.o.Quiet, max(0, maxBurst-time.Since(l.since))))
		}
	}
}

// connect has the system report to a feed, if it can.
func (l *loop) connect() {
	from := l.o.source
	if from == nil {
		from = &theSource
	}
	l.how = &means{}
	if l.o.Poll {
		return
	}
	feed, err := from.feed()
	if err != nil {
		l.refused(err)
		return
	}
	l.feed, l.how = feed, from.how
}

// lookAgain follows after reports were lost.
func (l *loop) lookAgain() {
	for dir, f := range l.folders {
		if f.watched && !l.feed.Watches(dir) {
			f.watched = false
			l.watches--
		}
	}
	l.compare(true)
	for _, dir := range l.trees {
		l.walk(dir, false)
	}
}

// begin follows the files that were asked for.
func (l *loop) begin() {
	l.mu.Lock()
	asked := l.asked
	l.asked = nil
	l.mu.Unlock()
	for _, r := range asked {
		if r.tree {
			l.trees = append(l.trees, r.path)
			l.walk(r.path, false)
			continue
		}
		dir := filepath.Dir(r.path)
		f := l.folders[dir]
		if f == nil {
			f = &folder{}
			l.folders[dir] = f
			l.add(dir, f)
		}
		if f.files == nil {
			f.files = map[string]stamp{}
		}
		f.neighbours = f.neighbours || !r.alone
		f.files[r.path] = stampOf(r.path)
	}
}

// add has the system watch a folder, if it can and the limits allow.
func (l *loop) add(dir string, f *folder) {
	switch {
	case l.feed == nil, !l.harmless(dir):
		return
	case l.watches >= l.limit:
		l.refused(ErrLimit)
		return
	}
	if err := l.feed.Add(dir); err != nil {
		l.refused(err)
		return
	}
	f.watched = true
	l.watches++
}

// harmless reports whether the watch of a folder hinders nobody. Where it holds the folders above, these are those of a
// tree itself and right in it, and those of a repository's data.
func (l *loop) harmless(dir string) bool {
	if !l.how.holds {
		return true
	}
	const sep = string(filepath.Separator)
	return slices.Contains(l.trees, dir) || slices.Contains(l.trees, filepath.Dir(dir)) || strings.Contains(dir+sep,
		sep+".git"+sep)
}

// refused tells the user, once, that a limit is reached.
func (l *loop) refused(err error) {
	limits := []error{ErrLimit, syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, errors.ErrUnsupported}
	if l.noticed || l.o.Notice == nil || !slices.ContainsFunc(limits, func(l error) bool { return errors.Is(err, l) }) {
		return
	}
	l.noticed = true
	l.o.Notice(l.how.full + ": changes of files are noticed a little later.")
}

// take notes a change that the system reports.
func (l *loop) take(e fsnotify.Event) {
	if f := l.folders[e.Name]; f != nil && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		if f.watched {
			l.watches--
		}
		f.watched = false // its watch went with it; compare looks for it
		l.left(e.Name, f, e.Has(fsnotify.Rename))
		return
	}
	f := l.folders[filepath.Dir(e.Name)]
	if f == nil {
		return
	}
	if _, followed := f.files[e.Name]; followed {
		l.look(f, e.Name)
		return
	}
	if !f.neighbours || passing(filepath.Base(e.Name)) {
		return
	}
	switch {
	case e.Has(fsnotify.Remove), e.Has(fsnotify.Rename):
		l.note(e.Name, Removed)
	case e.Has(fsnotify.Create):
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			if f.tree {
				l.walk(e.Name, true)
			}
			return
		}
		l.note(e.Name, Added)
	case e.Has(fsnotify.Write) && !l.isFolder(e.Name): // Windows reports folders in which something changed
		l.note(e.Name, Changed)
	}
}

func (l *loop) isFolder(path string) bool {
	if _, noted := l.batch[path]; noted {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// passing reports names of files that editors and lathe make for a moment.
func passing(name string) bool {
	return name == "4913" || strings.HasPrefix(name, ".lathe-tmp-") || strings.HasPrefix(name, ".#") ||
		strings.HasSuffix(name, "~") ||
		strings.HasSuffix(name, ".swp") || strings.HasSuffix(name, ".swx") || strings.HasSuffix(name, ".tmp")
}

// look compares a followed file with its last state.
func (l *loop) look(f *folder, path string) {
	before, now := f.files[path], stampOf(path)
	if before == now {
		return
	}
	f.files[path] = now
	switch {
	case before == stamp{}:
		l.note(path, Added)
	case now == stamp{}:
		l.note(path, Removed)
	default:
		l.note(path, Changed)
	}
}

// note adds a change to the batch.
func (l *loop) note(path string, op Op) {
	if len(l.batch) == 0 {
		l.since = time.Now()
	}
	before, ok := l.batch[path]
	switch {
	case !ok && len(l.batch) >= maxBatch:
	case before == Added && op == Removed:
		delete(l.batch, path)
	case before == Added && op == Changed:
	case before == Removed && op == Added:
		l.batch[path] = Changed
	default:
		l.batch[path] = op
	}
}

// compare looks at the followed files of the folders that are not watched, or of all.
func (l *loop) compare(all bool) {
	for dir, f := range l.folders {
		if f.watched && !all {
			continue
		}
		for path := range f.files {
			l.look(f, path)
		}
		if !f.watched && len(f.files) > 0 && stampOf(dir) != (stamp{}) {
			l.add(dir, f)
		}
	}
}

// pass hands the batch over.
func (l *loop) pass() {
	out := make([]Event, 0, len(l.batch))
	for path, op := range l.batch {
		out = append(out, Event{path, op})
	}
	clear(l.batch)
	slices.SortFunc(out, func(a, b Event) int { return strings.Compare(a.Path, b.Path) })
	if len(out) > 0 && l.o.Changed != nil {
		l.o.Changed(out)
	}
}
