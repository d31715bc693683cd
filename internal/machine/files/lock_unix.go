//go:build unix

package files

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is how long a write waits for another process that writes in the same folder.
const lockWait = 5 * time.Second

// lockDir keeps other lathes from replacing files in a folder until unlock. A file system without locks has none.
func lockDir(dir *os.Root) (unlock func(), err error) {
	f, err := dir.Open(".")
	if err != nil {
		return func() {}, nil //nolint:nilerr // a folder that cannot be read can be written
	}
	for until := time.Now().Add(lockWait); ; time.Sleep(time.Millisecond) {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return func() {}, f.Close()
		}
		if time.Now().After(until) {
			return nil, errors.Join(errors.New("another process has locked its folder; try again"), f.Close())
		}
	}
}
