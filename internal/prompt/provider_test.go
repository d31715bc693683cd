package prompt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// The first message often comes long after the session has begun: what was ready in time is in the context.
func TestContextThatWasReadyInTimeIsKeptForALateFirstMessage(t *testing.T) {
	for range 100 { // a choice between two channels that are both ready is random
		synctest.Test(t, func(t *testing.T) {
			a := start(t.Context(), Provider{Name: "skills", Get: func(context.Context) (string,
				error,
			) {
				return "all skills", nil
			}})
			time.Sleep(time.Minute)
			if s, note := a.section(); s.Text != "all skills" || note != "" {
				t.Errorf("%q, %s", s.Text, note)
			}
		})
	}
}
