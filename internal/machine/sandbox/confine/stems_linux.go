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
	cmd     *exec.Cmd
	control *os.File
}

// of returns the stem, which it starts if need be.
func (s *Stems) of(user bool) (*stem, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

func (s *Stems) grow(user bool) (*stem, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	one := &stem{cmd: exec.Command(inside.Self), control: os.NewFile(uintptr(fds[0]), "stem")}
	theirs := os.NewFile(uintptr(fds[1]), "stem")
	defer theirs.Close()
	one.cmd.Args, one.cmd.Dir, one.cmd.Env = []string{inside.StemName}, "/", []string{"GOMAXPROCS=1", "GOGC=10"} // so that a copy of it is cheap
	one.cmd.ExtraFiles = []*os.File{theirs}
	one.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	if user {
		one.cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
		one.cmd.SysProcAttr.UidMappings = identity("/proc/self/uid_map", os.Getuid())
		one.cmd.SysProcAttr.GidMappings = identity("/proc/self/gid_map", os.Getgid())
		one.cmd.SysProcAttr.AmbientCaps = inside.Capabilities() // which an ordinary user would lose with the exec
	}
	if err := s.Fork(one.cmd.Start); err != nil {
		one.control.Close()
		return nil, err
	}
	return one, nil
}

// ask sends a request. A stem that was killed is replaced.
func (s *Stems) ask(user bool, letter byte, r *inside.Request, fds ...int) (err error) {
	for range 2 {
		one, serr := s.of(user)
		if serr != nil {
			return serr
		}
		cerr := control(one.control, func(fd int) { err = inside.Ask(fd, letter, r, fds...) })
		if err = errors.Join(cerr, err); !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
			return err
		}
		s.drop(user)
	}
	return err
}

func control(f *os.File, use func(fd int)) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return c.Control(func(fd uintptr) { use(int(fd)) })
}

// drop ends a stem.
func (s *Stems) drop(user bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.all[user]; one != nil {
		delete(s.all, user)
		one.end()
	}
}

func (one *stem) end() {
	one.control.Close()
	_ = one.cmd.Process.Kill()
	_ = one.cmd.Wait()
}

// Close ends the stems. Their commands go on.
func (s *Stems) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		one.end()
	}
	s.all = nil
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
