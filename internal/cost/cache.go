package cost

import (
	"cmp"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Cache is what the requests of a conversation left in the provider's cache. The zero value is none.
type Cache struct {
	last     llm.Usage
	at       time.Time
	lifetime time.Duration
}

// Request notes a request that was answered at a time.
func (c *Cache) Request(u llm.Usage, at time.Time) {
	c.last, c.at = u, at
	if u.CacheWrite > 0 {
		c.lifetime = shortLifetime
	}
	if u.CacheWrite1h > 0 {
		c.lifetime = longLifetime
	}
}

func (c Cache) life() time.Duration { return cmp.Or(c.lifetime, shortLifetime) }

// Expires is when the provider drops it.
func (c Cache) Expires() time.Time { return c.at.Add(c.life()) }

// Next is what the next request of a session costs for the conversation so far.
type Next struct {
	Tokens   int           `json:"tokens"`      // of the conversation
	Left     time.Duration `json:"left_ns"`     // until the cache expires; negative: it has
	Lifetime time.Duration `json:"lifetime_ns"` // of what is in the cache, since it was last used
	ColdUSD  float64       `json:"cold_usd"`
	WarmUSD  float64       `json:"warm_usd"`
}

// Next returns the cost of the next request at a time; ok is false before the first reply, and where the provider
// has reported no cache.
func (c Cache) Next(price llm.Price, now time.Time) (n Next, ok bool) {
	u := c.last
	if u.CacheRead+u.CacheWrite == 0 {
		return Next{}, false
	}
	n = Next{Tokens: u.Prompt() + u.Output, Lifetime: c.life(), Left: c.Expires().Sub(now)}
	whole := llm.Usage{Input: n.Tokens}
	if u.CacheWrite > 0 {
		whole = llm.Usage{CacheWrite: n.Tokens}
		if n.Lifetime == longLifetime {
			whole.CacheWrite1h = n.Tokens
		}
	}
	n.ColdUSD, n.WarmUSD = max(price.Cost(whole), price.Cost(llm.Usage{Input: n.Tokens})), price.Cost(llm.Usage{CacheRead: n.Tokens})
	return n, true
}

// Next returns the cost of the next request of the session; see [Cache.Next].
func (s Session) Next(now time.Time) (Next, bool) { return s.cache.Next(s.price, now) }
