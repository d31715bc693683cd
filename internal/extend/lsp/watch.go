package lsp

import (
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/base/usage"
)

// watchEvery is how often the use of a running server is looked at, unless Options say otherwise.
const watchEvery = 10 * time.Second

// limitError ends a server that takes too much of the machine.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// watch ends a server that no one used for long, or that takes too much memory or processor time.
func (r *run) watch() {
	set := r.s.p.o.Settings()
	r.mu.Lock()
	idle := time.Since(r.used)
	r.mu.Unlock()
	if set.IdleMinutes > 0 && idle > time.Duration(set.IdleMinutes)*time.Minute {
		r.stop(nil)
		return
	}
	use := usage.Of(r.proc.Pid())
	if used := int(use.Memory >> 20); set.MaxMemoryMB > 0 && used > set.MaxMemoryMB {
		r.stop(&limitError{fmt.Sprintf("it took %d MB of memory; the limit is %d (setting lsp.maxMemoryMB)", used,
			set.MaxMemoryMB)})
		return
	}
	busy := r.load.Note(time.Now(), use.CPU)
	if limit := time.Duration(set.MaxCPUMinutes) * time.Minute; limit > 0 && busy > limit {
		r.stop(&limitError{fmt.Sprintf("it kept a processor busy for %d minutes without a pause (setting lsp.maxCPUMinutes)",
			set.MaxCPUMinutes)})
	}
}
