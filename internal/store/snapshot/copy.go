package snapshot

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"
)

// The first copy of many files is put off: the tree holds their stat data, and they are copied by the first command
// that waits for them and, after its patience, beside it. A file whose stat data changed before its turn has no content
// before; the step that changed it says so, and undo leaves it alone.

// notCopied is the reason in the state of a file whose first copy is put off.
const notCopied = "it changed before its first copy was taken"

// A batch is copied under the lock of the store; a step that begins meanwhile waits for no more.
const (
	batchFiles = 64
	batchBytes = 4 << 20
)

// DefaultPatience is how long a command waits for the first copy of files, and for a look at the names and times of
// all.
const DefaultPatience = 10 * time.Second

// postponed is a file whose first copy is put off.
type postponed struct {
	t    *tree
	n    *node
	name string
	size int64
}

func (p postponed) path() string { return filepath.Join(p.n.path, p.name) }

// postpone puts off the copies of a first scan, if they are many. Files that changed within the resolution of the clock
// are read now.
func (sc *scan) postpone() {
	var now []unread
	var later []postponed
	for _, u := range sc.unread {
		i, ok := u.n.find(u.name)
		if !ok || u.at.kind() != File || u.at.size > sc.store.opt.MaxFile || u.at.racy(sc.began) {
			now = append(now, u)
			continue
		}
		st := uncovered(State{Kind: File, Mode: uint32(u.at.mode & modeBits)}, u.at, notCopied)
		u.n.entries[i] = entry{u.name, u.at, true, st}
		later = append(later, postponed{sc.tree, u.n, u.name, u.at.size})
	}
	sc.unread = now
	sc.store.pending = append(sc.store.pending, later...)
}

// catchUp copies the files that were put off: at first those that the step is known to change, then the others while
// the patience lasts. The rest is copied beside the step. s.mu is held.
func (s *Store) catchUp(ctx context.Context, named []string) error {
	if len(s.pending) == 0 {
		return nil
	}
	s.dropStale()
	var bytes int64
	for _, p := range s.pending {
		bytes += p.size
	}
	if bytes > batchBytes || len(s.pending) > batchFiles {
		s.opt.Wait(fmt.Sprintf("Saving %d files (%s) of %s, so that commands can be undone.", len(s.pending), size(bytes),
			s.pending[0].t.root.path))
	}
	slices.SortStableFunc(s.pending, func(a, b postponed) int { return rank(a, named) - rank(b, named) })
	first := 0
	for first < len(s.pending) && rank(s.pending[first], named) == 0 {
		first++
	}
	until := time.Now().Add(s.opt.Patience)
	for first > 0 || len(s.pending) > 0 && time.Now().Before(until) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := len(s.pending)
		if err := s.copySome(runtime.GOMAXPROCS(0)); err != nil {
			return err
		}
		first -= n - len(s.pending)
	}
	if n := len(s.pending); n > 0 {
		s.opt.Wait(fmt.Sprintf("The command runs before %d files were saved: undo does not bring back those of them that "+
			"it changes before their turn. Saving goes on beside it.", n))
	}
	return nil
}

// rank is 0 for a file that is, or lies below, one of some paths.
func rank(p postponed, named []string) int {
	if slices.ContainsFunc(named, func(path string) bool { return below(p.path(), path) }) {
		return 0
	}
	return 1
}

// dropStale takes the files of trees out that were read again.
func (s *Store) dropStale() {
	s.pending = slices.DeleteFunc(s.pending, func(p postponed) bool { return s.trees[p.t.root.path] != p.t })
}

// copySome copies the next batch with some readers beside each other.
func (s *Store) copySome(readers int) error {
	n, bytes := 0, int64(0)
	for n < len(s.pending) && n < batchFiles && (n == 0 || bytes+s.pending[n].size <= batchBytes) {
		bytes += s.pending[n].size
		n++
	}
	batch := s.pending[:n]
	s.pending = s.pending[n:]
	if len(s.pending) == 0 {
		s.pending = nil
	}
	done := make([]entry, n)
	errs := make([]error, n)
	var busy sync.WaitGroup
	for r := range min(readers, n) {
		busy.Go(func() {
			for i := r; i < n; i += readers {
				st, at, sure, err := s.take(batch[i].path())
				done[i], errs[i] = entry{batch[i].name, at, sure, st}, err
			}
		})
	}
	busy.Wait()
	for i, p := range batch {
		if errs[i] != nil {
			s.pending = append(s.pending, batch[i:]...)
			return errs[i]
		}
		p.settle(done[i])
	}
	return s.sync()
}

// settle puts the copy into the tree, if the file was the one that the scan saw until it was read completely. Else the
// next scan reports the change: a content that was read while the file was written is none that it ever had.
func (p postponed) settle(got entry) {
	i, ok := p.n.find(p.name)
	if !ok {
		return
	}
	if e := &p.n.entries[i]; got.sure && e.Uncovered == notCopied && e.at == got.at {
		*e = got
		p.t.changed = true
	}
}

// copyBeside goes on copying until nothing is put off or the store is closed; s.mu is held.
func (s *Store) copyBeside() {
	if s.copying || s.closed || len(s.pending) == 0 {
		return
	}
	s.copying = true
	s.copier.Go(func() {
		for more := true; more; {
			s.mu.Lock()
			s.dropStale()
			more = !s.closed && len(s.pending) > 0
			if more {
				if err := s.using(func() error { return s.copySome(1) }); err != nil {
					s.opt.Note(fmt.Sprintf("Saving files beside the conversation ended: %v. The next command tries again.",
						unwritable(err)))
					more = false
				}
			}
			s.copying = more
			s.mu.Unlock()
		}
	})
}

// Ahead looks at all covered files and begins to copy those that are not in the store, beside the caller: somebody is
// about to allow a command, which then waits less. Once is enough; later calls do nothing.
func (s *Store) Ahead() {
	if !s.looking.CompareAndSwap(false, true) {
		return
	}
	s.copier.Go(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed || s.looked || len(s.running) > 0 || s.use(context.Background()) != nil {
			return // the next step begins with all of it, and reports the failure
		}
		defer s.unuse()
		if s.lookAtAll(context.Background()) == nil {
			s.copyBeside()
		}
	})
}

// lookAtAll brings all trees up to date and records the changes since the last look.
func (s *Store) lookAtAll(ctx context.Context) error {
	changes, err := s.updateAll(ctx)
	if err != nil {
		return err
	}
	changes = slices.DeleteFunc(changes, func(c Change) bool { return s.editing[c.Path] > 0 })
	if s.looked {
		return s.between(changes)
	}
	s.looked = true
	return s.sinceLast(changes)
}
