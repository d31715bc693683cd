package task

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	before := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	end := make(chan error, 1)
	go func() { end <- Wait(ctx, func() bool { return false }) }()
	select {
	case err := <-end:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("it waits on")
	}
	n := 0
	if err := Wait(context.Background(), func() bool { n++; return n > 2 }); err != nil {
		t.Error(err)
	}
	time.Sleep(50 * time.Millisecond)
	if runtime.NumGoroutine() > before+1 {
		t.Error("a goroutine is left")
	}
}
