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
