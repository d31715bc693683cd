package mcp

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheTimeOfTheUsersAnswerIsNoIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &server{}
		ctx, stop := context.WithCancelCause(t.Context())
		v.asking.Add(1)
		timer := v.whenIdle(time.Minute, stop)
		defer timer.Stop()
		time.Sleep(10 * time.Minute)
		if ctx.Err() != nil {
			t.Error("the call ended while the user thought")
		}
		v.asking.Add(-1)
		time.Sleep(2 * time.Minute)
		if ctx.Err() == nil {
			t.Error("an idle call does not end")
		}
	})
}
