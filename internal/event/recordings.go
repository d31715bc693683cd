package event

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// PruneRecordings removes the recordings below a folder in which nothing was written since a time.
func PruneRecordings(dir string, before time.Time) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); e.IsDir() && untouchedSince(path, before) {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}

// untouchedSince reports whether nothing in a recording was written after a time. Recordings are flat.
func untouchedSince(dir string, before time.Time) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.ModTime().After(before) {
			return false
		}
	}
	info, err := os.Stat(dir)
	return err == nil && info.ModTime().Before(before)
}
