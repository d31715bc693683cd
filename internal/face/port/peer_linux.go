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

// mostAncestors ends the search in a list that changes meanwhile.
const mostAncestors = 200

// DescendsFrom reports whether a process is one of some others, or was started by one (proc(5), stat). A process whose
// parent ended hangs below the session process, which is a subreaper.
func DescendsFrom(pid int, of func(pid int) bool) (bool, error) {
	for range mostAncestors {
		if of(pid) {
			return true, nil
		}
		if pid <= 1 {
			return false, nil
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false, err
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:])) // state, ppid, ...
		if len(fields) < 2 {
			return false, errors.New("the parent of a process cannot be read")
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false, err
		}
	}
	return false, errors.New("a process has too many ancestors")
}
