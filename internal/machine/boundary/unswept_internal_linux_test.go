package boundary

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestALockThatAChildOfAKilledSessionStillHoldsIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(dir, ".envrc")
	if err := os.WriteFile(planted, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(record{Names: map[string]string{planted: ""}, Session: ended.Process.Pid})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "work-1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(append([]byte("R"), b...)); err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "0.1")
	child.ExtraFiles = []*os.File{f}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	f.Close() // the child has the lock alone
	lines := sweepUnswept(dir, "work", filepath.Join(dir, "aside"))
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(planted); err == nil || len(lines) != 1 {
		t.Errorf("%q, %v", lines, err)
	}
}
