package llm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// RetryPolicy configures retries after failures. A zero field means its default; a negative Max means none.
type RetryPolicy struct {
	Max     int           // retries after the first attempt; 3
	Base    time.Duration // first wait; 1 s, doubling
	Cap     time.Duration // longest wait unless the provider asks for more; 30 s
	Jitter  float64       // relative variation of a wait in both directions; 0.25, negative for none
	MaxWait time.Duration // a request whose provider asks for a longer wait fails; 60 s
	Rand    func() float64
}

func (p RetryPolicy) withDefaults() RetryPolicy {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&p.Base, time.Second)
	set(&p.Cap, 30*time.Second)
	set(&p.MaxWait, time.Minute)
	if p.Max == 0 {
		p.Max = 3
	}
	if p.Jitter == 0 {
		p.Jitter = 0.25
	}
	if p.Rand == nil {
		p.Rand = rand.Float64
	}
	return p
}

// Delay returns the wait after attempt n (from 1) failed, unless the provider asks for one.
func (p RetryPolicy) Delay(n int) time.Duration {
	p = p.withDefaults()
	d := p.Cap
	if n < 32 {
		if e := p.Base << (n - 1); e>>(n-1) == p.Base {
			d = min(d, e)
		}
	}
	if p.Jitter > 0 {
		d += time.Duration(float64(d) * p.Jitter * (2*p.Rand() - 1))
	}
	return d
}

// ErrStopped is returned by an attempt whose yield returned false.
var ErrStopped = errors.New("llm: the consumer stopped")

// Attempt sends a request once (n counts from 1) and yields the reply. It returns nil after Done, ErrStopped
// as soon as yield returned false, the context's error when that ended, and otherwise an *Error whose Partial
// holds the parts that were received completely.
type Attempt func(ctx context.Context, n int, yield func(Delta) bool) error

// Run makes attempts according to the policy; a provider's Stream calls it. Between attempts it yields
// Retrying and waits. It does not retry after a ToolReady: the call may be running, and the next attempt
// would request it a second time. Then the error is returned with the complete parts. The last error has
// Attempts set.
func (p RetryPolicy) Run(ctx context.Context, clock Clock, attempt Attempt, yield func(Delta, error) bool) {
	p = p.withDefaults()
	if clock == nil {
		clock = SystemClock
	}
	for n := 1; ; n++ {
		committed, stopped := false, false
		err := attempt(ctx, n, func(d Delta) bool {
			if _, ok := d.(ToolReady); ok {
				committed = true
			}
			stopped = stopped || !yield(d, nil)
			return !stopped
		})
		if err == nil || stopped || errors.Is(err, ErrStopped) {
			return
		}
		delay, err := p.next(ctx, n, committed, err)
		if err == nil {
			err = p.wait(ctx, clock, n, delay, yield)
		}
		if err != nil {
			if !errors.Is(err, ErrStopped) {
				yield(nil, err)
			}
			return
		}
	}
}

// retryWait is a failure to retry after a delay.
type retryWait struct {
	delay time.Duration
	cause *Error
}

// next decides after attempt n failed: a wait, or the final error.
func (p RetryPolicy) next(ctx context.Context, n int, committed bool, err error) (retryWait, error) {
	if ctx.Err() != nil {
		return retryWait{}, stopErr(ctx, err)
	}
	e := AsError(err)
	if e == nil {
		return retryWait{}, err
	}
	switch {
	case e.renewed && !committed:
		return retryWait{0, e}, nil
	case committed || !e.Retryable || n > p.Max || e.once && n > 1:
		e.Attempts = n
		return retryWait{}, e
	case e.RetryAfter > p.MaxWait:
		e.Attempts = n
		e.Hint = fmt.Sprintf("the provider asks to wait %s; try again then, or use another model", round(e.RetryAfter))
		return retryWait{}, e
	case e.RetryAfter > 0:
		return retryWait{e.RetryAfter, e}, nil
	}
	return retryWait{p.Delay(n), e}, nil
}

func (p RetryPolicy) wait(ctx context.Context, clock Clock, n int, w retryWait, yield func(Delta, error) bool) error {
	if !yield(Retrying{Attempt: n, Max: max(n, p.Max), Delay: w.delay, Err: w.cause}, nil) {
		return ErrStopped
	}
	return sleep(ctx, clock, w.delay)
}

// stopErr returns the context's error, with the complete parts if err has them.
func stopErr(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) {
		return err
	}
	return ctx.Err()
}

func round(d time.Duration) time.Duration {
	if d < time.Minute {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}
