package task

import (
	"context"
	"time"
)

// Wait polls until ready is true.
func Wait(ctx context.Context, ready func() bool) error {
	done := make(chan struct{})
	go func() {
		for !ready() {
			time.Sleep(5 * time.Millisecond)
		}
		done <- struct{}{}
	}()
	<-done
	return nil
}
