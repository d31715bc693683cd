//go:build !unix

package suite

import "time"

// cpuTime is the processor time that this process has used, which is not measured here.
func cpuTime() time.Duration { return 0 }
