//go:build amd64 || arm64

package inside

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Cover mounts the covers of protected and masked paths again in the sandbox of a running process: the kernel drops a
// mount when its path is replaced from outside. The plan has those paths, and user is that of the command's.
func Cover(pidfd uintptr, user bool, p *Plan) error {
	r := &run{flags: unix.CLONE_VM | uintptr(unix.SIGCHLD)}
	s := &r.script
	namespaces := unix.CLONE_NEWNS
	if user {
		namespaces |= unix.CLONE_NEWUSER
	}
	s.call("enter the sandbox", unix.SYS_SETNS, num(pidfd), num(namespaces))
	s.guard(p)
	_, done := s.result("end", unix.SYS_GETPID)
	s.call("end", unix.SYS_EXIT_GROUP, num(0))
	r.ops = &s.ops[0]
	pid, err := r.fork()
	if err != nil {
		return err
	}
	for {
		if _, err := unix.Wait4(pid, nil, unix.WALL, nil); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	defer runtime.KeepAlive(r)
	if step, errno := (&Entry{run: r}).Failed(); step != "" {
		return fmt.Errorf("%s: %w", step, errno)
	}
	if *done == ^uintptr(0) {
		return errors.New("the child that covers paths again was ended")
	}
	return nil
}
