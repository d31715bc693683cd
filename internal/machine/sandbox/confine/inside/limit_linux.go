//go:build amd64 || arm64

package inside

import (
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// limitProcesses bounds the processes and threads of the namespace: by its own highest process id, which it has since
// Linux 6.14, and for a user other than root by RLIMIT_NPROC, which counts those of a user namespace alone since 5.14.
// The kernel does not hold root to the second one.
func (s *script) limitProcesses(most int) {
	if most == 0 {
		return
	}
	if ownPidMax() {
		text := strconv.Itoa(most)
		open, fd := s.result("", unix.SYS_OPENAT, cwd, s.text("/proc/sys/kernel/pid_max"), num(unix.O_WRONLY|unix.O_CLOEXEC))
		write := s.call("", unix.SYS_WRITE, at(fd), s.text(text), num(len(text)))
		s.onError(write, anyError)
		s.call("", unix.SYS_CLOSE, at(fd)) // open, it would keep the mount writable
		s.onError(open, anyError)
	}
	if unix.Getuid() != 0 {
		limit := &unix.Rlimit{Cur: uint64(most), Max: uint64(most)}
		i := s.call("", unix.SYS_PRLIMIT64, num(0), num(unix.RLIMIT_NPROC), data(s, limit), num(0))
		s.onError(i, anyError) // a lower limit of the user's stays
	}
}

// ownPidMax reports whether kernel.pid_max is the namespace's own. Before, it is the machine's, and must not be
// touched.
var ownPidMax = sync.OnceValue(func() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var version [2]int
	at := 0
	for _, c := range u.Release {
		if c == '.' && at == 0 {
			at = 1
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		version[at] = version[at]*10 + int(c-'0')
	}
	return version[0] > 6 || version[0] == 6 && version[1] >= 14
})
