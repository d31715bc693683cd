//go:build amd64 || arm64

package inside

import (
	"encoding/binary"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The values of argv[0] with which lathe starts itself: as the probe that tests its own boundary, as a stem, and as the
// command of a carrier, a program that may make namespaces where lathe may not.
const (
	ProbeName   = "lathe-sandbox-probe"
	StemName    = "lathe-sandbox-stem"
	CarriedName = "lathe-sandbox-carried"
)

// Lathe's own file, even if it was replaced or cannot be found by name inside.
const (
	Self        = "/proc/self/exe"  // a Path
	selfPath    = "/proc/self/fd/5" // of the first process
	CarriedPath = "/proc/self/fd/4" // of a carrier, which passes no argv[0] but this: its argument is CarriedName
)

// Messages to lathe are one of these letters and two numbers of four bytes.
const (
	MsgPid     = 'P' // the process of a stem, or the first one of a sandbox
	MsgSockets = 'N' // with descriptors: the listener of the proxy, then sockets of the inner network
	MsgFailed  = 'F' // errno; then the name of the failed step
	MsgStarted = 'S'
	MsgError   = 'E' // errno of the exec
	MsgEnded   = 'X' // wait status, then how many processes outlived the command
)

// Requests to a stem are one of these letters, with descriptors. The first one is the Request.
const (
	AskBase  = 'B' // then a socket for MsgStarted or MsgFailed
	AskStart = 'S' // then the command's standard files, and its end of the socket to lathe
	AskCover = 'C' // then a process of the sandbox, and a socket for MsgStarted or MsgFailed
)

const (
	control       = 3 // the inner end of the socket to lathe
	carriedPlan   = 5 // a Request
	carriedStderr = 6 // the command's, since the carrier has its own
)

func init() {
	switch {
	case len(os.Args) > 0 && os.Args[0] == ProbeName:
		probeChild()
	case len(os.Args) == 1 && os.Args[0] == StemName:
		stem()
	case len(os.Args) == 2 && os.Args[0] == CarriedPath && os.Args[1] == CarriedName:
		carried()
	}
}

// Reused are the namespaces that a command gets of those that are there, by number; 0: its own.
type Reused struct {
	Mounts byte // of the AskBase before, counted from 1
	Net    byte // any number, of a network that no other command has; the first one makes it
}

// Ask sends a request to a stem.
func Ask(stem int, letter byte, reused Reused, r *Request, fds ...int) error {
	file, err := r.File()
	if err != nil {
		return err
	}
	defer unix.Close(file)
	flags := uint32(unix.SIGCHLD)
	if letter == AskStart {
		flags = r.Plan.Flags()
	}
	text := binary.NativeEndian.AppendUint32([]byte{letter, reused.Mounts, reused.Net, 0}, flags)
	return unix.Sendmsg(stem, text, unix.UnixRights(append([]int{file}, fds...)...), nil, unix.MSG_NOSIGNAL)
}

// stem serves requests until lathe ends, and never returns. It is a copy of the process that lathe started, without the
// other threads of a Go program: so its own copies, which have one thread too, may run any code that starts no
// goroutine, collects no garbage and uses no sync.Pool (as fmt does), and cost little. A pool takes the lock of Go's
// scheduler, which another thread may have held when the copy was made.
func stem() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // copies of it are inside, and have seen environments of others
	block()
	if pid, _ := clone(unix.CLONE_PARENT); pid != 0 {
		unix.Exit(0) // or it failed, which lathe sees at the end of the socket
	}
	_, _ = unix.Setsid()
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	_, _, _ = filterFor(false, true), filterFor(true, true), ownPidMax() // for all copies
	lathe := &space{lathe: control}
	if lathe.send(MsgPid, unix.Getpid(), nil, nil) != nil {
		unix.Exit(0)
	}
	letter, rights := make([]byte, 8), make([]byte, unix.CmsgSpace(4*8))
	for {
		n, size, _, _, err := unix.Recvmsg(control, letter, rights, unix.MSG_CMSG_CLOEXEC)
		if err != nil || n < len(letter) {
			unix.Exit(0)
		}
		_, _ = unix.Wait4(-1, nil, unix.WNOHANG, nil) // one that covered paths
		all, err := unix.ParseSocketControlMessage(rights[:size])
		if err != nil || len(all) != 1 {
			continue
		}
		if fds, err := unix.ParseUnixRights(&all[0]); err == nil {
			(&space{fds: fds, lathe: fds[len(fds)-1]}).serve(letter[0], Reused{letter[1], letter[2]},
				binary.NativeEndian.Uint32(letter[4:]))
		}
	}
}

// block lets no signal reach this thread and its copies. It returns the signals that it did not reach before.
func block() (old unix.Sigset_t) {
	var all unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &all, &old)
	return old
}

// Blocked runs f, which starts a process that no signal reaches until it unblocks them.
func Blocked(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	old := block()
	defer func() { _ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil) }()
	return f()
}

//go:norace
//go:nosplit
//go:noinline
func clone(flags uintptr) (uintptr, syscall.Errno) {
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	return pid, errno
}

// space is a copy of the stem that carries out one request.
type space struct {
	request Request
	fds     []int
	lathe   int // the socket
}

// serve carries out a request, in a copy of the stem unless it is for the stem itself.
func (s *space) serve(letter byte, reused Reused, flags uint32) {
	defer func() {
		for _, fd := range s.fds {
			unix.Close(fd)
		}
	}()
	if letter == AskBase {
		defer s.failed()
		must("read the plan", s.request.read(s.fds[0]))
		s.base(&s.request.Plan)
		_ = s.send(MsgStarted, 0, nil, nil)
		return
	}
	if nets[reused.Net] > 0 {
		flags &^= unix.CLONE_NEWNET
	}
	pid, errno := clone(uintptr(flags))
	if errno == 0 && pid != 0 && flags&unix.CLONE_NEWNET != 0 && reused.Net > 0 {
		nets[reused.Net], _ = unix.Open("/proc/"+strconv.Itoa(int(pid))+"/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	switch {
	case errno != 0:
		_ = s.send(MsgFailed, int(errno), []byte("make namespaces"), nil)
	case pid == 0:
		s.copied(letter, reused)
		unix.Exit(99)
	case letter == AskStart && s.send(MsgPid, int(pid), nil, nil) != nil:
		_ = unix.Kill(int(pid), unix.SIGKILL)
	}
}

// copied is the copy.
func (s *space) copied(letter byte, reused Reused) {
	defer s.failed()
	must("read the plan", s.request.read(s.fds[0]))
	if letter == AskStart {
		s.start(reused)
	}
	must("enter the sandbox", unix.Setns(s.fds[1], unix.CLONE_NEWNS))
	s.guard(&s.request.Plan)
	_ = s.send(MsgStarted, 0, nil, nil)
}

// failure is a step that ends the process: no later one may run then.
type failure struct {
	step  string
	errno unix.Errno
}

// must ends the process with an error, unless it is expected, and reports whether there was none.
func must(step string, err error, expected ...unix.Errno) bool {
	if err == nil {
		return true
	}
	errno := unix.EINVAL
	if errors.As(err, &errno); !slices.Contains(expected, errno) {
		panic(failure{step, errno})
	}
	return false
}

// failed reports a failure.
func (s *space) failed() {
	switch f := recover().(type) {
	case nil:
	case failure:
		_ = s.send(MsgFailed, int(f.errno), []byte(f.step), nil)
	default:
		panic(f)
	}
}

func (s *space) send(kind byte, number int, text []byte, fds []int) error {
	head := binary.NativeEndian.AppendUint32([]byte{kind}, uint32(number))
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return unix.Sendmsg(s.lathe, append(append(head, 0, 0, 0, 0), text...), rights, nil, unix.MSG_NOSIGNAL)
}

// keep remembers a descriptor.
func (s *space) keep(step string, fd int, err error, expected ...unix.Errno) int {
	if !must(step, err, expected...) {
		return -1
	}
	s.fds = append(s.fds, fd)
	return fd
}

// Flags are those of clone(2) for the first process.
func (p *Plan) Flags() uint32 {
	flags := unix.CLONE_PARENT
	if p.Namespaces {
		flags |= unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
		if !p.HostNet {
			flags |= unix.CLONE_NEWNET
		}
	}
	return uint32(flags)
}

// start carries out a plan in the first process, and never returns.
func (s *space) start(reused Reused) {
	p := &s.request.Plan
	if reused.Mounts > 0 {
		must("enter the mounts", unix.Setns(bases[reused.Mounts-1], unix.CLONE_NEWNS))
		must("copy the mounts", unix.Unshare(unix.CLONE_NEWNS))
	}
	if p.Namespaces {
		s.mounts(p)
	}
	if fd := nets[reused.Net]; fd > 0 {
		must("enter the network", unix.Setns(fd, unix.CLONE_NEWNET))
	} else if p.Namespaces && !p.HostNet {
		s.loopback()
	}
	s.become([]int{s.fds[1], s.fds[2], s.fds[3], s.lathe})
}

// become makes the first process of this one.
func (s *space) become(files []int) {
	f := s.first(files)
	if sockets := s.sockets(&s.request.Plan); len(sockets) > 0 {
		must("pass the sockets of the inner network", s.send(MsgSockets, 0, nil, sockets))
	}
	f.live()
}

// first prepares the first process. Files are its standard ones, and its end of the socket to lathe.
func (s *space) first(files []int) *first {
	p, r := &s.request.Plan, &s.request
	must("enter the working folder", unix.Chdir(p.Dir))
	f := &first{direct: !p.Namespaces, leave: p.Leave}
	files = append(files, s.rules(p))
	path, flags := r.Path, [...]uintptr{control: unix.O_CLOEXEC, 4: unix.O_CLOEXEC, 5: unix.O_CLOEXEC}
	if path == Self {
		own, err := unix.Open(Self, unix.O_PATH|unix.O_CLOEXEC, 0)
		files, path = append(files, s.keep("open lathe's own file", own, err)), selfPath
	}
	for i, fd := range files { // by way of high numbers, because each may have the number of another
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 10)
		f.call("place a descriptor", unix.SYS_DUP3, uintptr(s.keep("take a descriptor", high, err)), uintptr(i), flags[i])
	}
	f.lock(p, uintptr(len(files)))
	f.command(r, path)
	return f
}

// secureBits are SECBIT_NOROOT and SECBIT_NO_CAP_AMBIENT_RAISE, locked, and SECBIT_KEEP_CAPS locked as unset.
const secureBits = 0b11100011

// lock gives up all rights that the command does not have, and closes descriptors from keep on.
func (f *first) lock(p *Plan, keep uintptr) {
	if !p.Carried {
		f.call("begin a session", unix.SYS_SETSID)
		if !p.Leave {
			f.call("end with lathe", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL))
		}
		f.call("close descriptors", unix.SYS_CLOSE_RANGE, keep, ^uintptr(0)>>32)
	} else { // the other threads of a Go program use theirs
		f.call("close descriptors", unix.SYS_CLOSE_RANGE, keep, ^uintptr(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
	}
	if p.Namespaces && !p.Carried {
		f.proc(p.Processes, keep)
	}
	f.call("set no_new_privs", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	f.call("set up Landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, 4, 0)
	// Programs of root gain no capabilities either. EPERM: so it is, without CAP_SETPCAP.
	f.try(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, secureBits)
	header := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	f.call("drop the capabilities", unix.SYS_CAPSET, f.address(unsafe.Pointer(header)),
		f.address(unsafe.Pointer(&[2]unix.CapUserData{})))
	filter := filterFor(p.Sockets, p.Namespaces)
	f.call("set up seccomp", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		f.address(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})))
}

// carried is the first process of a sandbox that a carrier made, and never returns.
func carried() {
	s := &space{lathe: control}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	// Go blocks these in no thread. They are for the command; handled, they do nothing here, and are as usual there.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)
	block()
	func() {
		defer s.failed()
		must("read the plan", s.request.read(carriedPlan))
		s.become([]int{0, 1, carriedStderr, control})
	}()
	unix.Exit(99)
}
