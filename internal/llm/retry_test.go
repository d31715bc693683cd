package llm

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// leapClock skips every wait and records it.
type leapClock struct {
	mu    sync.Mutex
	now   time.Time
	waits []time.Duration
}

func (c *leapClock) Now() time.Time { return c.now }

func (c *leapClock) AfterFunc(d time.Duration, f func()) Timer {
	c.mu.Lock()
	c.waits = append(c.waits, d)
	c.mu.Unlock()
	return time.AfterFunc(0, f)
}

// drive runs attempts that fail with errs in turn, then succeeds with Done.
func drive(ctx context.Context, p RetryPolicy, c Clock, errs []error, first ...Delta) (deltas []Delta, attempts int,
	err error,
) {
	p.Run(ctx, c, func(_ context.Context, n int, yield func(Delta) bool) error {
		attempts = n
		for _, d := range first {
			if !yield(d) {
				return ErrStopped
			}
		}
		if n <= len(errs) {
			return errs[n-1]
		}
		yield(Done{})
		return nil
	}, func(d Delta, e error) bool {
		if e != nil {
			err = e
			return false
		}
		deltas = append(deltas, d)
		return true
	})
	return deltas, attempts, err
}

func failure(after time.Duration) *Error {
	return &Error{Kind: KindOverloaded, Retryable: true, RetryAfter: after}
}

func TestFailuresAreTriedAgainWithGrowingWaits(t *testing.T) {
	c := &leapClock{}
	p := RetryPolicy{Jitter: -1}
	deltas, n, err := drive(t.Context(), p, c, []error{failure(0), failure(0), failure(0)})
	if err != nil || n != 4 {
		t.Fatalf("%v after %d attempts", err, n)
	}
	if d := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, c.waits); d != "" {
		t.Error(d)
	}
	r, ok := deltas[1].(Retrying)
	if !ok || r.Attempt != 2 || r.Max != 3 || r.Delay != 2*time.Second || r.Err == nil {
		t.Errorf("%+v", deltas[1])
	}
	if _, ok := deltas[3].(Done); !ok {
		t.Errorf("%+v", deltas)
	}
}

func TestLastingFailureEndsAfterTheRetries(t *testing.T) {
	c := &leapClock{}
	errs := []error{failure(0), failure(0), failure(0), failure(0), failure(0)}
	_, n, err := drive(t.Context(), RetryPolicy{Rand: func() float64 { return 1 }}, c, errs)
	e := AsError(err)
	if n != 4 || e == nil || e.Attempts != 4 || !strings.Contains(e.Error(), "gave up after 4 attempts") {
		t.Fatalf("%v after %d", err, n)
	}
	var sum time.Duration
	for _, w := range c.waits {
		sum += w
	}
	if sum > 10*time.Second {
		t.Errorf("waited %s in all", sum)
	}
}

func TestProvidersWaitIsObeyed(t *testing.T) {
	c := &leapClock{}
	_, _, err := drive(t.Context(), RetryPolicy{}, c, []error{failure(7 * time.Second)})
	if err != nil || c.waits[0] != 7*time.Second {
		t.Fatalf("%v, waited %v", err, c.waits)
	}
}

func TestWaitOverTheLimitFailsAtOnceAndSaysHowLong(t *testing.T) {
	c := &leapClock{}
	_, n, err := drive(t.Context(), RetryPolicy{}, c, []error{failure(90 * time.Minute)})
	if n != 1 || len(c.waits) != 0 || !strings.Contains(err.Error(), "wait 1h30m0s") {
		t.Fatalf("%v after %d attempts, waited %v", err, n, c.waits)
	}
}

func TestNothingIsSentAgainOnceACallWasReady(t *testing.T) {
	broken := failure(0)
	broken.Partial = &Message{Role: Assistant}
	_, n, err := drive(t.Context(), RetryPolicy{}, &leapClock{}, []error{broken}, ToolReady{})
	if e := AsError(err); n != 1 || e == nil || e.Partial == nil || e.Attempts != 1 {
		t.Fatalf("%v after %d attempts", err, n)
	}
}

func TestOtherFailuresAreNotTriedAgain(t *testing.T) {
	for _, bad := range []error{&Error{Kind: KindAuth}, errors.New("plain")} {
		_, n, err := drive(t.Context(), RetryPolicy{}, &leapClock{}, []error{bad})
		if n != 1 || !errors.Is(err, bad) {
			t.Errorf("%v after %d attempts", err, n)
		}
	}
	_, n, err := drive(t.Context(), RetryPolicy{Max: -1}, &leapClock{}, []error{failure(0)})
	if n != 1 || err == nil {
		t.Errorf("with no retries: %v after %d attempts", err, n)
	}
}

// stuckClock never fires.
type stuckClock struct{ asked chan time.Duration }

func (c stuckClock) Now() time.Time { return time.Time{} }

func (c stuckClock) AfterFunc(d time.Duration, _ func()) Timer {
	c.asked <- d
	t := time.NewTimer(time.Hour)
	return t
}

func TestCancellationEndsAWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := stuckClock{make(chan time.Duration, 1)}
	go func() { <-c.asked; cancel() }()
	_, n, err := drive(ctx, RetryPolicy{}, c, []error{failure(0)})
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v after %d", err, n)
	}
}

func TestCancellationIsNoFailureOfTheProvider(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := drive(ctx, RetryPolicy{}, &leapClock{}, []error{failure(0)})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestConsumerThatLeavesGetsNothingMore(t *testing.T) {
	for _, at := range []int{1, 2} { // at the first delta, at Retrying
		seen := 0
		RetryPolicy{}.Run(t.Context(), &leapClock{}, func(_ context.Context, _ int, yield func(Delta) bool) error {
			if !yield(Sent{}) {
				return ErrStopped
			}
			return failure(0)
		}, func(Delta, error) bool {
			seen++
			return seen < at
		})
		if seen != at {
			t.Errorf("left at %d, called %d times", at, seen)
		}
	}
}

func TestDelayStaysWithinTheJitterAndTheCap(t *testing.T) {
	for _, r := range []float64{0, 0.5, 1} {
		p := RetryPolicy{Rand: func() float64 { return r }}
		for n, base := range map[int]time.Duration{
			1: time.Second, 3: 4 * time.Second, 9: 30 * time.Second,
			80: 30 * time.Second,
		} {
			want := time.Duration(float64(base) * (1 + 0.25*(2*r-1)))
			if got := p.Delay(n); got != want {
				t.Errorf("attempt %d, random %v: %s, want %s", n, r, got, want)
			}
		}
	}
}

func TestAWaitDoesNotSayThatItGaveUp(t *testing.T) {
	e := &Error{Kind: KindOverloaded, Retryable: true}
	p := RetryPolicy{Max: 1}.withDefaults()
	if w, err := p.next(t.Context(), 1, false, e); err != nil || strings.Contains(w.cause.Error(), "gave up") {
		t.Errorf("%v %v", w.cause, err)
	}
	if _, err := p.next(t.Context(), 2, false, e); err == nil || !strings.Contains(err.Error(),
		"gave up after 2 attempts") {
		t.Errorf("%v", err)
	}
}

func TestANumberInAnErrorSaysMoreThanItsType(t *testing.T) {
	code, _ := ErrorFields([]byte(`{"type":"server_error","code":529,"message":"busy"}`))
	if k := kindOfStatus(0, code, "busy"); k != KindOverloaded {
		t.Errorf("%q is %s", code, k)
	}
}
