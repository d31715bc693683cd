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

// mostAncestors ends the search in a list that changes meanwhile.
const mostAncestors = 200

// DescendsFrom reports whether a process is one of some others, or was started by one. macOS has no subreapers: a
// process whose parent ended is a child of launchd, and is not recognised.
func DescendsFrom(pid int, of func(pid int) bool) (bool, error) {
	for range mostAncestors {
		if of(pid) {
			return true, nil
		}
		if pid <= 1 {
			return false, nil
		}
		p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
		if err != nil {
			return false, err
		}
		pid = int(p.Eproc.Ppid)
	}
	return false, nil
}
