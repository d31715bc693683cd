//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine/inside"
)

// Stems are the processes from which confined commands start: lathe itself, started at the first command, in a user
// namespace if it needs one. They end with Close, and with lathe.
type Stems struct {
	// Fork runs a function that starts a process on a thread that ends after all commands: the kernel ends them with it.
	Fork func(start func() error) error

	mu  sync.Mutex
	all map[bool]*stem // by Support.User
}

type stem struct {
	process *os.Process
	socket  *Child          // our end is that to the stem
	bases   map[string]byte // the numbers of those that it made
	nets    byte            // how many networks it made
	free    []byte          // the numbers of those that no command has
}

// of returns the stem, which it starts if need be.
func (s *Stems) of(user bool) (*stem, error) {
	if one := s.all[user]; one != nil {
		return one, nil
	}
	one, err := s.grow(user)
	if err != nil {
		return nil, fmt.Errorf("the sandbox could not be set up: %w", err)
	}
	if s.all == nil {
		s.all = map[bool]*stem{}
	}
	s.all[user] = one
	return one, nil
}

// stemEnv keeps other threads away: the stem is the copy of one thread, so no other may hold a lock of the runtime when
// it is made, and none collects its garbage.
var stemEnv = []string{"GOGC=off", "GOMAXPROCS=1"}

func (s *Stems) grow(user bool) (*stem, error) {
	one := &stem{socket: &Child{ours: -1}, bases: map[string]byte{}}
	if err := one.socket.openFor(stemLimit); err != nil {
		return nil, err
	}
	cmd := exec.Command(inside.Self)
	cmd.Args, cmd.Dir, cmd.Env = []string{inside.StemName}, "/", stemEnv
	cmd.ExtraFiles = []*os.File{one.socket.file}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if user {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
		cmd.SysProcAttr.UidMappings = identity("/proc/self/uid_map", os.Getuid())
		cmd.SysProcAttr.GidMappings = identity("/proc/self/gid_map", os.Getgid())
		cmd.SysProcAttr.AmbientCaps = inside.Capabilities() // which an ordinary user would lose with the exec
	}
	err := s.Fork(cmd.Start)
	one.socket.file.Close()
	if err == nil {
		var m message
		if m, _, err = one.socket.receive(0); err != nil {
			_ = cmd.Process.Kill()
		}
		_ = cmd.Wait() // the stem is its copy
		if err == nil {
			one.process, err = os.FindProcess(m.number)
		}
	}
	if err != nil {
		one.socket.Close()
		return nil, err
	}
	return one, nil
}

// stemLimit is how long a stem may be silent, in seconds. Then the next one takes its place.
const stemLimit = 4

// ask sends a request. A stem that was killed, or is silent, is replaced.
func (s *Stems) ask(user bool, letter byte, r *inside.Request, fds ...int) (used *innerNet, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 3 {
		one, serr := s.of(user)
		if err = serr; errors.Is(serr, errSilent) {
			continue
		}
		if serr != nil {
			return nil, serr
		}
		reused := inside.Reused{}
		if letter == inside.AskStart {
			reused.Net = one.net(&r.Plan)
			reused.Mounts, err = one.base(r)
		}
		if err == nil {
			err = inside.Ask(one.socket.ours, letter, reused, r, fds...)
		}
		if !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, errEnd) &&
			!errors.Is(err, errSilent) {
			return &innerNet{s, one, reused.Net}, err
		}
		s.end(user)
	}
	return nil, err
}

// innerNet is a network that a command has.
type innerNet struct {
	stems  *Stems
	stem   *stem
	number byte
}

// net returns the number of a network for a command; 0: its own. Sockets of Local would reach servers of the next one.
func (one *stem) net(p *inside.Plan) byte {
	if !p.Namespaces || p.HostNet || p.Local {
		return 0
	}
	if n := len(one.free); n > 0 {
		number := one.free[n-1]
		one.free = one.free[:n-1]
		return number
	}
	if one.nets == 255 {
		return 0
	}
	one.nets++
	return one.nets
}

// release gives a network back: all processes in it have ended.
func (n *innerNet) release() {
	if n == nil || n.number == 0 {
		return
	}
	n.stems.mu.Lock()
	defer n.stems.mu.Unlock()
	n.stem.free = append(n.stem.free, n.number)
}

// base returns the number of the namespace that a plan shares with others, which is made for the first one; 0: none.
func (one *stem) base(r *inside.Request) (byte, error) {
	shared := r.Plan.Shared()
	key := fmt.Sprint(shared)
	if n := one.bases[key]; n > 0 || len(shared) == 0 || !r.Plan.Namespaces {
		return n, nil
	}
	answer := &Child{ours: -1}
	defer answer.Close()
	if err := answer.openFor(stemLimit); err != nil {
		return 0, err
	}
	if err := inside.Ask(one.socket.ours, inside.AskBase, inside.Reused{}, r, int(answer.file.Fd())); err != nil {
		return 0, err
	}
	if err := answer.answered(); err != nil {
		return 0, err
	}
	one.bases[key] = byte(len(one.bases) + 1)
	return one.bases[key], nil
}

// answered waits for the answer to a request.
func (c *Child) answered() error {
	c.file.Close()
	m, _, err := c.receive(0)
	return errors.Join(err, c.failed(m))
}

// drop ends a stem.
func (s *Stems) drop(user bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(user)
}

func (s *Stems) end(user bool) {
	one := s.all[user]
	if one == nil {
		return
	}
	delete(s.all, user)
	one.socket.Close()
	_ = one.process.Kill()
	_, _ = one.process.Wait()
}

// Close ends the stems. Their commands go on.
func (s *Stems) Close() {
	s.drop(false)
	s.drop(true)
}

// identity maps ids to themselves: the process's own, or for root all ids of this namespace.
func identity(file string, own int) (out []syscall.SysProcIDMap) {
	if os.Getuid() == 0 {
		b, _ := os.ReadFile(file)
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); len(f) == 3 {
				id, _ := strconv.Atoi(f[0])
				size, _ := strconv.Atoi(f[2])
				out = append(out, syscall.SysProcIDMap{ContainerID: id, HostID: id, Size: size})
			}
		}
	}
	if len(out) == 0 {
		out = []syscall.SysProcIDMap{{ContainerID: own, HostID: own, Size: 1}}
	}
	return out
}
