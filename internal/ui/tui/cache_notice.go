package tui

import (
	"time"

	"github.com/lathe-dev/lathe/internal/event"
)

// awaitCache redraws when a large conversation's cache is about to expire, and when it has.
func (m *model) awaitCache(c event.CacheCost) {
	if c.Warns().IsZero() {
		return
	}
	for _, at := range []time.Time{c.Warns(), c.Expires} {
		if d := at.Sub(m.now()); d > 0 {
			m.later(d+time.Millisecond, tickMsg{})
		}
	}
}

// cacheNotice returns the line about the cache while the session is idle.
func (m *model) cacheNotice() string {
	if m.runs() {
		return ""
	}
	return m.state.Cache.Notice(m.now())
}
