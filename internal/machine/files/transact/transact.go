// Package transact changes several files together: all of them or none, also when the process is killed in between.
//
// The words: a transaction is the list of changes; its journal is a file with the contents before and after, synced
// before the first file changes and removed after the last. A process that finds a journal ([Recover]) finishes the
// transaction: forward, or back where it had failed midway and was being taken back.
//
// The promises: each file is at any moment either the old or the new one, whole; a file that somebody else changed in
// the meantime is left as it is; a transaction that fails leaves all files as they were. One process at a time has a
// transaction in one folder of journals.
package transact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// Change is one file of a transaction.
type Change struct {
	Target *files.Target
	Info   fs.FileInfo // of the file as the caller last saw it; nil: none
	Before []byte
	After  []byte
	Remove bool
	Mode   fs.FileMode // permission bits of the new content; 0: as Target.Mode says
}

// Names in the folder of journals. back marks a transaction that is taken back.
const (
	journalName = "files.journal"
	backName    = "files.back"
	lockName    = "files.lock"
)

// lockWait is how long a transaction waits for that of another process.
const lockWait = 10 * time.Second

// phase is called at each step; tests kill the process there.
var phase = func(string) {}

// Apply makes all changes or none, then the steps, and returns how each file was written. dir is the folder of
// journals; empty: there is no journal, so that a kill may leave a part. An error names the file; then no file is
// changed, unless the error says so.
func Apply(ctx context.Context, dir string, list []Change, steps ...Step) ([]files.Replaced, error) {
	if dir == "" || len(list)+len(steps) == 1 {
		return perform(list, steps, "")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the journal of the change: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if ok, err := lock.TryLockContext(ctx, 5*time.Millisecond); !ok || err != nil {
		return nil, fmt.Errorf("another process is changing files of this project (%w); try again",
			errors.Join(err, ctx.Err()))
	}
	defer func() { _ = lock.Unlock() }()
	if _, err := recoverLocked(dir); err != nil {
		return nil, err
	}
	if err := begin(dir, list, steps); err != nil {
		return nil, fmt.Errorf("the journal of the change: %w", err)
	}
	phase("begun")
	done, err := perform(list, steps, dir)
	return done, errors.Join(err, end(dir))
}

// perform makes the changes in order, then the steps. When one fails, the changes before it are taken back.
func perform(list []Change, steps []Step, dir string) ([]files.Replaced, error) {
	done := make([]files.Replaced, len(list))
	for i, c := range list {
		var err error
		if done[i], err = c.do(); err != nil {
			err = fmt.Errorf("%s: %w", c.Target.Path.Lexical, err)
			if i > 0 {
				err = errors.Join(err, takeBack(list[:i], done, dir))
			}
			return nil, err
		}
		phase("changed")
	}
	for _, s := range steps {
		if err := s.do(); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Join(s.Root, s.Rel), err), takeBack(list, done, dir))
		}
		phase("stepped")
	}
	return done, nil
}

func (c *Change) do() (files.Replaced, error) {
	if c.Remove {
		return files.Replaced{}, c.Target.Remove(c.Info)
	}
	if c.Mode != 0 {
		c.Target.Mode = c.Mode
	}
	return c.Target.Replace(c.After, c.Info)
}

// takeBack undoes changes that were made, the last first.
func takeBack(list []Change, done []files.Replaced, dir string) error {
	if dir != "" {
		if err := mark(dir); err != nil {
			return fmt.Errorf("the files changed before it could not be changed back: %w", err)
		}
	}
	phase("back")
	var errs []error
	for i, c := range slices.Backward(list) {
		c.Target.Mode = 0
		var err error
		switch {
		case c.Info == nil:
			err = c.Target.Remove(done[i].Info)
		default:
			c.Target.Mode = c.Info.Mode().Perm()
			_, err = c.Target.Replace(c.Before, done[i].Info)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s could not be changed back: %w", c.Target.Path.Lexical, err))
		}
		phase("restored")
	}
	return errors.Join(errs...)
}

// end removes the journal, and then the mark.
func end(dir string) error {
	var errs []error
	for _, name := range []string{journalName, backName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		phase("ended")
	}
	return errors.Join(append(errs, syncFolder(dir))...)
}

// mark notes that the transaction is taken back.
func mark(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, backName), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), syncFolder(dir))
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some systems have no sync of folders
	return d.Close()
}
