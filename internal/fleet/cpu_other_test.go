//go:build !unix

package fleet

import (
	"testing"
	"time"
)

func cpuTime(*testing.T) time.Duration { return 0 }
