//go:build amd64 || arm64

package confine

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine/inside"
)

// TestAPathThatIsGoneWhenTheCommandStartsIsPassedOver: git removes files such as .git/worktrees/X/commondir beside a
// command that starts.
func TestAPathThatIsGoneWhenTheCommandStartsIsPassedOver(t *testing.T) {
	s := Detect()
	if s.Tier != Full {
		t.Skipf("this machine has no tier full: %s", s.Why)
	}
	dir, err := os.MkdirTemp("/var/tmp", "lathe-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	gone := []string{
		filepath.Join(dir, "protected", "file"), filepath.Join(dir, "masked", "file"),
		filepath.Join(dir, "written"), filepath.Join(dir, "shown"),
	}
	for _, path := range gone {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("/bin/true")
	cmd.Dir = dir
	c, err := Wrap(cmd, &Policy{
		Mode: Workspace, Write: []string{dir, gone[2]}, Protect: gone[:1], Mask: gone[1:2],
		Show: gone[3:],
	}, s)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, path := range []string{filepath.Dir(gone[0]), filepath.Dir(gone[1]), gone[2], gone[3]} {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	stems := &Stems{Fork: func(start func() error) error { return start() }}
	defer stems.Close()
	if err := c.Start(cmd, stems); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Started(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAStemThatEndsAfterTheCommandStartedIsAnError(t *testing.T) {
	c := &Child{ours: -1}
	if err := c.openFor(stemLimit); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.file.Write([]byte(string(inside.MsgStarted) + "........")); err != nil {
		t.Fatal(err)
	}
	c.file.Close()
	if process, err := c.process(&Stems{}); err == nil || process != nil {
		t.Errorf("got %v, %v", process, err)
	}
}
