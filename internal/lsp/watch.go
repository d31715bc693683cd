package lsp

import (
	"fmt"
	"time"
)

// watchEvery is how often the memory and the use of a running server are looked at.
const watchEvery = 10 * time.Second

// limitError ends a server that takes too much of the machine.
type limitError struct{ mb, limit int }

func (e *limitError) Error() string {
	return fmt.Sprintf("it took %d MB of memory; the limit is %d (setting lsp.maxMemoryMB)", e.mb, e.limit)
}

// watch ends a server that nobody used for long, or that takes too much memory.
func (r *run) watch() {
	set := r.s.p.o.Settings()
	r.mu.Lock()
	idle := time.Since(r.used)
	r.mu.Unlock()
	if set.IdleMinutes > 0 && idle > time.Duration(set.IdleMinutes)*time.Minute {
		r.stop(nil)
		return
	}
	if used := int(memoryOf(r.proc.Pid()) >> 20); set.MaxMemoryMB > 0 && used > set.MaxMemoryMB {
		r.stop(&limitError{used, set.MaxMemoryMB})
	}
}
