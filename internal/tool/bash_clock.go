package tool

import (
	"context"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/netproxy"
)

// commandClock is the timeout of a command. It stands while a person is asked about a host that the command waits for.
type commandClock struct {
	mu      sync.Mutex
	timer   *time.Timer // nil: the command has no timeout
	left    time.Duration
	since   time.Time // when the timer was started; while it stands, nothing
	pauses  int
	stopped bool
}

// newClock calls ended after the time, unless it is stopped.
func newClock(limit time.Duration, ended func()) *commandClock {
	return &commandClock{timer: time.AfterFunc(limit, ended), left: limit, since: time.Now()}
}

// stop ends the clock. It reports false if the time was over.
func (c *commandClock) stop() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.stopped
	c.stopped = true
	return c.timer.Stop() || (c.pauses > 0 && !was)
}

// pause stands the clock until the returned function is called. Pauses may overlap.
func (c *commandClock) pause() (resume func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses == 0 {
		if !c.timer.Stop() { // over or stopped: nothing is resumed
			return func() {}
		}
		c.left -= time.Since(c.since)
	}
	c.pauses++
	return sync.OnceFunc(c.resume)
}

func (c *commandClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses--; c.pauses == 0 && !c.stopped {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// patient makes a command's clock stand while n asks.
func (c *commandClock) patient(n boundary.Network) boundary.Network {
	ask := n.Ask
	if ask == nil || c == nil {
		return n
	}
	n.Ask = func(ctx context.Context, r netproxy.Request) netproxy.Verdict {
		defer c.pause()()
		return ask(ctx, r)
	}
	return n
}
