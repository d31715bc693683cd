package task

import (
	"testing"
	"time"
)

func TestLimiter(t *testing.T) {
	now := time.Unix(0, 0)
	l := NewLimiter(2, 3, func() time.Time { return now })
	take := func() (n int) {
		for l.Allow() {
			n++
		}
		return n
	}
	if n := take(); n != 3 {
		t.Error(n)
	}
	now = now.Add(500 * time.Millisecond)
	if n := take(); n != 1 {
		t.Error(n)
	}
	now = now.Add(time.Hour)
	if n := take(); n != 3 {
		t.Error(n)
	}
}
