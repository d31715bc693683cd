package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// Processes that work on one board know by locks which of them are alive: a lock is let go of when its process ends,
// also by kill -9.

// pollBoard is how often the board is read while another process may change it.
const pollBoard = 200 * time.Millisecond

const (
	ownerLock       = ".owner-" // with the owner's name behind it
	coordinatorLock = ".coordinator"
	mergeLock       = ".merge"
)

// own says that an owner is alive, until the function is called or the process ends.
func (b *Board) own(owner string) (release func() error, err error) {
	lock := flock.New(b.path + ownerLock + owner)
	if ok, err := lock.TryLock(); err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("the team %s cannot be joined", b.path))
	}
	return func() error { return errors.Join(os.Remove(lock.Path()), lock.Unlock()) }, nil
}

// alive reports whether the process of an owner is alive.
func (b *Board) alive(owner string) bool {
	path := b.path + ownerLock + owner
	if _, err := os.Stat(path); owner == "" || err != nil {
		return false
	}
	lock := flock.New(path)
	ok, err := lock.TryLock()
	if err != nil || !ok {
		return true
	}
	_ = errors.Join(os.Remove(path), lock.Unlock()) // the next look removes it
	return false
}

// try takes a lock of the board, unless another process has it.
func (b *Board) try(name string) (release func() error, ok bool, err error) {
	lock := flock.New(b.path + name)
	ok, err = lock.TryLock()
	return lock.Unlock, ok, err
}

// wait takes a lock of the board as soon as it is free.
func (b *Board) wait(ctx context.Context, name string) (release func() error, err error) {
	lock := flock.New(b.path + name)
	if _, err := lock.TryLockContext(ctx, pollBoard/10); err != nil {
		return nil, fmt.Errorf("the board cannot be locked: %w", cmp.Or(context.Cause(ctx), err))
	}
	return lock.Unlock, nil
}
