package files

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Index knows the names of all files and folders in the working roots that no ignore file excludes, and keeps
// up with changes. Nothing is read before the first Search; after that a watcher notes which folders changed,
// and the next Search reads those again. Where there is no watcher (it is used on Linux only: elsewhere it
// would hold every file or folder open), or not enough of it, folders are compared by their time of change
// every two seconds during searches. Safe for concurrent use.
//
// A file takes about 50 bytes. Beyond 300,000 files the rest is not known by name, but can still be found
// folder by folder.
type Index struct {
	roots *Roots
	ctx   context.Context // ends with Close
	end   context.CancelFunc
	ready atomic.Bool   // everything was read once
	wait  time.Duration // patience
	lock  chan struct{} // one token; it guards the fields below
	state indexState

	used struct {
		sync.Mutex
		paths []string // as Match has them, the newest last
	}
}

type indexState struct {
	trees   []*tree
	count   int // files
	version int // counts changes
	swept   time.Time
	limit   int           // of files
	every   time.Duration // sweepEvery
	watch   *watching
	watched bool // it was tried to make a watch
	last    narrowed
}

const (
	maxIndexed = 300_000
	// sweepEvery is how long an unwatched folder may be out of date, and sweepWatched the same for a watched
	// one: some network file systems report no changes.
	sweepEvery   = 2 * time.Second
	sweepWatched = time.Minute
	maxUsed      = 50
	// patience is how long a search waits for everything to be read the first time.
	patience = 300 * time.Millisecond
	// granularity is how coarse times of change are on the file systems there are: FAT counts two seconds.
	granularity = 2 * time.Second
)

// Match is a file or folder that a search found.
type Match struct {
	Path  string // below the first root with slashes, absolute in another; a folder ends in a slash
	Marks []int  // indices of the runes of Path that matched
	Dir   bool
}

// NewIndex makes an index of the roots that are not read-only, also of those that are added later.
func NewIndex(roots *Roots) *Index {
	ctx, end := context.WithCancel(context.Background())
	x := &Index{roots: roots, ctx: ctx, end: end, wait: patience, lock: make(chan struct{}, 1)}
	x.state.limit, x.state.every = maxIndexed, sweepEvery
	x.lock <- struct{}{}
	return x
}

// Search finds up to limit paths that text may mean, best first: by its letters in order (see package fuzzy).
// Text that leads out of the roots (/, ~, ..), or into a folder that is not indexed, is searched in that one
// folder. No text lists the first root, used files first. While everything is read the first time, which
// in a very large tree takes long, only the folder that text names is listed. ctx gives up the search, but
// not the reading.
func (x *Index) Search(ctx context.Context, text string, limit int) ([]Match, error) {
	text = filepath.ToSlash(text)
	if limit <= 0 {
		limit = 50
	}
	if outside(text) {
		return x.list(ctx, text, limit)
	}
	if err := x.hold(ctx); errors.Is(err, errReading) {
		return x.listBelow(ctx, text, limit)
	} else if err != nil {
		return nil, err
	}
	found := x.find(ctx, text, limit)
	x.lock <- struct{}{}
	if len(found) == 0 && ctx.Err() == nil {
		return x.list(ctx, text, limit)
	}
	return found, ctx.Err()
}

// errReading means that the first reading takes longer than a user at the keyboard waits.
var errReading = errors.New("the names are still being read")

// hold waits until the index is up to date and takes the token.
func (x *Index) hold(ctx context.Context) error {
	var tooLong <-chan time.Time
	if !x.ready.Load() {
		timer := time.NewTimer(x.wait)
		defer timer.Stop()
		tooLong = timer.C
	}
	for {
		select {
		case <-tooLong:
			return errReading
		case <-ctx.Done():
			return ctx.Err()
		case <-x.ctx.Done():
			return x.ctx.Err()
		case <-x.lock:
		}
		if !x.stale() {
			return nil
		}
		go func() {
			x.update()
			x.ready.Store(true)
			x.lock <- struct{}{}
		}()
	}
}

// Used records that a file was chosen or touched: from now on it ranks a little higher. path is as Match has it.
func (x *Index) Used(path string) {
	x.used.Lock()
	defer x.used.Unlock()
	for i, p := range x.used.paths {
		if p == path {
			x.used.paths = append(x.used.paths[:i], x.used.paths[i+1:]...)
			break
		}
	}
	x.used.paths = append(x.used.paths, path)
	if len(x.used.paths) > maxUsed {
		x.used.paths = x.used.paths[1:]
	}
}

// recent are the used paths, the newest first.
func (x *Index) recent() []string {
	x.used.Lock()
	defer x.used.Unlock()
	out := make([]string, 0, len(x.used.paths))
	for i := len(x.used.paths) - 1; i >= 0; i-- {
		out = append(out, x.used.paths[i])
	}
	return out
}

// closeWait is how long Close waits for the reading of names: longer only where a folder does not answer.
const closeWait = time.Second

// Close ends the watcher. A search after that fails.
func (x *Index) Close() error {
	x.end()
	select {
	case <-x.lock:
	case <-time.After(closeWait):
		return nil // the watcher ends with the process
	}
	defer func() { x.lock <- struct{}{} }()
	return x.state.watch.close()
}
