//go:build unix

package tool

import (
	"os"

	"golang.org/x/sys/unix"
)

// quiet stops the terminal from repeating its input.
func quiet(end *os.File) error {
	fd := int(end.Fd())
	state, err := unix.IoctlGetTermios(fd, termiosGet)
	if err != nil {
		return err
	}
	state.Lflag &^= unix.ECHO
	return unix.IoctlSetTermios(fd, termiosSet, state)
}

// pollable returns the same open file in a form whose reads end when it is closed, and closes f: asking for a
// descriptor has made f one that blocks.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
