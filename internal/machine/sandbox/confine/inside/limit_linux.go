//go:build amd64 || arm64

package inside

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// proc mounts this namespace's /proc. It bounds the processes and threads, unless most is 0: by the namespace's own
// highest process id, which it has since Linux 6.14, and for a user other than root by RLIMIT_NPROC, which counts those
// of a user namespace alone since 5.14. The kernel does not hold root to the second one. next is the next descriptor.
func (f *first) proc(most int, next uintptr) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	kind, dir := f.text("proc"), f.text("/proc")
	f.call("mount /proc", unix.SYS_MOUNT, kind, dir, kind, flags)
	if most != 0 && ownPidMax() {
		text := strconv.Itoa(most)
		f.call("limit the processes", unix.SYS_OPENAT, 0, f.text("/proc/sys/kernel/pid_max"), unix.O_WRONLY)
		f.try(unix.SYS_WRITE, next, f.text(text), uintptr(len(text)))
		f.call("limit the processes", unix.SYS_CLOSE, next) // open, it would keep the mount writable
	}
	if most != 0 && unix.Getuid() != 0 {
		limit := &unix.Rlimit{Cur: uint64(most), Max: uint64(most)}
		f.try(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NPROC, f.address(unsafe.Pointer(limit))) // a lower limit of the user's stays
	}
	f.call("make /proc read-only", unix.SYS_MOUNT, 0, dir, 0, unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags)
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

// Capabilities are all that the kernel has.
func Capabilities() (all []uintptr) {
	last := 63
	if b, err := os.ReadFile("/proc/sys/kernel/cap_last_cap"); err == nil {
		last, _ = strconv.Atoi(strings.TrimSpace(string(b)))
	}
	for c := range last + 1 {
		all = append(all, uintptr(c))
	}
	return all
}
