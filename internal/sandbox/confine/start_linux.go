//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/sandbox/confine/inside"
)

// Child is lathe's side of a confined command.
type Child struct {
	tier Tier
	ours int      // our end of the socket
	file *os.File // the helper's end, until it has started
}

// startLimit is how long the helper may take to start the command, in seconds; it takes milliseconds.
const startLimit = 20

// Wrap makes cmd start under the policy, through the helper. Path, Args, Dir, Env and the three standard files must be set;
// ExtraFiles must be empty. Call Started after cmd.Start, and Close in any case.
func Wrap(cmd *exec.Cmd, p *Policy, s Support) (*Child, error) {
	if s.Tier == None {
		return nil, fmt.Errorf("the command cannot be confined: %s", s.Why)
	}
	dir := cmd.Dir
	if dir == "" {
		var err error
		if dir, err = os.Getwd(); err != nil {
			return nil, fmt.Errorf("the working folder is not known: %w", err)
		}
	}
	body, err := newPlan(p, s, dir).Encode()
	if err != nil {
		return nil, err
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("no socket for the sandbox's helper: %w", err)
	}
	_ = unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: startLimit})
	c := &Child{tier: s.Tier, ours: fds[0], file: os.NewFile(uintptr(fds[1]), "sandbox control")}
	if err := unix.Send(c.ours, body, unix.MSG_NOSIGNAL); err != nil { // it waits there for the helper
		c.Close()
		return nil, fmt.Errorf("the sandbox's helper got no plan: %w", err)
	}
	cmd.Args = append([]string{inside.HelperName, cmd.Path}, cmd.Args...)
	cmd.Path = "/proc/self/exe" // this program, even if its file was replaced
	cmd.Env = inside.HelperEnv(cmd.Environ())
	cmd.ExtraFiles = []*os.File{c.file}
	if s.Tier == Full {
		namespaces(cmd, s.User, !p.HostNetwork)
	}
	return c, nil
}

// namespaces adds the new namespaces to a command's attributes.
func namespaces(cmd *exec.Cmd, user, network bool) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	a := cmd.SysProcAttr
	a.Cloneflags |= unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	if network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if !user {
		return
	}
	a.Cloneflags |= unix.CLONE_NEWUSER
	a.UidMappings, a.GidMappings = identity("/proc/self/uid_map", os.Getuid()), identity("/proc/self/gid_map", os.Getgid())
	a.GidMappingsEnableSetgroups = false
	if os.Getuid() != 0 { // root keeps its capabilities over the exec of the helper by itself
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER} // the last two for overlays
	}
}

// identity maps ids to themselves: the process's own, or for root all ids of this namespace.
func identity(file string, own int) []syscall.SysProcIDMap {
	if os.Getuid() == 0 {
		var out []syscall.SysProcIDMap
		b, _ := os.ReadFile(file)
		for line := range strings.Lines(string(b)) {
			f := strings.Fields(line)
			if len(f) != 3 {
				continue
			}
			first, _ := strconv.Atoi(f[0])
			size, _ := strconv.Atoi(f[2])
			out = append(out, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: size})
		}
		if len(out) > 0 {
			return out
		}
	}
	return []syscall.SysProcIDMap{{ContainerID: own, HostID: own, Size: 1}}
}

// Started waits until the helper has started the command. The listener is nil unless the policy has a proxy. An error
// wraps the errno of the failed step; then nothing runs.
func (c *Child) Started() (proxy net.Listener, err error) {
	c.file.Close()
	started := false
	defer func() {
		if err != nil && proxy != nil {
			proxy.Close()
			proxy = nil
		}
	}()
	for {
		m, fd, rerr := c.receive(0)
		switch {
		case rerr != nil && started && c.tier == Landlock && errors.Is(rerr, errEnd):
			return proxy, nil // the exec closed the socket
		case rerr != nil:
			return proxy, fmt.Errorf("the sandbox's helper did not start the command: %w", rerr)
		case m.kind == inside.MsgListener:
			if proxy, err = listener(fd); err != nil {
				return nil, err
			}
		case m.kind == inside.MsgError:
			return proxy, m.err()
		case m.kind == inside.MsgStarted && c.tier == Full:
			return proxy, nil
		case m.kind == inside.MsgStarted:
			started = true
		}
	}
}

func listener(fd int) (net.Listener, error) {
	f := os.NewFile(uintptr(fd), "proxy")
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("the proxy of the sandbox cannot listen: %w", err)
	}
	return l, nil
}

// Status returns the command's wait status, which in the tier Full only the helper knows, and the number of processes left
// running. Call it after the helper has ended. It reports false if the helper was killed, or if its own status is the command's.
func (c *Child) Status() (status syscall.WaitStatus, left int, ok bool) {
	for c.tier == Full {
		m, _, err := c.receive(unix.MSG_DONTWAIT)
		if err != nil {
			return 0, 0, false
		}
		if m.kind == inside.MsgEnded {
			for _, r := range m.text {
				left = int(r)
			}
			return syscall.WaitStatus(m.number), left, true
		}
	}
	return 0, 0, false
}

// Close releases the sockets.
func (c *Child) Close() {
	c.file.Close()
	if c.ours >= 0 {
		unix.Close(c.ours)
		c.ours = -1
	}
}

// message is one report of the helper.
type message struct {
	kind   byte
	number int
	text   string
}

// StepError is a failed step of the helper; nothing was started.
type StepError struct {
	Step  string // "exec", "mount /proc"
	Errno syscall.Errno
}

func (e *StepError) Error() string {
	if e.Step == "exec" {
		return e.Errno.Error()
	}
	return "the sandbox could not be set up: " + e.Step + ": " + e.Errno.Error()
}

// Unwrap makes errors.Is find the errno.
func (e *StepError) Unwrap() error { return e.Errno }

func (m message) err() error { return &StepError{m.text, syscall.Errno(m.number)} }

var errEnd = errors.New("it ended")

// receive reads one message, and the descriptor that may come with it.
func (c *Child) receive(flags int) (message, int, error) {
	buf, oob := make([]byte, 512), make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(c.ours, buf, oob, flags|unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return message{}, -1, fmt.Errorf("it did not answer within %d seconds", startLimit)
		case err != nil:
			return message{}, -1, err
		case n == 0:
			return message{}, -1, errEnd
		}
		m := message{kind: buf[0]}
		if n >= 5 {
			m.number = int(int32(uint32(buf[1]) | uint32(buf[2])<<8 | uint32(buf[3])<<16 | uint32(buf[4])<<24))
			m.text = string(buf[5:n])
		}
		fd := -1
		if all, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(all) == 1 {
			if fds, err := unix.ParseUnixRights(&all[0]); err == nil && len(fds) == 1 {
				fd = fds[0]
			}
		}
		return m, fd, nil
	}
}
