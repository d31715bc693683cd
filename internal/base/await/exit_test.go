//go:build unix

package await

import (
	"os/exec"
	"syscall"
	"testing"
)

func TestExitWaitsForAProcessThatIsKilled(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid, waited := cmd.Process.Pid, make(chan error, 1)
	go func() { waited <- Exit(pid) }()
	select {
	case err := <-waited:
		t.Errorf("it runs, and Exit returned %v", err)
	default:
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if err := Exit(pid); err != nil {
		t.Errorf("a process that is gone: %v", err)
	}
}

func TestUntilCallsAgainUntilItHolds(t *testing.T) {
	calls := 0
	if !Until(func() bool { calls++; return calls == 3 }) || calls != 3 {
		t.Errorf("%d calls", calls)
	}
}
