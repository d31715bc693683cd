package journal

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// CleanUp removes the --debug recordings that are older than so many days, and with blobs the saved outputs: they
// belong to sessions that can be resumed.
func CleanUp(store *session.Store, stateHome string, days int, blobs bool) error {
	before := time.Now().AddDate(0, 0, -days)
	err := event.PruneRecordings(filepath.Join(stateHome, "debug"), before)
	if blobs {
		_, e := store.PruneBlobs(before)
		err = errors.Join(err, e)
	}
	return err
}
