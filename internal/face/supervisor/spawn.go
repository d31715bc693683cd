package supervisor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/lathe-dev/lathe/internal/face/port"
)

func (p Place) supervisorLog() string {
	return filepath.Join(filepath.Dir(p.Jobs), "logs", "supervisor.log")
}

// Spawn starts a supervisor that outlives this process, by way of one that ends at once: a program that ends what it
// started, with all below, as clients of editors do, finds no supervisor there. It keeps nothing of the caller's
// terminal.
func (p Place) Spawn() error {
	if err := os.MkdirAll(filepath.Dir(p.supervisorLog()), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(p.supervisorLog(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, err := daemon(log, "--apart")
	if err != nil {
		return err
	}
	return cmd.Run()
}

// SpawnApart is what Spawn runs in between: it starts the supervisor.
func SpawnApart(log *os.File) error {
	cmd, err := daemon(log)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	return cmd.Process.Release()
}

func daemon(log *os.File, flags ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, append([]string{"daemon", "run"}, flags...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = "/", log, log, detached()
	return cmd, nil
}

// command is the process of a job, which writes what goes wrong to the job's log. The log is to be closed after the
// start.
func (p Place) command(j Job, environ []string) (*exec.Cmd, io.Closer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(p.Folder(j.ID), 0o700); err != nil {
		return nil, nil, err
	}
	log, err := os.OpenFile(p.LogFile(j.ID), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(self, append([]string{"--worker=" + j.ID}, j.Args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = j.CWD, environ, log, log, detached()
	return cmd, log, nil
}

// listenVariable tells a session process that its first descriptor after stderr is its socket.
const listenVariable = "LATHE_LISTENS"

// beside starts the process of a job as a child of this one, whose environment, umask and limits it has. Its socket is
// open when beside returns: who connects is served as soon as the session is.
func (p Place) beside(j Job) error {
	l, err := port.Listen(p.Socket(j.ID))
	if err != nil {
		return err
	}
	defer l.Close()
	ours, ok := l.(*net.UnixListener)
	if !ok {
		return errors.New("a session process cannot take over a socket of this kind")
	}
	ours.SetUnlinkOnClose(false)
	socket, err := ours.File()
	if err != nil {
		return err
	}
	defer socket.Close()
	cmd, log, err := p.command(j, append(os.Environ(), listenVariable+"=1"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.ExtraFiles = []*os.File{socket}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the session process cannot be started: %w", err)
	}
	go func() { _ = cmd.Wait() }() // how it ended is in the job
	return nil
}

// Inherited is the socket that this process was started with; nil: it has none.
func Inherited() (net.Listener, error) {
	if os.Getenv(listenVariable) == "" {
		return nil, nil
	}
	if err := os.Unsetenv(listenVariable); err != nil { // it is not for children
		return nil, err
	}
	f := os.NewFile(3, "socket")
	defer f.Close()
	l, err := net.FileListener(f)
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(true)
	}
	return l, err
}

// Inside reports that this process was started by a session.
func (p Place) Inside() bool {
	jobs, _ := p.List() // those that can be read
	pids := map[int]bool{}
	for _, j := range jobs {
		pids[j.PID] = j.PID > 0
	}
	below, err := port.DescendsFrom(os.Getpid(), func(above int) bool { return pids[above] })
	return below || err != nil
}
