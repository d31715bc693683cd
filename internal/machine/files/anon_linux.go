package files

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// openAnonymous makes a file in dir that has no name yet (O_TMPFILE, open(2)). Not every file system can,
// and naming it later takes /proc.
func openAnonymous(dir *os.Root, perm fs.FileMode) (*os.File, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	fd, err := unix.Openat(int(d.Fd()), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "anonymous")
	if _, err := os.Stat(fdPath(f)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// linkAnonymous gives f a name in dir; one that is taken is fs.ErrExist.
func linkAnonymous(f *os.File, dir *os.Root, name string) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Linkat(unix.AT_FDCWD, fdPath(f), int(d.Fd()), name, unix.AT_SYMLINK_FOLLOW)
}

func fdPath(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }
