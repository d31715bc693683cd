package supervisor

import (
	"os"
	"os/exec"
	"path/filepath"
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
