//go:build amd64 || arm64

package inside

import "golang.org/x/sys/unix"

// limitProcesses bounds the processes and threads of the namespace: by its own highest process id, which it has since Linux 6.14,
// and for a user other than root by RLIMIT_NPROC, which counts those of a user namespace alone since 5.14. The kernel does not
// hold root to the second one.
func (p *Plan) limitProcesses() {
	if p.Processes == 0 {
		return
	}
	if ownPidMax() {
		if fd, err := unix.Open("/proc/sys/kernel/pid_max", unix.O_WRONLY|unix.O_CLOEXEC, 0); err == nil {
			_, _ = unix.Write(fd, []byte(decimal(p.Processes)))
			unix.Close(fd)
		}
	}
	if unix.Getuid() != 0 {
		most := uint64(p.Processes)
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: most, Max: most}) // a lower limit of the user's stays
	}
}

// ownPidMax reports whether kernel.pid_max is the namespace's own. Before, it is the machine's, and must not be touched.
func ownPidMax() bool {
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
}
