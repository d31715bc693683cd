package inside

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	x32       = true // calls with bit 30 are those of another ABI
)

var archDenied = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_USELIB, unix.SYS_CREATE_MODULE, unix.SYS_USTAT,
	unix.SYS_SYSFS, unix.SYS_MODIFY_LDT,
}

// archSetuid has the calls of setuidFilter that newer machines lack.
func archSetuid(when func(uint32, func(*program)), bit func(uint32) func(*program),
	created func(flags, mode uint32) func(*program),
) {
	when(unix.SYS_CHMOD, bit(1))
	when(unix.SYS_MKNOD, bit(1))
	when(unix.SYS_CREAT, bit(1))
	when(unix.SYS_OPEN, created(1, 2))
}
