//go:build !darwin && !windows && (!linux || (!amd64 && !arm64))

package confine

import (
	"errors"
	"net"
	"os/exec"
	"runtime"
	"syscall"
)

// Detect finds no tier: only Linux on amd64 and arm64 is supported.
func Detect() Support {
	return Support{Why: "lathe does not confine commands on " + runtime.GOOS + "/" + runtime.GOARCH + " yet"}
}

// Remembered is Detect.
func Remembered(string) Support { return Detect() }

// Child is lathe's side of a confined command.
type Child struct{}

// Wrap always fails, so that no command starts unconfined.
func Wrap(_ *exec.Cmd, _ *Policy, s Support) (*Child, error) {
	return nil, errors.New("the command cannot be confined: " + s.Why)
}

// Start is never called, because Wrap fails.
func (*Child) Start(*exec.Cmd, *Stems) error { return nil }

// Started is never called, because Wrap fails.
func (*Child) Started() (net.Listener, error) { return nil, nil }

// Status is never called, because Wrap fails.
func (*Child) Status() (status syscall.WaitStatus, left int, ok bool) { return status, 0, false }

// Close does nothing.
func (*Child) Close() {}

// Local returns nothing: the loopback is the machine's.
func (*Child) Local() []int { return nil }

// Top returns the process at the top of the command's tree, whose leader is the argument.
func (*Child) Top(leader int) int { return leader }

// Ended returns at once.
func (*Child) Ended() (stays bool) { return false }

// Cover is never called, because Wrap fails.
func (*Child) Cover(*exec.Cmd, []string, []string) error { return nil }
