package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// A process that uses the store holds a shared lock on it, from the beginning of a step to its end and while it
// restores: what it knows to be stored stays. Letting snapshots go takes the lock alone. A process that takes the lock
// again looks whether segments are gone, and stores again what it still needs of them.

// use takes the shared lock, or counts one more use of it; s.mu is held. The first use opens the folder. It waits for
// another process at most until ctx ends.
func (s *Store) use(ctx context.Context) error {
	if s.closed {
		return errClosed
	}
	if s.uses > 0 {
		s.uses++
		return nil
	}
	if err := os.MkdirAll(s.opt.Dir, 0o700); err != nil {
		return err
	}
	if s.shared == nil {
		s.shared = flock.New(filepath.Join(s.opt.Dir, "use.lock"), flock.SetPermissions(0o600))
	}
	if err := s.waitForUse(ctx); err != nil {
		return err
	}
	s.uses = 1
	err := s.lookForGone()
	if err == nil {
		err = s.finishRestores()
	}
	if err != nil {
		s.unuse()
	}
	return err
}

// longestUse is how long another process may take to let snapshots go: seconds as a rule, and for good if it was
// stopped.
const longestUse = time.Minute

// waitForUse waits while another process lets snapshots go.
func (s *Store) waitForUse(ctx context.Context) error {
	ok, err := s.shared.TryRLock()
	if err != nil || ok {
		return err
	}
	s.opt.Wait("Waiting for another lathe, which is letting the oldest snapshots of this project go.")
	ctx, cancel := context.WithTimeoutCause(ctx, longestUse,
		fmt.Errorf("another lathe has held them for %s; end it, and try again", longestUse))
	defer cancel()
	if _, err := s.shared.TryRLockContext(ctx, 20*time.Millisecond); err != nil {
		return fmt.Errorf("the snapshots are locked: %w", cmp.Or(context.Cause(ctx), err))
	}
	return nil
}

// unuse ends one use.
func (s *Store) unuse() {
	if s.uses--; s.uses == 0 {
		_ = s.shared.Unlock()
	}
}

// using runs f within a use.
func (s *Store) using(f func() error) error {
	if err := s.use(context.Background()); err != nil {
		return err
	}
	defer s.unuse()
	return f()
}

// alone runs f while no other process uses the store. ErrInUse: one does, or a step of this one is not over.
func (s *Store) alone(f func() error) error {
	if s.uses != 1 {
		return ErrInUse
	}
	if err := s.shared.Unlock(); err != nil {
		return err
	}
	ok, err := s.shared.TryLock()
	if err == nil && ok {
		if err = s.lookForGone(); err == nil {
			err = f()
		}
		err = errors.Join(err, s.shared.Unlock())
	} else if err == nil {
		err = ErrInUse
	}
	if lockErr := s.waitForUse(context.Background()); lockErr != nil {
		return errors.Join(err, lockErr)
	}
	return errors.Join(err, s.lookForGone())
}

// lookForGone reads the segments again if some are gone that were there.
func (s *Store) lookForGone() error {
	list, err := segments(s.opt.Dir)
	if err != nil {
		return err
	}
	gone := s.behind || missingIn(list, slices.Values(s.listed)) || missingIn(list, maps.Keys(s.scanned))
	if s.listed = list; !gone {
		return nil
	}
	s.forgetContents()
	if err := s.refresh(); err != nil {
		return err
	}
	s.behind = false
	for _, t := range s.trees {
		s.takeAgain(t, t.root)
	}
	for path, e := range s.touched {
		e.sure = e.sure && s.stored(e.State)
		s.touched[path] = e
	}
	return nil
}

// missingIn reports whether one of some paths is not in a sorted list.
func missingIn(list []string, paths iter.Seq[string]) bool {
	for path := range paths {
		if _, ok := slices.BinarySearch(list, path); !ok {
			return true
		}
	}
	return false
}

// forgetContents forgets what the segments hold.
func (s *Store) forgetContents() {
	s.blobs.Lock()
	defer s.blobs.Unlock()
	s.records, s.known, s.places = nil, map[Hash]bool{}, map[Hash]place{}
	s.scanned, s.ids, s.from, s.damaged = map[string]int64{}, map[string]bool{}, map[string]string{}, nil
}

// stored reports whether the content of a state is in the store, if it has one that is kept.
func (s *Store) stored(st State) bool {
	return !st.kept() || st.Kind != File && st.Kind != Link || s.known[st.Hash]
}

// takeAgain has the next look read the files of a folder, and of all below, whose contents are gone from the store.
func (s *Store) takeAgain(t *tree, n *node) {
	again := false
	for i := range n.entries {
		if e := &n.entries[i]; e.sure && !s.stored(e.State) {
			e.sure, again = false, true
		}
	}
	if again {
		t.unread, t.unsure, t.changed = append(t.unread, n), true, true
	}
	for _, sub := range n.subs {
		s.takeAgain(t, sub)
	}
}
