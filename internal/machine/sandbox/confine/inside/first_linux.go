//go:build amd64 || arm64

package inside

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// first is the last part of the first process of a sandbox: it gives up its rights, starts the command, reaps orphans,
// and reports to lathe. It neither allocates memory nor grows its stack.
type first struct {
	calls   []call
	at      int   // the present one
	execute int   // the one that executes the command
	errno   int32 // of that
	direct  bool  // it becomes the command
	leave   bool  // it stays while any process is left
	status  int32
	message [2]iovec
	head    [9]byte
	keep    []any // the memory of the addresses
}

// call is a system call. An error ends the process with the name of the step, unless the call may fail.
type call struct {
	step string
	may  bool
	nr   uintptr
	args [5]uintptr
}

// iovec is struct iovec, without a pointer that the garbage collector would want to know of.
type iovec struct{ base, length uintptr }

func (f *first) call(step string, nr uintptr, args ...uintptr) {
	c := call{step: step, nr: nr}
	copy(c.args[:], args)
	f.calls = append(f.calls, c)
}

func (f *first) try(nr uintptr, args ...uintptr) {
	f.call("", nr, args...)
	f.calls[len(f.calls)-1].may = true
}

// text is the address of a string that ends with a zero.
func (f *first) text(t string) uintptr {
	p, err := unix.BytePtrFromString(t)
	must("read "+t, err)
	return f.address(unsafe.Pointer(p))
}

func (f *first) address(p unsafe.Pointer) uintptr {
	f.keep = append(f.keep, p)
	return uintptr(p)
}

// texts is the address of an array of strings.
func (f *first) texts(what string, all []string) uintptr {
	out, err := syscall.SlicePtrFromStrings(all)
	must(what, err)
	return f.address(unsafe.Pointer(&out[0]))
}

// live never returns. The command's process shares its memory and stack until it executes the command, while this one
// waits. So all system calls are made at one place, and no function is called between them: what the two have on the
// stack is the same then. From f.execute on, only the clone of this process itself returns without an error.
//
//go:norace
//go:nosplit
func (f *first) live() {
	var result uintptr
	for f.at < len(f.calls) {
		c := &f.calls[f.at]
		r, _, errno := syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], 0)
		if f.at >= f.execute {
			if errno == 0 {
				result = r
				break
			}
			f.errno = int32(errno)
		} else if errno != 0 && !c.may {
			f.message[1] = iovec{uintptr(unsafe.Pointer(unsafe.StringData(c.step))), uintptr(len(c.step))}
			f.send(MsgFailed, int32(errno), 0)
			exit(99)
		}
		f.at++
	}
	if f.errno != 0 { // in the process itself, if it becomes the command
		f.send(MsgError, f.errno, 0)
		exit(99)
	}
	if !f.send(MsgStarted, int32(result), 0) && !f.leave {
		exit(99) // lathe was killed before the kernel knew that this process ends with it
	}
	for fd := range uintptr(control) { // so that the output ends with the processes that write it
		_, _, _ = syscall.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
	}
	f.reap(result)
}

// command adds the calls that start the command.
func (f *first) command(r *Request, path string) {
	if f.direct {
		f.call("report", unix.SYS_WRITE, control, f.text(string(MsgStarted)+"........"), 9)
	} else {
		f.call("make a process", unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_VFORK|uintptr(unix.SIGCHLD))
		f.try(unix.SYS_SETSID)
	}
	f.try(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, f.address(unsafe.Pointer(new(uint64))), 0, 8) // none is blocked
	f.execute = len(f.calls)
	f.call("", unix.SYS_EXECVE, f.text(path), f.texts("read the arguments", r.Args), f.texts("read the environment", r.Env))
	if !f.direct {
		f.call("", unix.SYS_EXIT_GROUP, 99)
	}
}

// reap waits for the command, ends what it left, and reports both.
//
//go:norace
//go:nosplit
func (f *first) reap(command uintptr) {
	for got := uintptr(0); got != command; {
		var errno syscall.Errno
		if got, errno = f.wait(0); errno != 0 {
			exit(99)
		}
	}
	status, left := f.status, int32(0)
	errno := syscall.Errno(0)
	for got := uintptr(1); errno == 0 && got != 0; {
		got, errno = f.wait(unix.WNOHANG)
	}
	switch {
	case errno != 0: // ECHILD
		f.send(MsgEnded, status, 0)
	case f.leave:
		f.send(MsgEnded, status, 1)
		for errno == 0 {
			_, errno = f.wait(0)
		}
	default:
		_, _, _ = syscall.RawSyscall6(unix.SYS_KILL, ^uintptr(0), uintptr(unix.SIGKILL), 0, 0, 0, 0)
		for _, errno = f.wait(0); errno == 0; _, errno = f.wait(0) {
			left++
		}
		f.send(MsgEnded, status, left)
	}
	exit(0)
}

// wait waits for any child.
//
//go:norace
//go:nosplit
func (f *first) wait(flags uintptr) (pid uintptr, errno syscall.Errno) {
	for {
		pid, _, errno = syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&f.status)), flags, 0, 0, 0)
		if errno != unix.EINTR {
			return pid, errno
		}
	}
}

// send reports to lathe: a letter, two numbers, and what is in the second part.
//
//go:norace
//go:nosplit
func (f *first) send(kind byte, a, b int32) bool {
	f.head[0] = kind
	*(*[4]byte)(f.head[1:]) = *(*[4]byte)(unsafe.Pointer(&a))
	*(*[4]byte)(f.head[5:]) = *(*[4]byte)(unsafe.Pointer(&b))
	f.message[0] = iovec{uintptr(unsafe.Pointer(&f.head)), uintptr(len(f.head))}
	_, _, errno := syscall.RawSyscall6(unix.SYS_WRITEV, control, uintptr(unsafe.Pointer(&f.message)), 2, 0, 0, 0)
	return errno == 0
}

//go:norace
//go:nosplit
func exit(code uintptr) {
	for {
		_, _, _ = syscall.RawSyscall6(unix.SYS_EXIT_GROUP, code, 0, 0, 0, 0, 0)
	}
}
