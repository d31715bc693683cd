//go:build !unix

package llmtest

import "time"

// CPU is the processor time that this process has used, which is not measured here.
func CPU() time.Duration { return 0 }
