//go:build amd64 || arm64

package inside

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The values of argv[0] with which lathe starts itself: as the helper that confines itself and starts a command, and as
// the probe that tests its own boundary.
const (
	HelperName = "lathe-confined"
	ProbeName  = "lathe-sandbox-probe"
)

// ProxyPort is the port of the proxy's listener, above the ephemeral ports.
const ProxyPort = 61017

const (
	control   = 3  // the helper's end of the socket to lathe
	brokenOut = 99 // exit code of a helper that confined nothing and started nothing
)

// Messages from the helper to lathe begin with one of these letters.
const (
	MsgListener = 'L' // with a descriptor: the listener of the proxy
	MsgStarted  = 'S'
	MsgError    = 'E' // errno, then the step that failed
	MsgEnded    = 'X' // wait status, then how many processes outlived the command
)

func init() {
	if len(os.Args) > 1 && os.Args[0] == HelperName {
		helper(os.Args[1], os.Args[2:])
	}
	if len(os.Args) > 0 && os.Args[0] == ProbeName {
		probeChild()
	}
}

// planBuffer is not on the heap: only the pages that the plan fills are ever touched.
var planBuffer [maxPlan]byte

// helper confines this process and starts the program. It never returns. It ends by unix.Exit: in a build with the race
// detector os.Exit waits a second for other goroutines, at each command.
func helper(program string, argv []string) {
	unix.CloseOnExec(control)
	_ = unix.CloseRange(control+1, ^uint(0)>>1, 0)
	n, err := unix.Read(control, planBuffer[:])
	if err != nil {
		unix.Exit(brokenOut)
	}
	p, ok := decodePlan(planBuffer[:n])
	if !ok {
		failed("the plan cannot be read", unix.EINVAL)
	}
	if p.Namespaces {
		p.enter()
	}
	p.lock()
	if p.Namespaces {
		asInit(program, argv)
	}
	report(MsgStarted, 0, "") // what can still fail is the exec; its error replaces this, see Wait
	err = unix.Exec(program, argv, RestoreEnv(os.Environ()))
	failed("exec", err)
}

// enter builds the world of the command.
func (p *Plan) enter() {
	p.mounts()
	if !p.HostNet {
		check("bring up the loopback interface", loopbackUp())
	}
	if p.Proxy {
		listen()
	}
	check("enter the working folder", unix.Chdir(p.Dir))
}

// lock gives up the privileges of this process and its descendants.
func (p *Plan) lock() {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		failed("set no_new_privs", err)
	}
	if err := p.landlock(); err != nil {
		failed("set up Landlock", err)
	}
	dropCapabilities()
	if err := seccomp(p.Sockets, p.Namespaces); err != nil {
		failed("set up seccomp", err)
	}
}

// asInit starts the program and stays as the namespace's init, which reaps orphans.
func asInit(program string, argv []string) {
	ignoreSignals()
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // nobody inside may read or write this process
		failed("protect the helper", err)
	}
	pid, err := syscall.ForkExec(program, argv, &syscall.ProcAttr{
		Env: RestoreEnv(os.Environ()), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		failed("exec", err)
	}
	report(MsgStarted, pid, "")
	for fd := range 3 { // so that the output ends with the processes that write it
		unix.Close(fd)
	}
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			unix.Exit(brokenOut)
		}
		if got == pid {
			left := 0
			if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD { // without a child there is no other process
				left = min(living(), 1000)
			}
			report(MsgEnded, int(ws), string(rune(left)))
			unix.Exit(0)
		}
	}
}

// living counts the other processes in the namespace.
func living() int {
	d, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	names, _ := d.Readdirnames(-1)
	n := 0
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' || name == "1" {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		for i := len(stat) - 1; i > 0; i-- {
			if stat[i] == ')' {
				if i+2 < len(stat) && stat[i+2] != 'Z' && stat[i+2] != 'X' {
					n++
				}
				break
			}
		}
	}
	return n
}

// ignoreSignals makes this process survive a SIGTERM to all, so that the command gets its grace period. Go restores the
// defaults in the child, because it counts the signals as handled.
func ignoreSignals() {
	action := [4]uintptr{1} // SIG_IGN; flags, restorer and mask are zero
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE} {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
	}
}

// loopbackUp makes 127.0.0.1 and ::1 work in the new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

// listen opens the proxy's address inside and passes the socket to lathe, which accepts on it from outside: this needs no
// socket file and no process in between.
func listen() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.Listen(fd, 128)
	}
	if err == nil {
		err = unix.Sendmsg(control, []byte{MsgListener}, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
	}
	if err != nil {
		failed("open the proxy's address", err)
	}
	unix.Close(fd)
}

// dropCapabilities clears all capability sets of this thread, from which the command is forked. The other threads are
// Go's; the command cannot reach them (not dumpable), and the same seccomp filter holds for them.
func dropCapabilities() {
	for c := uintptr(0); c < 64; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EINVAL {
			break // past the last
		} else if err == unix.EPERM {
			break // without CAP_SETPCAP; no_new_privs keeps them from being gained
		}
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		failed("drop the capabilities", err)
	}
}

// report sends one message. Lathe may be gone; then the kernel ends this process.
func report(kind byte, number int, text string) {
	b := []byte{kind, byte(number), byte(number >> 8), byte(number >> 16), byte(number >> 24)}
	_, _ = unix.Write(control, append(b, text...))
}

// failed reports the step that failed and ends the helper: nothing runs half confined.
func failed(step string, err error) {
	var errno unix.Errno
	_ = errors.As(err, &errno) // 0 when there is none
	report(MsgError, int(errno), step)
	unix.Exit(brokenOut)
}
