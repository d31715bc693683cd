//go:build amd64 || arm64

package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine/inside"
)

// Child is lathe's side of a confined command.
type Child struct {
	tier  Tier
	user  bool
	plan  *inside.Plan
	entry *inside.Entry // nil until Start
	ours  int           // our end of the socket
	file  *os.File      // the inner end, until the child has it
	local []int
	ended *message

	carrier   string   // the program that makes the namespaces; "": lathe
	complaint *os.File // the carrier's own errors
}

// startLimit is how long the sandbox may take to start the command, in seconds; it takes milliseconds.
const startLimit = 20

// Wrap prepares the sandbox of cmd. Path, Args, Dir, Env and the three standard files must be set; ExtraFiles and
// SysProcAttr must be empty. Then call Start instead of cmd.Start, Started, and Close in any case.
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
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("no socket for the sandbox: %w", err)
	}
	_ = unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: startLimit})
	return &Child{tier: s.Tier, user: s.User, plan: newPlan(p, s, dir), ours: fds[0], file: os.NewFile(uintptr(fds[1]),
		"sandbox control"), carrier: s.Carrier}, nil
}

// Start starts the command in its sandbox. It becomes cmd.Process, the leader of a new session, and is killed when the
// calling thread ends.
func (c *Child) Start(cmd *exec.Cmd) error {
	command := &inside.Command{Path: cmd.Path, Args: cmd.Args, Env: cmd.Environ()}
	var null *os.File
	for i, f := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		file, ok := f.(*os.File)
		if !ok {
			if null == nil {
				var err error
				if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
					return err
				}
				defer null.Close()
			}
			file = null
		}
		command.Files[i] = file.Fd()
	}
	if c.carrier != "" && c.tier == Full {
		return c.startCarried(cmd, command)
	}
	command.Files[3] = c.file.Fd()
	entry, err := inside.Enter(c.plan, command)
	if err != nil {
		return fmt.Errorf("the sandbox could not be set up: %w", err)
	}
	runtime.KeepAlive(cmd)
	c.entry = entry
	c.file.Close()
	if cmd.Process, err = os.FindProcess(entry.Pid); err != nil {
		return err
	}
	if c.user && c.tier == Full {
		if err := c.mapUsers(); err != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			return err
		}
	}
	return nil
}

// mapUsers gives the user namespace its identities, and lets the child go on.
func (c *Child) mapUsers() error {
	own := "/proc/" + strconv.Itoa(c.entry.Pid)
	err := errors.Join(
		os.WriteFile(own+"/setgroups", []byte("deny"), 0),
		os.WriteFile(own+"/uid_map", []byte(identity("/proc/self/uid_map", os.Getuid())), 0),
		os.WriteFile(own+"/gid_map", []byte(identity("/proc/self/gid_map", os.Getgid())), 0),
	)
	if err != nil {
		return fmt.Errorf("the sandbox could not be set up: user namespace: %w", err)
	}
	return unix.Send(c.ours, []byte{1}, unix.MSG_NOSIGNAL)
}

// identity maps ids to themselves: the process's own, or for root all ids of this namespace.
func identity(file string, own int) string {
	if os.Getuid() == 0 {
		var out strings.Builder
		b, _ := os.ReadFile(file)
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) == 3 {
				fmt.Fprintf(&out, "%s %s %s\n", f[0], f[0], f[2])
			}
		}
		if out.Len() > 0 {
			return out.String()
		}
	}
	return fmt.Sprintf("%d %d 1\n", own, own)
}

// Started waits until the command has been started. The listener is nil unless the policy has a proxy. An error
// wraps the errno of the failed step; then nothing runs.
func (c *Child) Started() (proxy net.Listener, err error) {
	defer runtime.KeepAlive(c.entry)
	started := false
	defer func() {
		if err == nil {
			c.entry.Began()
		}
		if err != nil && proxy != nil {
			proxy.Close()
			proxy = nil
		}
	}()
	for {
		m, fds, rerr := c.receive(0)
		switch {
		case rerr != nil && started && c.tier == Landlock && errors.Is(rerr, errEnd):
			return proxy, nil // the exec closed the socket
		case rerr != nil:
			if step, errno := c.entry.Failed(); step != "" {
				return proxy, &StepError{step, errno}
			}
			return proxy, c.complaintOf(rerr)
		case m.kind == inside.MsgFailed:
			return proxy, &StepError{m.text, syscall.Errno(m.number)}
		case m.kind == inside.MsgListener:
			if len(fds) != 1 {
				return nil, errors.New("the proxy of the sandbox cannot listen: no socket came")
			}
			if proxy, err = listener(fds[0]); err != nil {
				return nil, err
			}
		case m.kind == inside.MsgLocal:
			c.local = fds
		case m.kind == inside.MsgError:
			return proxy, &StepError{"exec", syscall.Errno(m.number)}
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

// Ended waits for the end of the command, which with Policy.Leave may come before that of the sandbox's first process,
// and reports whether that one stays. It returns at once in a tier without such a process.
func (c *Child) Ended() (stays bool) {
	for c.tier == Full {
		m, _, err := c.receive(0)
		if err == nil && m.kind == inside.MsgEnded {
			c.ended = &m
			return m.left > 0
		}
		if err != nil && !errors.Is(err, errSilent) {
			return false
		}
	}
	return false
}

// Local returns the sockets of the inner network, for a policy with Local. They are the caller's.
func (c *Child) Local() []int {
	fds := c.local
	c.local = nil
	return fds
}

// Status returns the command's wait status, which in the tier Full only its first process knows, and the number of
// processes left running. Call it after that has ended. It reports false if it was killed, or if its own status is the
// command's.
func (c *Child) Status() (status syscall.WaitStatus, left int, ok bool) {
	for c.tier == Full {
		if c.ended != nil {
			return syscall.WaitStatus(c.ended.number), c.ended.left, true
		}
		m, _, err := c.receive(unix.MSG_DONTWAIT)
		if err != nil {
			return 0, 0, false
		}
		if m.kind == inside.MsgEnded {
			c.ended = &m
		}
	}
	return 0, 0, false
}

// Close releases the sockets.
func (c *Child) Close() {
	c.file.Close()
	if c.complaint != nil {
		c.complaint.Close()
	}
	if c.ours >= 0 {
		unix.Close(c.ours)
		c.ours = -1
	}
	for _, fd := range c.Local() {
		unix.Close(fd)
	}
}

// message is one report of the child.
type message struct {
	kind         byte
	number, left int
	text         string // the rest
}

// StepError is a failed step of the sandbox; nothing was started.
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

var (
	errEnd    = errors.New("it ended")
	errSilent = fmt.Errorf("it did not answer within %d seconds", startLimit)
)

// receive reads one message, and the descriptors that may come with it.
func (c *Child) receive(flags int) (message, []int, error) {
	buf, oob := make([]byte, 256), make([]byte, unix.CmsgSpace(4*inside.Local))
	for {
		n, oobn, _, _, err := unix.Recvmsg(c.ours, buf, oob, flags|unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return message{}, nil, errSilent
		case err != nil:
			return message{}, nil, err
		case n == 0:
			return message{}, nil, errEnd
		}
		m := message{kind: buf[0]}
		if n >= 9 {
			m.number = int(int32(binary.NativeEndian.Uint32(buf[1:])))
			m.left, m.text = int(binary.NativeEndian.Uint32(buf[5:])), string(buf[9:n])
		}
		var fds []int
		if all, err := unix.ParseSocketControlMessage(oob[:oobn]); err == nil && len(all) == 1 {
			fds, _ = unix.ParseUnixRights(&all[0])
		}
		return m, fds, nil
	}
}
