// Package await is how tests wait for something outside of their process that no channel, pipe or child reports.
//
// Both functions end as soon as it happened, and give up after [Patience]. Where there is an event, a test waits for
// that instead: a channel, the end of a pipe, [os/exec.Cmd.Wait].
package await

import "time"

// Patience is how long a test waits for something that must happen: long, since the machine may be busy.
const Patience = 30 * time.Second

// Until calls ok until it returns true, and reports whether it did. It polls, so it is only for what the kernel or
// another program shows to those who look: the content of a screen, the coarse clock of a file system.
func Until(ok func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(Patience); !ok(); <-tick.C {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
