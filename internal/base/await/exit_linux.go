package await

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Exit waits until a process has ended. It need not be a child. A zombie has ended: the parent that adopted an orphan
// may never reap it.
func Exit(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d cannot be watched: %w", pid, err)
	}
	defer unix.Close(fd)
	watched := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}} // readable once it exited
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		n, err := unix.Poll(watched, int(time.Until(end).Milliseconds())+1)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for process %d: %w", pid, err)
		}
	}
	return fmt.Errorf("process %d still runs", pid)
}
