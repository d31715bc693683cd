//go:build unix

package suite

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used: unlike the time on the clock, it hardly depends on what
// else runs.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
