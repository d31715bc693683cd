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
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine/inside"
)

// Child is lathe's side of a confined command.
type Child struct {
	tier  Tier
	user  bool
	plan  *inside.Plan
	stems *Stems
	net   *innerNet
	first *os.Process // of the sandbox
	ours  int         // our end of the socket
	file  *os.File    // the inner end, until the child has it
	proxy net.Listener
	local []int
	ended *message
	early []message // that came before MsgPid

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
	c := &Child{tier: s.Tier, user: s.User && s.Tier == Full, plan: newPlan(p, s, dir), carrier: s.Carrier}
	return c, c.open()
}

// open makes the socket.
func (c *Child) open() error { return c.openFor(startLimit) }

// openFor is open with a limit for an answer, in seconds.
func (c *Child) openFor(limit int64) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("no socket for the sandbox: %w", err)
	}
	_ = unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: limit})
	c.ours, c.file = fds[0], os.NewFile(uintptr(fds[1]), "sandbox control")
	return nil
}

// Start starts the command in its sandbox. It becomes cmd.Process, the leader of a new session, and is killed when the
// thread of Stems.Fork ends.
func (c *Child) Start(cmd *exec.Cmd, stems *Stems) error {
	request := &inside.Request{Plan: *c.plan, Path: cmd.Path, Args: cmd.Args, Env: cmd.Environ()}
	if c.carrier != "" && c.tier == Full {
		return stems.Fork(func() error { return c.startCarried(cmd, request) })
	}
	var fds []int
	var null *os.File
	for _, f := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr, c.file} {
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
		fds = append(fds, int(file.Fd()))
	}
	c.stems = stems
	var err error
	if c.net, err = stems.ask(c.user, inside.AskStart, request, fds...); err != nil {
		return err
	}
	runtime.KeepAlive(cmd)
	c.file.Close()
	cmd.Process, err = c.process(stems)
	c.first = cmd.Process
	return err
}

// process waits for the process that the stem made.
func (c *Child) process(stems *Stems) (*os.Process, error) {
	for {
		m, fds, err := c.receive(0)
		switch {
		case err != nil:
			if errors.Is(err, errSilent) {
				stems.drop(c.user) // so that it starts nothing later
			}
			for _, m := range c.early {
				if failed := c.failed(m); failed != nil {
					return nil, failed
				}
			}
			return nil, c.complaintOf(err)
		case m.kind == inside.MsgPid:
			return os.FindProcess(m.number)
		case m.kind == inside.MsgSockets:
			if err := c.took(fds); err != nil {
				return nil, err
			}
		}
		c.early = append(c.early, m) // the new process may be quicker than the stem
	}
}

// failed is the error that a message reports.
func (c *Child) failed(m message) error {
	switch m.kind {
	case inside.MsgFailed:
		return &StepError{m.text, syscall.Errno(m.number)}
	case inside.MsgError:
		return &StepError{"exec", syscall.Errno(m.number)}
	}
	return nil
}

// took takes the sockets of the inner network.
func (c *Child) took(fds []int) (err error) {
	if c.plan.Proxy && len(fds) > 0 {
		c.proxy, err = listener(fds[0])
		fds = fds[1:]
	}
	c.local = fds
	return err
}

// Started waits until the command has been started. The listener is nil unless the policy has a proxy. An error
// wraps the errno of the failed step; then nothing runs.
func (c *Child) Started() (proxy net.Listener, err error) {
	started := false
	for {
		m, fds, err := c.next(0)
		if err == nil {
			err = c.failed(m)
		}
		if err == nil && m.kind == inside.MsgSockets && fds != nil {
			err = c.took(fds)
		}
		switch {
		case err == nil && m.kind == inside.MsgStarted && c.tier == Full,
			started && c.tier == Landlock && errors.Is(err, errEnd): // the exec closed the socket
			proxy, c.proxy = c.proxy, nil
			return proxy, nil
		case err != nil:
			return nil, c.complaintOf(err)
		}
		started = started || m.kind == inside.MsgStarted
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
		m, _, err := c.next(0)
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
		m, _, err := c.next(unix.MSG_DONTWAIT)
		if err != nil {
			return 0, 0, false
		}
		if m.kind == inside.MsgEnded {
			c.ended = &m
		}
	}
	return 0, 0, false
}

// Close releases the sockets, and the network for another command. The listener must be closed before.
func (c *Child) Close() {
	c.file.Close()
	if c.complaint != nil {
		c.complaint.Close()
	}
	if c.proxy != nil {
		c.proxy.Close()
	}
	if c.first != nil && errors.Is(c.first.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		c.net.release()
		c.net = nil
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
	errSilent = errors.New("it did not answer in time")
)

// next is receive with the messages that came early.
func (c *Child) next(flags int) (m message, fds []int, err error) {
	if len(c.early) > 0 {
		m, c.early = c.early[0], c.early[1:]
		return m, nil, nil
	}
	return c.receive(flags)
}

// receive reads one message, and the descriptors that may come with it.
func (c *Child) receive(flags int) (message, []int, error) {
	buf, oob := make([]byte, 256), make([]byte, unix.CmsgSpace(4*inside.MostSockets))
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
