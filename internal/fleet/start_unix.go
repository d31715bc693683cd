//go:build unix

package fleet

import (
	"os/exec"
	"syscall"
)

// detach gives a program a session of its own, so that it outlives this one.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// pause stops a process until resume.
func pause(pid int) {
	if pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
	}
}

func resume(pid int) {
	if pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}
