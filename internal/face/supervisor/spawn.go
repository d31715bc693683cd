package supervisor

import (
	"os"
	"os/exec"
	"path/filepath"
)

func (p Place) supervisorLog() string {
	return filepath.Join(filepath.Dir(p.Jobs), "logs", "supervisor.log")
}

// Spawn starts a supervisor that outlives this process. It keeps nothing of the caller's terminal.
func (p Place) Spawn() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.supervisorLog()), 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(p.supervisorLog(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(self, "daemon", "run")
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = "/", log, log, detached()
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
