package suite

import (
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// fastClock is the system clock, except that waits of one length end immediately.
type fastClock struct {
	over time.Duration

	mu   sync.Mutex
	seen int
}

func (c *fastClock) Now() time.Time { return time.Now() }

func (c *fastClock) AfterFunc(d time.Duration, f func()) llm.Timer {
	if d == c.over {
		c.mu.Lock()
		c.seen++
		c.mu.Unlock()
		d = 0
	}
	return time.AfterFunc(d, f)
}

func (c *fastClock) waited() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen
}
