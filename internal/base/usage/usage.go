// Package usage measures what a long-lived program and its descendants take of the machine, for those who end programs
// that take too much.
//
// Promises: it asks the system only, starts nothing, and where the system does not tell (elsewhere than on Linux)
// everything is zero.
package usage

import "time"

// Use is the use of the machine by a process and its descendants.
type Use struct {
	Memory int64         // resident, in bytes
	CPU    time.Duration // since they started
}

// Load measures for how long a program keeps a processor busy. The zero value has measured nothing.
type Load struct {
	at   time.Time
	cpu  time.Duration
	busy time.Duration
}

// Note takes in a measurement, and returns for how long the program has been busy without a pause. From 80% of one
// processor on it is busy.
func (l *Load) Note(at time.Time, cpu time.Duration) time.Duration {
	elapsed, used := at.Sub(l.at), cpu-l.cpu
	if l.at.IsZero() || used*10 < elapsed*8 {
		l.busy = 0
	} else {
		l.busy += elapsed
	}
	l.at, l.cpu = at, cpu
	return l.busy
}
