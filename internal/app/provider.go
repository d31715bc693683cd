package app

import (
	"time"

	"github.com/lathe-dev/lathe/internal/provider"
)

// ErrNoKey is returned when no key is configured; it names the ways to get one.
var ErrNoKey = provider.ErrNoKey

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
