#!/bin/bash
set -e
cd /app
cat > task.go <<'END'
package task

import "time"

// Limiter is a token bucket.
type Limiter struct {
	rate, burst, tokens float64
	now                 func() time.Time
	last                time.Time
}

// NewLimiter makes a full bucket.
func NewLimiter(perSecond float64, burst int, now func() time.Time) *Limiter {
	return &Limiter{perSecond, float64(burst), float64(burst), now, now()}
}

// Allow takes a token.
func (l *Limiter) Allow() bool {
	t := l.now()
	l.tokens = min(l.burst, l.tokens+t.Sub(l.last).Seconds()*l.rate)
	l.last = t
	if l.tokens < 1 {
		return false
	}
	l.tokens--
	return true
}
END
