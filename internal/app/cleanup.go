package app

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// cleanUp removes recordings of --debug, and saved outputs of sessions that were last used, more than
// cleanupPeriodDays ago. It runs beside the first turn.
func (i *Instance) cleanUp() error {
	days := i.settings().CleanupPeriodDays
	if days <= 0 {
		return nil
	}
	before := time.Now().AddDate(0, 0, -days)
	_, err := i.store.PruneBlobs(before)
	dir := filepath.Join(i.paths.StateHome, "debug")
	entries, dirErr := os.ReadDir(dir)
	if errors.Is(dirErr, os.ErrNotExist) {
		return err
	}
	errs := []error{err, dirErr}
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
