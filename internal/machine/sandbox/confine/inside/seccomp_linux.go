//go:build amd64 || arm64

package inside

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// denied are system calls that no command needs and that reach past the boundary, or have been used to escape one:
// mounts and namespaces, other processes' memory, kernel programs and modules, keys, clocks, the machine. They fail
// with EPERM. io_uring, whose operations a filter cannot see, fails with ENOSYS, so that programs fall back to ordinary
// calls.
var denied = [...]uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_CHROOT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
	unix.SYS_VHANGUP,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
	unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
}

var unknown = [...]uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_CLONE3}

const (
	namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		// CLONE_NEWTIME is a signal number in clone's flags, and needs a capability
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

	retAllow = unix.SECCOMP_RET_ALLOW
	retEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retNoSys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	retNoFam = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)

	// Offsets in struct seccomp_data. Both machines that this is built for are little-endian.
	dataNr, dataArch, dataArg0 = 0, 4, 16
)

// program is a BPF filter under construction.
type program []unix.SockFilter

func (f *program) add(code uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: code, Jt: jt, Jf: jf, K: k})
}

func (f *program) load(offset uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }

func (f *program) ret(k uint32) { f.add(unix.BPF_RET|unix.BPF_K, k, 0, 0) }

// equal returns k when the accumulator is v.
func (f *program) equal(v, k uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, v, 0, 1)
	f.ret(k)
}

// bits returns k when the accumulator has one of the bits.
func (f *program) bits(v, k uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, v, 0, 1)
	f.ret(k)
}

// when runs body, which must not fall through, for one system call.
func (f *program) when(nr uint32, body func(*program)) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, nr, 0, 0)
	at := len(*f)
	body(f)
	(*f)[at-1].Jf = uint8(len(*f) - at)
}

func (f *program) arg(n uint32) { f.load(dataArg0 + 8*n) }

// filter builds the program. sockets allows Unix sockets; network allows Internet ones, which the network namespace
// confines. Tracing (a debugger) is allowed in a PID namespace only.
func filter(sockets, namespaces bool) program {
	f := make(program, 0, 192)
	f.load(dataArch)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, auditArch, 1, 0)
	f.ret(unix.SECCOMP_RET_KILL_PROCESS) // call numbers differ between architectures
	f.load(dataNr)
	if x32 {
		f.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, 0x40000000, 0, 1)
		f.ret(retNoSys)
	}
	f.when(unix.SYS_SOCKET, func(f *program) { socketFilter(f, sockets, namespaces) })
	f.when(unix.SYS_SOCKETPAIR, func(f *program) { f.arg(0); f.equal(unix.AF_UNIX, retAllow); f.ret(retNoFam) })
	f.when(unix.SYS_IOCTL, func(f *program) {
		f.arg(1) // the kernel uses the lower half only
		f.equal(unix.TIOCSTI, retEPERM)
		f.equal(unix.TIOCLINUX, retEPERM)
		f.ret(retAllow)
	})
	for _, nr := range [...]uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		f.when(nr, func(f *program) { f.arg(0); f.bits(namespaceFlags, retEPERM); f.ret(retAllow) })
	}
	setuidFilter(f.when)
	for _, nr := range unknown {
		f.equal(nr, retNoSys)
	}
	for _, nr := range denied {
		f.equal(nr, retEPERM)
	}
	for _, nr := range archDenied {
		f.equal(nr, retEPERM)
	}
	if !namespaces {
		f.equal(unix.SYS_PTRACE, retEPERM)
	}
	f.ret(retAllow)
	return f
}

// filters are the programs that were made, by their two conditions.
var filters [2][2]atomic.Pointer[program]

// filterFor returns filter's program, which nobody changes.
func filterFor(sockets, namespaces bool) program {
	i, j := 0, 0
	if sockets {
		i = 1
	}
	if namespaces {
		j = 1
	}
	if f := filters[i][j].Load(); f != nil {
		return *f
	}
	f := filter(sockets, namespaces)
	filters[i][j].Store(&f)
	return f
}

// setuidFilter refuses to make a file run with its owner's rights: it has no effect inside, but outside it would.
// openat2, whose mode a filter cannot see, fails as if unknown.
func setuidFilter(when func(uint32, func(*program))) {
	bit := func(arg uint32) func(*program) {
		return func(f *program) { f.arg(arg); f.bits(unix.S_ISUID, retEPERM); f.ret(retAllow) }
	}
	created := func(flags, mode uint32) func(*program) { // only then the mode counts
		return func(f *program) {
			f.arg(flags)
			f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 1, 0)
			f.ret(retAllow)
			bit(mode)(f)
		}
	}
	when(unix.SYS_FCHMOD, bit(1))
	when(unix.SYS_FCHMODAT, bit(2))
	when(unix.SYS_FCHMODAT2, bit(2))
	when(unix.SYS_MKNODAT, bit(2))
	when(unix.SYS_OPENAT, created(2, 3))
	when(unix.SYS_OPENAT2, func(f *program) { f.ret(retNoSys) })
	archSetuid(when, bit, created)
}

// socketFilter decides on socket(2) by family, with the accumulator free.
func socketFilter(f *program, sockets, namespaces bool) {
	f.arg(0)
	if sockets {
		f.equal(unix.AF_UNIX, retAllow)
	} else {
		f.equal(unix.AF_UNIX, retEPERM)
	}
	if namespaces {
		f.equal(unix.AF_INET, retAllow)
		f.equal(unix.AF_INET6, retAllow)
	} else {
		f.equal(unix.AF_INET, retEPERM)
		f.equal(unix.AF_INET6, retEPERM)
	}
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_NETLINK, 1, 0)
	f.ret(retNoFam)
	f.arg(2) // listing the interfaces is harmless; no other protocol is needed
	f.equal(unix.NETLINK_ROUTE, retAllow)
	f.ret(retNoFam)
}
