package port

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// peer is who is at the other end of a connection (SO_PEERCRED, unix(7)).
func peer(conn net.Conn) (uid, pid int, err error) {
	err = control(conn, func(fd int) error {
		c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil {
			uid, pid = int(c.Uid), int(c.Pid)
		}
		return err
	})
	return uid, pid, err
}

// parentOf returns the parent of a process (proc(5), stat). A process whose parent ended hangs below the session
// process, which is a subreaper.
func parentOf(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // state, ppid, ...
	if len(fields) < 2 {
		return 0, errors.New("the parent of a process cannot be read")
	}
	return strconv.Atoi(fields[1])
}
