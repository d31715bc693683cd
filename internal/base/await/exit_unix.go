//go:build unix && !linux

package await

import (
	"errors"
	"fmt"
	"syscall"
)

// Exit waits until a process, which need not be a child, is gone. It polls: there is no pidfd here.
func Exit(pid int) error {
	if !Until(func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }) {
		return fmt.Errorf("process %d still runs", pid)
	}
	return nil
}
