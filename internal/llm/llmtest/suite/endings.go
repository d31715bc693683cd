package suite

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// endings tests consumers that stop early.
func (c *test) endings(t *testing.T) {
	t.Run("cancelled at the first text", c.cancelled)
	t.Run("cancelled before the headers", c.cancelledEarly)
	t.Run("cancelled between attempts", c.cancelledBetween)
	t.Run("cancelled before it began", c.cancelledFirst)
	t.Run("a loop that breaks", c.breaks)
}

// stalling is a reply that begins and then stalls.
func stalling(at string) llmtest.Reply {
	r := story()
	r.Faults = []llmtest.Fault{{Kind: "stall", At: at, Times: -1}}
	return r
}

func (s *scene) wantGone() {
	s.t.Helper()
	if r := s.waitEnded(1)[0]; !r.Gone {
		s.t.Errorf("the connection was not closed: %+v", r)
	}
	s.wantRequests(1)
}

func (s *scene) wantCanceled(o *outcome) {
	s.t.Helper()
	if !errors.Is(o.err, context.Canceled) || o.message != nil {
		s.t.Errorf("want context.Canceled, got %v and message %v", o.err, o.message)
	}
}

func (c *test) cancelled(t *testing.T) {
	s := c.scene(t, quick, stalling("part 0 60%"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := stream(ctx, s.model, c.request(), func(d llm.Delta) bool {
		if _, ok := d.(llm.TextDelta); ok {
			cancel()
		}
		return true
	})
	s.wantCanceled(o)
	s.wantGone()
}

func (c *test) cancelledEarly(t *testing.T) {
	s := c.scene(t, quick, stalling("start"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = s.srv.Wait(ctx, 1) // ends with the test otherwise
		cancel()
	}()
	s.wantCanceled(stream(ctx, s.model, c.request(), nil))
	s.wantGone()
}

func (c *test) cancelledBetween(t *testing.T) {
	r := story()
	r.Faults = []llmtest.Fault{{Kind: "status", Status: 529, Times: -1}}
	s := c.scene(t, llm.RetryPolicy{Base: time.Hour, Cap: time.Hour}, r)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := stream(ctx, s.model, c.request(), func(d llm.Delta) bool {
		if _, ok := d.(llm.Retrying); ok {
			cancel()
		}
		return true
	})
	s.wantCanceled(o)
	s.wantRequests(1)
}

func (c *test) cancelledFirst(t *testing.T) {
	s := c.scene(t, quick, story())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.wantCanceled(stream(ctx, s.model, c.request(), nil))
	s.wantRequests(0)
}

func (c *test) breaks(t *testing.T) {
	s := c.scene(t, quick, stalling("part 0 60%"))
	o := stream(t.Context(), s.model, c.request(), func(d llm.Delta) bool {
		_, ok := d.(llm.TextDelta)
		return !ok
	})
	if o.err != nil || o.message != nil {
		t.Errorf("got %v, %v", o.err, o.message)
	}
	s.wantGone()
}
