package files

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// copyXattrs copies extended attributes (access lists among them) as far as the system lets us.
func copyXattrs(from, to *os.File) {
	list := make([]byte, 4096)
	n, err := unix.Flistxattr(int(from.Fd()), list)
	if err != nil || n == 0 {
		return
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
		if m, err := unix.Fgetxattr(int(from.Fd()), name, value); err == nil {
			_ = unix.Fsetxattr(int(to.Fd()), name, value[:m], 0)
		}
	}
}
