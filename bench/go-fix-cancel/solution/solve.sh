#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

import (
	"context"
	"time"
)

// Wait polls until ready is true.
func Wait(ctx context.Context, ready func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
END
