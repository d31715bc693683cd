package app

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
)

// cleanUp removes --debug recordings older than cleanupPeriodDays. Saved outputs belong to sessions that can be resumed,
// so they are removed only if the user set the key. It runs concurrently with the first turn.
func (i *Instance) cleanUp() error {
	before := time.Now().AddDate(0, 0, -i.settings().CleanupPeriodDays)
	err := event.PruneRecordings(filepath.Join(i.paths.StateHome, "debug"), before)
	if i.conf.Load().Origin("cleanupPeriodDays").Layer != config.Default {
		_, blobs := i.logs.Store.PruneBlobs(before)
		err = errors.Join(err, blobs)
	}
	return err
}
