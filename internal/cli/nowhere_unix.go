//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// goesNowhere reports whether what is written to a file goes nowhere: it is the null device, opened for reading too.
// Go's runtime puts that in the place of a standard output that is closed; a redirection to /dev/null only writes.
func goesNowhere(f *os.File) bool {
	var st, null unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || unix.Stat(os.DevNull, &null) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR ||
		st.Rdev != null.Rdev {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
