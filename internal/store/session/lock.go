package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// LockedError says that another process has the session open.
type LockedError struct {
	ID   string
	PID  int // 0 when it is not known
	Hint string
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("session %s is open in %s; %s", e.ID, who, e.Hint)
}

const lockHint = "close it there, or add --fork-session to go on in a copy"

// orphanWait is how long a lock may outlive its process: a child that was being started when the process was
// killed has the lock until it dies too.
const orphanWait = time.Second

// takeLock locks the session in folder; hint says what to do where another process has it. The system lets go of the
// lock when the process ends, however it ends.
func takeLock(folder, hint string) (*flock.Flock, error) {
	path := filepath.Join(folder, "lock")
	l := flock.New(path, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	for end := time.Now().Add(orphanWait); err == nil && !ok && isDead(readPID(path)) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		ok, err = l.TryLock()
	}
	if err != nil {
		return nil, fmt.Errorf("session: lock %s: %w", path, err)
	}
	if !ok {
		return nil, &LockedError{ID: filepath.Base(folder), PID: readPID(path), Hint: hint}
	}
	if err := sameFile(l, path); err != nil {
		_ = l.Unlock()
		return nil, err
	}
	writePID(path)
	return l, nil
}

// sameFile guards against a lock on a file that a removal has unlinked in the meantime.
func sameFile(l *flock.Flock, path string) error {
	mine, err := l.Stat()
	if err != nil {
		return fmt.Errorf("session: lock %s: %w", path, err)
	}
	there, err := os.Stat(path)
	if err != nil || !os.SameFile(mine, there) {
		return fmt.Errorf("session: %s was removed: %w", filepath.Dir(path), fs.ErrNotExist)
	}
	return nil
}

// writePID leaves the process id for the message others get. Where the lock is mandatory (Windows) its
// first byte cannot be written by another handle, so the number starts at the second one. It is only a
// courtesy: the lock holds without it.
func writePID(path string) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteAt([]byte(" "), 0)
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n          "), 1)
}

func readPID(path string) int {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	buf := make([]byte, 24)
	n, err := f.ReadAt(buf, 1)
	if n == 0 && err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(buf[:n]), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return 0
	}
	return pid
}

// isDead reports that there is no process with the id; when in doubt there is.
func isDead(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return true // only Windows reports it here
	}
	defer func() { _ = p.Release() }()
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
