package process

import (
	"cmp"
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/base/usage"
)

// What a process may take of the machine, unless its declaration says otherwise.
const (
	mostMemory = 1024 // MB
	mostBusy   = 10   // minutes
	lookEvery  = 10 * time.Second
)

func orElse(value *int, usual int) int {
	if value == nil {
		return usual
	}
	return *value
}

// bound ends a run that takes too much memory or processor time.
func (p *Process) bound(l *live, pid int) {
	memory, minutes := orElse(p.spec.Memory, mostMemory), orElse(p.spec.CPU, mostBusy)
	if memory <= 0 && minutes <= 0 {
		return
	}
	tick := time.NewTicker(cmp.Or(p.set.o.Every, lookEvery))
	defer tick.Stop()
	var load usage.Load
	for {
		select {
		case <-l.Done():
			return
		case <-tick.C:
		}
		use := usage.Of(pid)
		busy := load.Note(time.Now(), use.CPU)
		switch used := int(use.Memory >> 20); {
		case memory > 0 && used > memory:
			l.end(fmt.Errorf("it took %d MB of memory; the limit is %d (maxMemoryMB)", used, memory))
			return
		case minutes > 0 && busy > time.Duration(minutes)*time.Minute:
			l.end(fmt.Errorf("it kept a processor busy for %d minutes without a pause (maxCPUMinutes)", minutes))
			return
		}
	}
}
