package usage

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestAProcessTakesMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells")
	}
	if u := Of(os.Getpid()); u.Memory < 1<<20 {
		t.Errorf("this test takes %d bytes", u.Memory)
	}
	if u := Of(-1); u != (Use{}) {
		t.Errorf("no process takes %+v", u)
	}
}

func TestAProgramIsBusyUntilItPauses(t *testing.T) {
	var l Load
	at, cpu := time.Unix(1000, 0), time.Duration(0)
	for i, c := range []struct{ used, busy time.Duration }{
		{0, 0},
		{9 * time.Second, 10 * time.Second},
		{8 * time.Second, 20 * time.Second},
		{7 * time.Second, 0},
		{20 * time.Second, 10 * time.Second},
	} {
		cpu += c.used
		if got := l.Note(at, cpu); got != c.busy {
			t.Errorf("%d: busy for %v, want %v", i, got, c.busy)
		}
		at = at.Add(10 * time.Second)
	}
}
