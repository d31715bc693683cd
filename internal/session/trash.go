package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// trash is the folder, beside the projects, of sessions that were taken out of the lists.
func (s *Store) trash() string { return filepath.Join(filepath.Dir(s.projects), "trash") }

// Trash takes a session out of the lists; [Store.Restore] puts it back. One that is open somewhere stays
// where it is: the error is a *LockedError then.
func (s *Store) Trash(id string) error {
	folder, err := s.locate(id)
	if err != nil {
		return err
	}
	lock, err := takeLock(folder)
	var held *LockedError
	if errors.As(err, &held) {
		held.Hint = "close it there before deleting it"
	}
	if err != nil {
		return err
	}
	if err := lock.Unlock(); err != nil { // Windows renames no folder with an open file in it
		return fmt.Errorf("session: let go of %s: %w", folder, err)
	}
	to := filepath.Join(s.trash(), filepath.Base(filepath.Dir(folder)), id)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("session: make the trash: %w", err)
	}
	if err := os.Rename(folder, to); err != nil {
		return fmt.Errorf("session: move %s to the trash: %w", id, err)
	}
	now := s.now()
	if err := os.Chtimes(to, now, now); err != nil { // EmptyTrash counts from here
		return fmt.Errorf("session: date the trash: %w", err)
	}
	return nil
}

// Restore brings a session back from the trash.
func (s *Store) Restore(id string) error {
	if !validID(id) {
		return fmt.Errorf("session: %q is no session id", id)
	}
	found, err := filepath.Glob(filepath.Join(s.trash(), "*", id))
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return missing("session %s is not in the trash", id)
	}
	to := filepath.Join(s.projects, filepath.Base(filepath.Dir(found[0])), id)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("session: make the folder of the project: %w", err)
	}
	if err := os.Rename(found[0], to); err != nil {
		return fmt.Errorf("session: bring %s back from the trash: %w", id, err)
	}
	return nil
}

// EmptyTrash deletes what was put into the trash before a time, and says how many sessions that were.
func (s *Store) EmptyTrash(before time.Time) (int, error) {
	found, err := filepath.Glob(filepath.Join(s.trash(), "*", "*"))
	if err != nil {
		return 0, err
	}
	n := 0
	var failed error
	for _, folder := range found {
		st, err := os.Stat(folder)
		if errors.Is(err, fs.ErrNotExist) || err == nil && (!validID(filepath.Base(folder)) || !st.ModTime().Before(before)) {
			continue
		}
		if err == nil {
			err = os.RemoveAll(folder)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("session: empty the trash: %w", err))
			continue
		}
		n++
	}
	return n, failed
}
