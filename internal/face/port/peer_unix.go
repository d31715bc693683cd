//go:build linux || darwin

package port

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// control calls f with the descriptor of a connection.
func control(conn net.Conn, f func(fd int) error) error {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("it is no Unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// ours reports whether a file is this user's.
func ours(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}

// mostAncestors ends the search in a list that changes meanwhile.
const mostAncestors = 200

// DescendsFrom reports whether a process is one of some others, or was started by one.
func DescendsFrom(pid int, of func(pid int) bool) (bool, error) {
	for range mostAncestors {
		if of(pid) {
			return true, nil
		}
		if pid <= 1 {
			return false, nil
		}
		var err error
		if pid, err = parentOf(pid); err != nil {
			return false, err
		}
	}
	return false, errors.New("a process has too many ancestors")
}
