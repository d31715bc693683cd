package session

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// Temporary makes a store for sessions that are not kept: in memory where the system has such a place (Linux: a
// tmpfs at /dev/shm), else in the folder for temporary files. Discard removes it.
func Temporary() (*Store, error) {
	dir, err := "", errors.ErrUnsupported
	if runtime.GOOS == "linux" {
		dir, err = os.MkdirTemp("/dev/shm", "lathe-")
	}
	if err != nil {
		if dir, err = os.MkdirTemp("", "lathe-"); err != nil {
			return nil, err
		}
	}
	s := NewStore(dir)
	s.temporary = dir
	return s, nil
}

// Discard removes a temporary store with its sessions; it does nothing to another one.
func (s *Store) Discard() error {
	if s.temporary == "" {
		return nil
	}
	return os.RemoveAll(s.temporary)
}

// Borrow copies a session of another store, unless it is there already.
func (s *Store) Borrow(from *Store, id string) error {
	old, err := from.OpenReadOnly(id)
	if err != nil {
		return err
	}
	folder := old.Folder()
	if err := old.Close(); err != nil {
		return err
	}
	to := filepath.Join(s.projects, filepath.Base(filepath.Dir(folder)), filepath.Base(folder))
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(folder))
}
