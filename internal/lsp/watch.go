package lsp

import (
	"fmt"
	"time"
)

// watchEvery is how often the use of a running server is looked at, unless Options say otherwise.
const watchEvery = 10 * time.Second

// limitError ends a server that takes too much of the machine.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// usage is the use of the machine by a process and its descendants.
type usage struct {
	memory int64         // resident, in bytes
	cpu    time.Duration // since they started
}

// load measures for how long a server keeps a processor busy.
type load struct {
	at   time.Time
	cpu  time.Duration
	busy time.Duration // without a pause
}

// note takes in a measurement. From 80% of one processor on a server is busy.
func (l *load) note(at time.Time, cpu time.Duration) {
	elapsed, used := at.Sub(l.at), cpu-l.cpu
	if l.at.IsZero() || used*10 < elapsed*8 {
		l.busy = 0
	} else {
		l.busy += elapsed
	}
	l.at, l.cpu = at, cpu
}

// watch ends a server that nobody used for long, or that takes too much memory or processor time.
func (r *run) watch() {
	set := r.s.p.o.Settings()
	r.mu.Lock()
	idle := time.Since(r.used)
	r.mu.Unlock()
	if set.IdleMinutes > 0 && idle > time.Duration(set.IdleMinutes)*time.Minute {
		r.stop(nil)
		return
	}
	use := usageOf(r.proc.Pid())
	if used := int(use.memory >> 20); set.MaxMemoryMB > 0 && used > set.MaxMemoryMB {
		r.stop(&limitError{fmt.Sprintf("it took %d MB of memory; the limit is %d (setting lsp.maxMemoryMB)", used, set.MaxMemoryMB)})
		return
	}
	r.load.note(time.Now(), use.cpu)
	if limit := time.Duration(set.MaxCPUMinutes) * time.Minute; limit > 0 && r.load.busy > limit {
		r.stop(&limitError{fmt.Sprintf("it kept a processor busy for %d minutes without a pause (setting lsp.maxCPUMinutes)", set.MaxCPUMinutes)})
	}
}
