package app

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/event"
)

// cleanUp removes recordings of --debug that are older than cleanupPeriodDays. Saved outputs belong to sessions that can
// be resumed: those go only where the user set the key. It runs beside the first turn.
func (i *Instance) cleanUp() error {
	before := time.Now().AddDate(0, 0, -i.settings().CleanupPeriodDays)
	err := event.PruneRecordings(filepath.Join(i.paths.StateHome, "debug"), before)
	if i.conf.Load().Origin("cleanupPeriodDays").Layer != config.Default {
		_, blobs := i.logs.Store.PruneBlobs(before)
		err = errors.Join(err, blobs)
	}
	return err
}
