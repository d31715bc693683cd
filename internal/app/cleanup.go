package app

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
)

// cleanUp removes recordings of --debug, and saved outputs of sessions that were last used, more than
// cleanupPeriodDays ago. It runs beside the first turn.
func (i *Instance) cleanUp() error {
	days := i.settings().CleanupPeriodDays
	if days <= 0 {
		return nil
	}
	before := time.Now().AddDate(0, 0, -days)
	_, err := i.logs.Store.PruneBlobs(before)
	return errors.Join(err, event.PruneRecordings(filepath.Join(i.paths.StateHome, "debug"), before))
}
