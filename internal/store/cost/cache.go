package cost

import (
	"cmp"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Cache is the state of the provider's prompt cache for one conversation. The zero value is an empty cache.
type Cache struct {
	last     llm.Usage
	at       time.Time
	lifetime time.Duration
}

// Request records a request answered at a time.
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

// Expires returns when the provider drops the cache.
func (c Cache) Expires() time.Time { return c.at.Add(c.life()) }

// Next is the cost of the next request for the conversation so far, without its new input and reply.
type Next struct {
	Tokens   int           `json:"tokens"`      // of the conversation
	Left     time.Duration `json:"left_ns"`     // until the cache expires; negative: it has expired
	Lifetime time.Duration `json:"lifetime_ns"` // of the cache, from its last use
	ColdUSD  float64       `json:"cold_usd"`
	WarmUSD  float64       `json:"warm_usd"`
}

// Next returns the cost of a request sent at a time; ok is false before the first reply, and if the provider reported
// no cache.
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
	n.ColdUSD, n.WarmUSD = max(price.Cost(whole), price.Cost(llm.Usage{Input: n.Tokens})),
		price.Cost(llm.Usage{CacheRead: n.Tokens})
	return n, true
}

// Next returns the cost of the next request of the session; see [Cache.Next].
func (s Session) Next(now time.Time) (Next, bool) { return s.cache.Next(s.price, now) }
