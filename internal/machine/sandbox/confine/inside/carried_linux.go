//go:build amd64 || arm64

package inside

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The first process of a sandbox that a carrier made, a program that may make namespaces where lathe may not, is lathe
// itself: as the carrier's command, with CarriedName as its argument. It does the rest of the script, and becomes the
// init program.

// CarriedPath and CarriedName are the command of a carrier. Its file is at descriptor 5, after those of every script.
const (
	CarriedPath = "/proc/self/fd/5"
	CarriedName = "lathe-sandbox-carried"
)

// Descriptors of the carrier's command, after its own file.
const (
	carriedPlan   = 6 // a Carried as JSON
	carriedStderr = 7 // the command's, since the carrier has its own
)

// MsgFailed is a message of an errno and the name of the failed step.
const MsgFailed = 'F'

// Carried is a command for a carrier, with the part of its plan that is left to do. Paths and arguments are bytes of
// any kind.
type Carried struct {
	ABI                          int
	Proxy, Local, Sockets, Leave bool
	Path, Dir, Private           []byte
	Args, Env, Write, Overlay    [][]byte
}

// Carry returns the text for the carrier's command.
func Carry(p *Plan, c *Command) ([]byte, error) {
	out := Carried{
		ABI: p.ABI, Proxy: p.Proxy, Local: p.Local, Sockets: p.Sockets, Leave: p.Leave,
		Path: []byte(c.Path), Dir: []byte(p.Dir), Private: []byte(p.Private), Args: toBytes(c.Args), Env: toBytes(c.Env),
		Write: toBytes(p.Write),
	}
	for _, o := range p.Overlay {
		out.Overlay = append(out.Overlay, []byte(o.Dir))
	}
	return json.Marshal(out)
}

func (c *Carried) plan() *Plan {
	p := &Plan{
		Namespaces: true, ABI: c.ABI, Proxy: c.Proxy, Local: c.Local, Sockets: c.Sockets, Leave: c.Leave,
		Dir: string(c.Dir), Private: string(c.Private), Write: toStrings(c.Write),
	}
	for _, dir := range c.Overlay {
		p.Overlay = append(p.Overlay, Overlay{Dir: string(dir)})
	}
	return p
}

func toBytes(in []string) (out [][]byte) {
	for _, s := range in {
		out = append(out, []byte(s))
	}
	return out
}

func toStrings(in [][]byte) (out []string) {
	for _, b := range in {
		out = append(out, string(b))
	}
	return out
}

// InitFile is the descriptor of the init program, for a carrier's command.
func InitFile() (int, error) { return initFile() }

// carried carries out the script after the mounts, in this thread, and never returns.
func carried() {
	step, err := carry()
	errno := unix.EINVAL
	_ = errors.As(err, &errno)
	message := append([]byte{MsgFailed, byte(errno), byte(errno >> 8), 0, 0, 0, 0, 0, 0}, step...)
	_ = unix.Send(control, message, unix.MSG_NOSIGNAL) // lathe reports the lack of an answer, too
	unix.Exit(99)
}

func carry() (step string, err error) {
	f := os.NewFile(carriedPlan, "plan")
	defer f.Close()
	var c Carried
	if err := json.NewDecoder(f).Decode(&c); err != nil {
		return "read the plan", err
	}
	if err := unix.Dup3(carriedStderr, 2, 0); err != nil {
		return "place a descriptor", err
	}
	s := &script{}
	if err := s.rest(&c); err != nil {
		return "read the plan", err
	}
	return s.run()
}

// rest makes the script of a process whose mounts and namespaces are there.
func (s *script) rest(c *Carried) error {
	p, path, keep := c.plan(), string(c.Path), selfFd
	if path == Self {
		path, keep = "/proc/self/fd/"+strconv.Itoa(selfFd), selfFd+1
	}
	argv, err := s.strings(append([]string{"lathe-sandbox", kind(p), path}, toStrings(c.Args)...))
	if err != nil {
		return err
	}
	envp, err := s.strings(toStrings(c.Env))
	if err != nil {
		return err
	}
	s.call("place a descriptor", unix.SYS_FCNTL, num(initFd), num(unix.F_SETFD), num(unix.FD_CLOEXEC))
	if p.Proxy {
		s.listen()
	}
	if p.Local {
		s.local()
	}
	s.lock(p, keep, unix.CLOSE_RANGE_CLOEXEC) // by the exec: Go's other threads use theirs until then
	s.call("start the first process", unix.SYS_EXECVEAT, num(initFd), s.text(""), argv, envp, num(unix.AT_EMPTY_PATH))
	return nil
}

// run carries out the script in this thread. It returns the step that failed.
func (s *script) run() (step string, err error) {
	for i := 0; i < len(s.ops); {
		o := &s.ops[i]
		a := o.args
		for j := range a {
			if o.deref&(1<<j) != 0 {
				a[j] = **(**uintptr)(unsafe.Pointer(&a[j]))
			}
		}
		result, _, errno := unix.RawSyscall6(o.nr, a[0], a[1], a[2], a[3], a[4], a[5])
		to := o.next
		switch {
		case errno == 0:
			if o.store != 0 {
				**(**uintptr)(unsafe.Pointer(&o.store)) = result
			}
		case uintptr(errno) == o.on[0].errno || o.on[0].errno == anyError:
			to = o.on[0].to
		case uintptr(errno) == o.on[1].errno:
			to = o.on[1].to
		default:
			return s.steps[i], errno
		}
		i += int(to / opSize)
	}
	return "start the first process", unix.EINVAL
}
