//go:build unix

package supervisor

import "syscall"

// detached starts a process that outlives its parent and the terminal.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
