package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// prunedName is the file beside a log that says that its blobs were removed because of their age.
const prunedName = "blobs.pruned"

// PruneBlobs removes the blobs of sessions whose logs no one has written since a time, and returns how many
// files that were. Logs stay. A session that is open somewhere is skipped.
func (s *Store) PruneBlobs(before time.Time) (int, error) {
	logs, err := filepath.Glob(filepath.Join(s.projects, "*", "*", logName))
	if err != nil {
		return 0, fmt.Errorf("session: list the sessions: %w", err)
	}
	removed := 0
	var errs []error
	for _, log := range logs {
		info, err := os.Stat(log)
		if err != nil || !info.ModTime().Before(before) {
			continue
		}
		n, err := pruneBlobs(filepath.Dir(log))
		removed += n
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}

func pruneBlobs(folder string) (int, error) {
	entries, err := os.ReadDir(filepath.Join(folder, blobDir))
	if err != nil || len(entries) == 0 {
		return 0, nil //nolint:nilerr // most sessions have no blobs
	}
	lock, err := takeLock(folder, lockHint)
	if _, held := errors.AsType[*LockedError](err); held {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = lock.Unlock() }()
	// The mark comes first: after a crash in between, blobs that are gone are not taken for lost ones.
	if err := os.WriteFile(filepath.Join(folder, prunedName), nil, 0o600); err != nil {
		return 0, fmt.Errorf("session: mark the blobs of %s as removed: %w", filepath.Base(folder), err)
	}
	for i, e := range entries {
		if err := os.Remove(filepath.Join(folder, blobDir, e.Name())); err != nil {
			return i, fmt.Errorf("session: remove an old blob: %w", err)
		}
	}
	return len(entries), nil
}

// pruned reports whether the blobs of a session were removed because of their age.
func pruned(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, prunedName))
	return err == nil
}
