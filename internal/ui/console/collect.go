package console

import (
	"runtime/debug"
	"sync"
)

// openingGC is how much garbage, in percent of the live memory, may gather while a log is opened, instead of Go's 100.
// A long log makes much garbage once; what it takes from the system is kept for long after.
const openingGC = 50

// collecting counts who opens a log now: the setting is the process's.
var collecting struct {
	mu     sync.Mutex
	users  int
	before int
}

// collectOften has garbage collected more often until the returned function is called. A stricter setting of the user's
// (GOGC), and collection that is off, stay.
func collectOften() (done func()) {
	c := &collecting
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users++; c.users == 1 {
		if c.before = debug.SetGCPercent(openingGC); c.before < openingGC {
			debug.SetGCPercent(c.before)
		}
	}
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.users--; c.users == 0 {
			debug.SetGCPercent(c.before)
		}
	})
}
