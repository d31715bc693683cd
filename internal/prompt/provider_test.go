package prompt

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

func TestTheWaitForTheContextEndsWithTheTurn(t *testing.T) {
	_, o := tree(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	o.Providers = []Provider{{Name: "slow", Wait: time.Hour, Get: func(own context.Context) (string, error) {
		cancel()
		<-t.Context().Done()
		return "", own.Err()
	}}}
	m := llm.UserText("hi")
	if err := Begin(t.Context(), o).Precede(ctx, &m, o); !errors.Is(err, context.Canceled) || len(m.Parts) != 1 {
		t.Errorf("%v, %+v", err, m)
	}
}

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
			if s, note := a.section(t.Context()); s.Text != "all skills" || note != "" {
				t.Errorf("%q, %s", s.Text, note)
			}
		})
	}
}
