//go:build amd64 || arm64

package inside

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ProbeName is the value of argv[0] with which lathe starts itself as the probe that tests its own boundary.
const ProbeName = "lathe-sandbox-probe"

// ProxyPort is the port of the proxy's listener, above the ephemeral ports.
const ProxyPort = 61017

// Messages to lathe begin with one of these letters. After those without descriptors two numbers of four bytes follow.
const (
	MsgListener = 'L' // with a descriptor: the listener of the proxy
	MsgLocal    = 'N' // with descriptors: sockets of the inner network
	MsgStarted  = 'S'
	MsgError    = 'E' // errno of the exec
	MsgEnded    = 'X' // wait status, then how many processes outlived the command
)

const (
	control = 3 // the inner end of the socket to lathe
	initFd  = 4
	selfFd  = 5  // lathe's own file, if that is the command
	freeFd  = 10 // the first number for descriptors on their way
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == ProbeName {
		probeChild()
	}
	if len(os.Args) == 2 && os.Args[0] == CarriedPath && os.Args[1] == CarriedName {
		carried()
	}
}

// Self is the Path of lathe's own file, even if it was replaced or cannot be found by name inside.
const Self = "/proc/self/exe"

// Command is the program to start. Files are its standard ones, and the inner end of the socket.
type Command struct {
	Path      string
	Args, Env []string
	Files     [4]uintptr
}

// run is a script on its way. The assembler knows the layout of the first four fields.
type run struct {
	ops    *op
	flags  uintptr
	failed uintptr // address of the op that ended the script
	errno  uintptr
	script script
}

// start makes the child that executes the script: it shares lathe's memory until it executes the init program.
func start(r *run) (pid uintptr)

// Entry is a child that enters its sandbox. Keep it until the child has reported or ended: its memory is the child's.
type Entry struct {
	Pid int
	run *run
}

// runs has the memory of scripts that were carried out, for the next ones.
var runs = sync.Pool{New: func() any {
	return &run{script: script{ops: make([]op, 0, callsSize), steps: make([]string, 0, callsSize)}}
}}

// Began lets go of the child's memory, when it has started the command and uses its own.
func (e *Entry) Began() {
	if e == nil {
		return
	}
	if r := e.run; r != nil {
		e.run = nil
		r.script.reset()
		*r = run{script: r.script}
		runs.Put(r)
	}
}

// Enter makes a child that carries out the plan and then starts the command, or ends with code 99. The calling
// goroutine is locked to a thread for as long as the child lives: it is ended with the thread.
func Enter(p *Plan, c *Command) (*Entry, error) {
	program, err := initFile()
	if err != nil {
		return nil, err
	}
	r := runs.Get().(*run)
	r.flags = unix.CLONE_VM | uintptr(unix.SIGCHLD)
	if err := r.script.write(p, c, program); err != nil {
		return nil, err
	}
	if p.Namespaces {
		r.flags |= unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
		if !p.HostNet {
			r.flags |= unix.CLONE_NEWNET
		}
		if p.User {
			r.flags |= unix.CLONE_NEWUSER
		}
	}
	r.ops = &r.script.ops[0]
	pid, err := r.fork()
	if err != nil {
		return nil, err
	}
	return &Entry{Pid: pid, run: r}, nil
}

// Blocked runs f on a thread that no signal reaches, nor a process that f makes until it unblocks them, as the init
// program does.
func Blocked(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	all, old := ^uint64(0), uint64(0)
	mask := func(set, old *uint64) {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(set)),
			uintptr(unsafe.Pointer(old)), 8, 0, 0)
	}
	mask(&all, &old)
	defer mask(&old, nil)
	f()
}

// fork blocks all signals around start, so that no handler of lathe's ever runs in the child.
func (r *run) fork() (int, error) {
	var pid uintptr
	Blocked(func() { pid = start(r) })
	if errno := -int(pid); errno > 0 && errno < 4096 {
		return 0, unix.Errno(errno)
	}
	return int(pid), nil
}

// Failed returns the step that ended the script, "" if none did. Ask when the child has ended.
func (e *Entry) Failed() (step string, errno unix.Errno) {
	if e == nil || e.run == nil {
		return "", 0
	}
	r := e.run
	failed := atomic.LoadUintptr(&r.failed)
	if failed == 0 {
		return "", 0
	}
	i := int((failed - uintptr(unsafe.Pointer(r.ops))) / opSize)
	return r.script.steps[i], unix.Errno(atomic.LoadUintptr(&r.errno))
}

// write makes the script of a child.
func (s *script) write(p *Plan, c *Command, program int) error {
	path, keep := c.Path, selfFd
	if path == Self {
		path, keep = "/proc/self/fd/"+strconv.Itoa(selfFd), selfFd+1
	}
	argv, err := s.strings(append([]string{"lathe-sandbox", kind(p), path}, c.Args...))
	if err != nil {
		return fmt.Errorf("an argument of the command: %w", err)
	}
	envp, err := s.strings(c.Env)
	if err != nil {
		return fmt.Errorf("a variable of the command's environment: %w", err)
	}
	s.descriptors(c, program)
	if path != c.Path {
		_, fd := s.result("open lathe's own file", unix.SYS_OPENAT, cwd, s.text(Self), num(unix.O_PATH))
		_, high := s.result("open lathe's own file", unix.SYS_FCNTL, at(fd), num(unix.F_DUPFD_CLOEXEC), num(freeFd))
		s.call("open lathe's own file", unix.SYS_DUP3, at(high), num(selfFd), num(0))
	}
	s.call("begin a session", unix.SYS_SETSID)
	if !p.Leave {
		s.call("end with lathe", unix.SYS_PRCTL, num(unix.PR_SET_PDEATHSIG), num(int(unix.SIGKILL)))
	}
	if p.User {
		s.call("wait for the user namespace", unix.SYS_READ, num(control), data(s, new([8]byte)), num(1))
	}
	if p.Namespaces {
		s.mounts(p)
		if !p.HostNet {
			s.loopback()
		}
		if p.Proxy && !p.HostNet {
			s.listen()
		}
		if p.Local && !p.HostNet {
			s.local()
		}
	}
	s.lock(p, keep, 0)
	s.call("start the first process", unix.SYS_EXECVEAT, num(initFd), s.text(""), argv, envp, num(unix.AT_EMPTY_PATH))
	return nil
}

// lock gives up all rights that the command does not have. Descriptors from keep on are closed, with flags of
// close_range(2).
func (s *script) lock(p *Plan, keep, flags int) {
	s.call("enter the working folder", unix.SYS_CHDIR, s.text(p.Dir))
	s.call("set no_new_privs", unix.SYS_PRCTL, num(unix.PR_SET_NO_NEW_PRIVS), num(1), num(0), num(0), num(0))
	s.landlock(p)
	s.dropCapabilities()
	s.call("close descriptors", unix.SYS_CLOSE_RANGE, num(keep), num(uint32(0xffffffff)), num(flags))
	s.seccomp(p.Sockets, p.Namespaces)
}

// kind is the first argument of the init program.
func kind(p *Plan) string {
	switch {
	case !p.Namespaces:
		return "d"
	case p.Leave:
		return "l"
	}
	return "i"
}

// strings makes an array of strings that ends with a nil.
func (s *script) strings(all []string) (arg, error) {
	out := make([]*byte, 0, len(all)+1)
	for _, t := range all {
		p, err := unix.BytePtrFromString(t)
		if err != nil {
			return arg{}, err
		}
		out = append(out, p)
	}
	out = append(out, nil)
	s.keep = append(s.keep, out)
	return arg{value: uintptr(unsafe.Pointer(&out[0]))}, nil
}

// descriptors gives the standard files, the socket and the init program their numbers. They go by way of higher ones,
// because each may have the number of another.
func (s *script) descriptors(c *Command, program int) {
	files := append(c.Files[:], uintptr(program))
	var on []*uintptr
	for _, fd := range files {
		_, w := s.result("take a descriptor", unix.SYS_FCNTL, num(fd), num(unix.F_DUPFD_CLOEXEC), num(freeFd))
		on = append(on, w)
	}
	for i, w := range on {
		flags := 0
		if i == initFd {
			flags = unix.O_CLOEXEC
		}
		s.call("place a descriptor", unix.SYS_DUP3, at(w), num(i), num(flags))
	}
}

// loopback makes 127.0.0.1 and ::1 work in the new network namespace.
func (s *script) loopback() {
	const name = "bring up the loopback interface"
	_, fd := s.result(name, unix.SYS_SOCKET, num(unix.AF_INET), num(unix.SOCK_DGRAM|unix.SOCK_CLOEXEC), num(0))
	request := &[40]byte{'l', 'o', 16: unix.IFF_UP | unix.IFF_RUNNING} // struct ifreq
	s.call(name, unix.SYS_IOCTL, at(fd), num(unix.SIOCSIFFLAGS), data(s, request))
}

// listen opens the proxy's address inside and passes the socket to lathe, which accepts on it from outside: this needs
// no socket file and no process in between.
func (s *script) listen() {
	const name = "open the proxy's address"
	r := s.rights(1)
	fd := &r.fds[0]
	s.ops[s.call(name, unix.SYS_SOCKET, num(unix.AF_INET), num(unix.SOCK_STREAM|unix.SOCK_CLOEXEC),
		num(0))].store = uintptr(unsafe.Pointer(fd))
	word := arg{uintptr(unsafe.Pointer(fd)), true}
	address := &unix.RawSockaddrInet4{
		Family: unix.AF_INET, Port: ProxyPort>>8 | ProxyPort&0xff<<8,
		Addr: [4]byte{127, 0, 0, 1},
	}
	s.call(name, unix.SYS_BIND, word, data(s, address), num(unix.SizeofSockaddrInet4))
	s.call(name, unix.SYS_LISTEN, word, num(128))
	s.pass(name, MsgListener, r, 1)
}

// Local is how many sockets of the inner network lathe gets: so many connections to servers inside are there at once.
const Local = 64

// local passes sockets of the inner network to lathe. One that connects reaches the loopback inside, wherever its
// process is.
func (s *script) local() {
	const name = "make sockets for connections from outside"
	r := s.rights(Local)
	for i := range Local {
		// A result has eight bytes: each but the last is followed by the next one's.
		s.ops[s.call(name, unix.SYS_SOCKET, num(unix.AF_INET), num(unix.SOCK_STREAM|unix.SOCK_CLOEXEC),
			num(0))].store = uintptr(unsafe.Pointer(&r.fds[i]))
	}
	s.pass(name, MsgLocal, r, Local)
}

// rights is a control message with descriptors.
type rights struct {
	unix.Cmsghdr
	fds [Local + 1]int32
}

func (s *script) rights(n int) *rights {
	r := &rights{Cmsghdr: unix.Cmsghdr{Level: unix.SOL_SOCKET, Type: unix.SCM_RIGHTS}}
	r.SetLen(unix.CmsgLen(4 * n))
	s.keep = append(s.keep, r)
	return r
}

// pass sends descriptors to lathe.
func (s *script) pass(step string, letter byte, r *rights, n int) {
	vector := &unix.Iovec{Base: &[]byte{letter}[0]}
	vector.SetLen(1)
	message := &unix.Msghdr{Iov: vector, Control: (*byte)(unsafe.Pointer(r))}
	message.SetIovlen(1)
	message.SetControllen(unix.CmsgSpace(4 * n))
	s.call(step, unix.SYS_SENDMSG, num(control), data(s, message), num(unix.MSG_NOSIGNAL))
}

// lastCapability is the number of the kernel's last capability.
var lastCapability = sync.OnceValue(func() int {
	b, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if n, aerr := strconv.Atoi(strings.TrimSpace(string(b))); errors.Join(err, aerr) == nil {
		return n
	}
	return 63
})

// dropCapabilities clears all capability sets.
func (s *script) dropCapabilities() {
	for c := 0; c <= lastCapability(); c++ {
		// EINVAL: past the last. EPERM: without CAP_SETPCAP; no_new_privs keeps them from being gained.
		i := s.call("drop the capabilities", unix.SYS_PRCTL, num(unix.PR_CAPBSET_DROP), num(c), num(0), num(0), num(0))
		s.onError(i, uintptr(unix.EINVAL))
		s.onError(i, uintptr(unix.EPERM))
	}
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	s.call("drop the capabilities", unix.SYS_CAPSET, data(s, header), data(s, &[2]unix.CapUserData{}))
}
