package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
)

// perAttempt sends a request with the policy's retries and returns the keys that the server received.
func perAttempt(t *testing.T, c *Caller, h http.HandlerFunc, o Outgoing) (keys []string, deltas []Delta, err error) {
	t.Helper()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("X-Api-Key"))
		h(w, r)
	})
	if o.URL == "" {
		o.URL = s.URL
	}
	o.Body = body(`{"hello":"world"}`)
	policy := RetryPolicy{Base: 1, Jitter: -1}
	policy.Run(t.Context(), nil, func(ctx context.Context, n int, yield func(Delta) bool) error {
		r, err := c.Post(ctx, n, &o, yield)
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = io.ReadAll(r.body)
		yield(Done{})
		return err
	}, func(d Delta, e error) bool {
		if err = e; d != nil {
			deltas = append(deltas, d)
		}
		return true
	})
	return keys, deltas, err
}

func accept(keys ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, k := range keys {
			if r.Header.Get("X-Api-Key") == k {
				_, _ = io.WriteString(w, "data: 1\n\n")
				return
			}
		}
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func TestEachAttemptIsPreparedAnew(t *testing.T) {
	n := 0
	c := caller(t)
	c.Prepare = func(_ context.Context, o *Outgoing) error {
		n++
		o.Header.Set("X-Api-Key", []string{"", "first", "second", "third"}[n])
		o.URL += "?sum=" + string(o.Body.Bytes()[2:7]) // a signature reads the exact body
		return nil
	}
	header := http.Header{"X-Other": {"kept"}}
	keys, deltas, err := perAttempt(t, c, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("sum") != "hello" || r.Header.Get("X-Other") != "kept" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		if r.Header.Get("X-Api-Key") != "third" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "data: 1\n\n")
	}, Outgoing{Header: header})
	if err != nil || len(keys) != 3 || keys[0] != "first" || keys[2] != "third" {
		t.Errorf("%v, %v", keys, err)
	}
	if sent, ok := deltas[0].(Sent); !ok || len(header) != 1 || sent.URL[len(sent.URL)-5:] != "hello" {
		t.Errorf("%+v, header %v", deltas[0], header)
	}
}

func TestARefusedKeyIsRenewedOnceAndSentAtOnce(t *testing.T) {
	c := caller(t)
	c.Prepare = func(_ context.Context, o *Outgoing) error {
		o.Header.Set("X-Api-Key", "old-key")
		if o.Refused != nil {
			if o.Refused.Header.Get("X-Api-Key") != "old-key" || o.Refused.Err.Status != http.StatusUnauthorized {
				t.Errorf("%+v", o.Refused)
			}
			o.Header.Set("X-Api-Key", "new-key")
		}
		return nil
	}
	keys, deltas, err := perAttempt(t, c, accept("new-key"), Outgoing{})
	if err != nil || len(keys) != 2 || keys[1] != "new-key" {
		t.Fatalf("%v, %v", keys, err)
	}
	if again, ok := deltas[1].(Retrying); !ok || again.Delay != 0 || AsError(again.Err).Kind != KindAuth {
		t.Errorf("%+v", deltas)
	}
	if keys, _, err = perAttempt(t, c, accept(), Outgoing{}); len(keys) != 2 || AsError(err) == nil ||
		AsError(err).Attempts != 2 {
		t.Errorf("a new key that is refused too: %v, %v", keys, err)
	}
}

func TestWithoutAnotherKeyTheRefusalStands(t *testing.T) {
	c := caller(t)
	c.Prepare = func(_ context.Context, o *Outgoing) error {
		o.Header.Set("X-Api-Key", "only-key")
		if o.Refused != nil {
			return o.Refused.Err
		}
		return nil
	}
	keys, deltas, err := perAttempt(t, c, accept(), Outgoing{})
	mustFail(t, err, KindAuth, false)
	if len(keys) != 1 || len(deltas) != 1 || AsError(err).Attempts != 1 {
		t.Errorf("%v, %+v, %v", keys, deltas, err)
	}
}

func TestARequestThatCannotBePreparedIsNotSent(t *testing.T) {
	c := caller(t)
	c.Prepare = func(context.Context, *Outgoing) error { return errors.New("no token\x1b[31m") }
	keys, _, err := perAttempt(t, c, accept(), Outgoing{})
	mustFail(t, err, KindAuth, false, "no token", "TEST_KEY")
	if len(keys) != 0 {
		t.Errorf("%v", keys)
	}
}
