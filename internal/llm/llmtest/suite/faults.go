package suite

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/llmtest"
)

// faults tests retries: which failures, how often, and the final error.
func (c *test) faults(t *testing.T) {
	t.Run("passing faults", c.passing)
	t.Run("lasting faults", c.lasting)
	t.Run("refusals are not sent again", c.refusals)
	t.Run("retry-after", c.retryAfter)
	t.Run("stalls", c.stalls)
	t.Run("nothing is sent again after a call was ready", c.committed)
	t.Run("nothing listens", c.refused)
	t.Run("keys do not show", c.noKeys)
	t.Run("a refused key is renewed", c.renewedKey)
}

// retried are the faults after which a request is retried, with the kind of their error.
var retried = []struct {
	fault llmtest.Fault
	kind  llm.ErrorKind
}{
	{llmtest.Fault{Kind: "status", Status: 429}, llm.KindRateLimit},
	{llmtest.Fault{Kind: "status", Status: 500}, llm.KindServer},
	{llmtest.Fault{Kind: "status", Status: 502, Body: "<html>Bad gateway</html>"}, llm.KindServer},
	{llmtest.Fault{Kind: "status", Status: 503}, llm.KindOverloaded},
	{llmtest.Fault{Kind: "status", Status: 504, Body: "upstream timed out"}, llm.KindServer},
	{llmtest.Fault{Kind: "status", Status: 529}, llm.KindOverloaded},
	{llmtest.Fault{Kind: "reset"}, llm.KindNetwork},
	{llmtest.Fault{Kind: "reset", At: "start"}, llm.KindNetwork},
	{llmtest.Fault{Kind: "close"}, llm.KindNetwork},
	{llmtest.Fault{Kind: "close", At: "start"}, llm.KindNetwork},
	{llmtest.Fault{Kind: "close", At: "0"}, llm.KindNetwork},
	{llmtest.Fault{Kind: "end"}, llm.KindNetwork},
	{llmtest.Fault{Kind: "end", At: "0"}, llm.KindNetwork},
	{llmtest.Fault{Kind: "garbage", At: "event 2"}, llm.KindProtocol},
	{llmtest.Fault{Kind: "garbage", At: "event 2", Body: "<html>"}, llm.KindProtocol},
	{llmtest.Fault{Kind: "html"}, llm.KindProtocol},
	{llmtest.Fault{Kind: "error", At: "event 2"}, llm.KindOverloaded},
	{llmtest.Fault{Kind: "error", At: "event 0", Status: 500}, llm.KindServer},
}

func faultName(f llmtest.Fault) string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s %s", f.Kind, f.Status, f.At, f.Body))
}

func story() llmtest.Reply {
	r := llmtest.Say(llmtest.Text("First I want to look around the project a little."), read("/a"))
	r.Chunk = 6
	return r
}

func (c *test) passing(t *testing.T) {
	for _, row := range retried {
		t.Run(faultName(row.fault), func(t *testing.T) {
			r := story()
			row.fault.Times = 2
			r.Faults = []llmtest.Fault{row.fault}
			s := c.scene(t, quick, r)
			o := s.done(c.request())
			s.wantRequests(3)
			if first := s.srv.Requests()[0]; c.traits.Socket != (first.Socket == 1) {
				t.Errorf("the first request was message %d on a WebSocket", first.Socket)
			}
			c.wantInputs(t, o.message, `Read {"file_path":"/a"}`)
			rs := of[llm.Retrying](o)
			if len(rs) != 2 {
				t.Fatalf("%d times Retrying", len(rs))
			}
			for _, again := range rs {
				if e := llm.AsError(again.Err); e == nil || e.Kind != row.kind || again.Max != 3 {
					t.Errorf("Retrying: %+v, want kind %s", again, row.kind)
				}
			}
		})
	}
	t.Run("different ones in a row", func(t *testing.T) {
		r := story()
		r.Faults = []llmtest.Fault{{Kind: "status", Status: 529}, {Kind: "reset"}, {Kind: "html"}}
		s := c.scene(t, quick, r)
		c.wantInputs(t, s.done(c.request()).message, `Read {"file_path":"/a"}`)
		s.wantRequests(4)
	})
}

func (c *test) lasting(t *testing.T) {
	for _, row := range retried {
		t.Run(faultName(row.fault), func(t *testing.T) {
			r := story()
			row.fault.Times = -1
			r.Faults = []llmtest.Fault{row.fault}
			s := c.scene(t, quick, r)
			e := s.failed(c.request())
			s.wantRequests(4)
			if e.Kind != row.kind || e.Attempts != 4 || !e.Retryable {
				t.Errorf("error: %+v, want kind %s", e, row.kind)
			}
		})
	}
}

func (c *test) refusals(t *testing.T) {
	for status, kind := range map[int]llm.ErrorKind{
		400: llm.KindInvalid, 401: llm.KindAuth, 402: llm.KindBilling, 403: llm.KindPermission, 404: llm.KindNotFound,
		413: llm.KindTooLarge,
	} {
		r := story()
		r.Faults = []llmtest.Fault{{Kind: "status", Status: status, Times: -1}}
		s := c.scene(t, quick, r)
		e := s.failed(c.request())
		s.wantRequests(1)
		if e.Kind != kind || e.Status != status || e.Retryable || e.Partial != nil || e.Message != "scripted failure" {
			t.Errorf("status %d: %+v", status, e)
		}
		if c.traits.Wire == "anthropic" && e.RequestID == "" {
			t.Errorf("status %d: the request id is lost", status)
		}
	}
}

func (c *test) retryAfter(t *testing.T) {
	r := story()
	r.Faults = []llmtest.Fault{{Kind: "status", Status: 429, RetryAfter: "17"}}
	clock := &fastClock{over: 17 * time.Second}
	s := c.sceneWith(t, Options{Clock: clock}, r)
	o := s.done(c.request())
	if rs := of[llm.Retrying](o); len(rs) != 1 || rs[0].Delay != 17*time.Second || clock.waited() != 1 {
		t.Errorf("Retrying: %+v; waited %d times", rs, clock.waited())
	}
	r.Faults = []llmtest.Fault{{Kind: "status", Status: 429, RetryAfter: "4000", Times: -1}}
	s = c.sceneWith(t, Options{}, r)
	e := s.failed(c.request())
	s.wantRequests(1)
	if e.RetryAfter != 4000*time.Second {
		t.Errorf("the error does not tell the wait: %+v", e)
	}
}

func (c *test) stalls(t *testing.T) {
	for _, at := range []string{"start", "0", "event 2", "60%"} {
		t.Run(at, func(t *testing.T) {
			r := story()
			times := 2
			if at == "start" { // without headers: another try takes as long
				times = 1
			}
			r.Faults = []llmtest.Fault{{Kind: "stall", At: at, Times: times}}
			s := c.sceneWith(t, Options{Retry: quick, StallTimeout: 50 * time.Millisecond}, r)
			o := s.done(c.request())
			for _, again := range of[llm.Retrying](o) {
				if e := llm.AsError(again.Err); e == nil || e.Kind != llm.KindStall {
					t.Errorf("Retrying after %v", again.Err)
				}
			}
			for i, r := range s.waitEnded(times + 1)[:times] {
				if !r.Gone {
					t.Errorf("stalled request %d was not given up", i)
				}
			}
		})
	}
	t.Run("a slow drip is no stall", func(t *testing.T) {
		r := llmtest.Say(llmtest.Text("slow"))
		r.Chunk, r.Gap = 1, llmtest.Duration(20*time.Millisecond)
		s := c.sceneWith(t, Options{Retry: never, StallTimeout: 5 * time.Second}, r)
		if o := s.done(c.request()); o.text() != "slow" {
			t.Errorf("got %q", o.text())
		}
	})
}

func (c *test) committed(t *testing.T) {
	for _, f := range []llmtest.Fault{
		{Kind: "reset", At: "part 1 50%"},
		{Kind: "close", At: "part 1 50%"},
		{Kind: "end", At: "part 1 50%"},
		{Kind: "garbage", At: "part 1 50%"},
		{Kind: "error", At: "part 1 50%"},
		{Kind: "stall", At: "part 1 50%"},
	} {
		if c.traits.ReadyAtEnd && (f.Kind == "garbage" || f.Kind == "error") {
			f.At = "after part 0" // the second call may come in one event
		}
		t.Run(f.Kind, func(t *testing.T) {
			r := llmtest.Say(read("/a"), llmtest.Part{Tool: "Bash", Input: []byte(`{"command":"` + strings.Repeat("x", 100) +
				`"}`)})
			r.Chunk = 5
			f.Times = -1
			r.Faults = []llmtest.Fault{f}
			s := c.sceneWith(t, Options{Retry: quick, StallTimeout: 100 * time.Millisecond}, r)
			e := s.failed(c.request())
			s.wantRequests(1)
			if e.Partial == nil {
				t.Fatalf("no Partial: %+v", e)
			}
			c.wantInputs(t, e.Partial, `Read {"file_path":"/a"}`)
		})
	}
}

func (c *test) refused(t *testing.T) {
	s := c.scene(t, llm.RetryPolicy{Max: 1, Base: time.Millisecond}, story())
	if err := s.srv.Close(); err != nil {
		t.Fatal(err)
	}
	e := s.failed(c.request())
	if e.Kind != llm.KindNetwork || e.Attempts != 2 {
		t.Errorf("error: %+v", e)
	}
}

func (c *test) noKeys(t *testing.T) {
	r := story()
	r.Faults = []llmtest.Fault{{
		Kind: "status", Status: http.StatusUnauthorized,
		Body: `{"error":{"type":"authentication_error","message":"bad key ` + key + `"}}`,
	}}
	e := c.scene(t, never, r).failed(c.request())
	if strings.Contains(e.Error(), key) {
		t.Errorf("the error shows the key: %v", e)
	}
}

// renewedKey tests that the key is determined per attempt, and that a refused key is replaced.
func (c *test) renewedKey(t *testing.T) {
	keys := []string{"sk-expired-0123456789", key}
	s := c.sceneWith(t, Options{Retry: never, Prepare: func(_ context.Context, o *llm.Outgoing) error {
		if o.Refused != nil {
			keys = keys[1:]
		}
		o.Header.Set("Authorization", "Bearer "+keys[0])
		return nil
	}}, story(), story())
	c.wantInputs(t, s.done(c.request()).message, `Read {"file_path":"/a"}`)
	s.wantRequests(2)
}
