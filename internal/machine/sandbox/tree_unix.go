//go:build unix && !linux

package sandbox

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tree is the leader's process group; the leader's pid is the group's id.
type tree struct {
	cmd *exec.Cmd
	pid int
}

func (t *tree) env(env []string, dir string) []string {
	out := append(make([]string, 0, len(env)+1), env...)
	if dir != "" {
		out = append(out, "PWD="+dir)
	}
	return out
}

// name is empty: other processes' environments cannot be read here.
func (t *tree) name() string { return "" }

func (t *tree) watch(*os.File) {}

func (t *tree) start(cmd *exec.Cmd, begin func() error) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := begin(); err != nil {
		return err
	}
	t.cmd, t.pid = cmd, cmd.Process.Pid
	return nil
}

// waitLeader reaps the leader: there is no portable way to learn of its end without.
func (t *tree) waitLeader() { _ = t.cmd.Wait() }

func (t *tree) close() {}

// canLeave says that processes of a tree can outlive lathe.
const canLeave = true

// survivors would be the living processes beside the leader; a group does not tell them.
func (t *tree) survivors() []int { return nil }

func (t *tree) leftovers(grace time.Duration) (ended, alive int) {
	if unix.Kill(-t.pid, 0) != nil {
		return 0, 0
	}
	_, alive = t.end(grace)
	return 1, alive // the number is not known; at least one
}

// end signals the group until it is empty.
func (t *tree) end(grace time.Duration) (ended, alive int) {
	soft := time.Now().Add(grace)
	hard := soft.Add(2 * time.Second)
	_ = unix.Kill(-t.pid, unix.SIGTERM)
	_ = unix.Kill(-t.pid, unix.SIGCONT)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if unix.Kill(-t.pid, 0) == unix.ESRCH {
			return 0, 0
		}
		if time.Now().After(hard) {
			return 0, 1
		}
		if time.Now().After(soft) {
			_ = unix.Kill(-t.pid, unix.SIGKILL)
		}
		time.Sleep(pause)
	}
}
