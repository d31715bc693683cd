package tui

import (
	"time"

	"github.com/lathe-dev/lathe/internal/event"
)

// awaitCache draws again when the end of a large conversation's cache is near, and when it has come.
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

// cacheNotice is the line about the cache, while nothing runs that would use it.
func (m *model) cacheNotice() string {
	if m.runs() {
		return ""
	}
	return m.state.Cache.Notice(m.now())
}
