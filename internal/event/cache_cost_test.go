package event_test

import (
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
)

func TestTheEndOfALargeCacheIsAnnounced(t *testing.T) {
	end := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	short := event.CacheCost{Expires: end, Lifetime: 5 * time.Minute, WarmUSD: 0.06, ColdUSD: 0.75}
	hour := event.CacheCost{Expires: end, Lifetime: time.Hour, WarmUSD: 0.06, ColdUSD: 1.2}
	small := event.CacheCost{Expires: end, Lifetime: 5 * time.Minute, WarmUSD: 0.01, ColdUSD: 0.1}
	for _, c := range []struct {
		cost   event.CacheCost
		before time.Duration
		want   string
	}{
		{short, 61 * time.Second, ""},
		{short, time.Minute, "cache expires within 1 min: then the next message costs about $0.75, not $0.06"},
		{short, 0, "the prompt cache has expired: the next message costs about $0.75, not $0.06"},
		{hour, 13 * time.Minute, ""},
		{hour, 11 * time.Minute, "cache expires within 12 min: then the next message costs about $1.20, not $0.06"},
		{hour, -24 * time.Hour, "the prompt cache has expired: the next message costs about $1.20, not $0.06"},
		{small, -time.Hour, ""},
		{event.CacheCost{}, 0, ""},
	} {
		if got := c.cost.Notice(end.Add(-c.before)); got != c.want {
			t.Errorf("%s before the end: %q, want %q", c.before, got, c.want)
		}
		if len(c.want) > 80 {
			t.Errorf("%q does not fit into a line", c.want)
		}
	}
}
