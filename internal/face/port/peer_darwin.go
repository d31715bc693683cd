package port

import (
	"net"

	"golang.org/x/sys/unix"
)

// peer is who is at the other end of a connection (LOCAL_PEERCRED and LOCAL_PEERPID, unix(4) of macOS).
func peer(conn net.Conn) (uid, pid int, err error) {
	err = control(conn, func(fd int) error {
		c, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			return err
		}
		uid = int(c.Uid)
		pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
		return err
	})
	return uid, pid, err
}

// parentOf returns the parent of a process. macOS has no subreapers: a process whose parent ended is a child of
// launchd, and is not recognised.
func parentOf(pid int) (int, error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, err
	}
	return int(p.Eproc.Ppid), nil
}
