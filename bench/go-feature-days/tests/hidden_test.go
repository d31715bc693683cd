package task

import (
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	day := 24 * time.Hour
	for s, want := range map[string]time.Duration{"2d": 2 * day, "1w": 7 * day, "1w2d3h": 9*day + 3*time.Hour, "90m": 90 * time.Minute, "1d30s": day + 30*time.Second} {
		if got, err := Parse(s); err != nil || got != want {
			t.Errorf("%s: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "d", "3x", "1d2w"} {
		if got, err := Parse(s); err == nil {
			t.Errorf("%q: %v", s, got)
		}
	}
}
