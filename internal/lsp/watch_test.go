package lsp

import (
	"testing"
	"time"
)

func TestOnlyAServerThatNeverPausesIsBusy(t *testing.T) {
	var l load
	at, cpu := time.Now(), time.Duration(0)
	step := func(used time.Duration) time.Duration {
		at, cpu = at.Add(10*time.Second), cpu+used
		l.note(at, cpu)
		return l.busy
	}
	step(time.Hour) // the first measurement says nothing
	if l.busy != 0 {
		t.Errorf("busy %v at once", l.busy)
	}
	step(9 * time.Second)
	if got := step(30 * time.Second); got != 20*time.Second { // three processors count as one
		t.Errorf("busy for %v", got)
	}
	if got := step(5 * time.Second); got != 0 {
		t.Errorf("busy for %v after a pause", got)
	}
}
