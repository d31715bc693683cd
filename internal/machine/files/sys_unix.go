//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// nonblock keeps an open from waiting when a pipe takes a file's place.
const nonblock = syscall.O_NONBLOCK

func isReadOnlyFS(err error) bool { return errors.Is(err, syscall.EROFS) }

// cannotRename reports whether a rename failed because the file is a mount of its own.
func cannotRename(err error) bool {
	return errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EBUSY) || errors.Is(err, fs.ErrPermission)
}

// readEntries lists an open folder. A file that os.Root opened looks at every single entry when it lists,
// which takes longer than all the rest of a walk; the same descriptor in a plain file does not.
func readEntries(f *os.File, abs string) ([]fs.DirEntry, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return f.ReadDir(-1)
	}
	plain := os.NewFile(uintptr(fd), abs)
	defer plain.Close()
	return plain.ReadDir(-1)
}

// dirSyncUnsupported reports whether a file system (some network ones) has no sync of folders.
func dirSyncUnsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP)
}

// Links counts the hard links of a file, this name among them; 0 where that is unknown.
func Links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // its width differs between systems
	}
	return 0
}

// keepOwner gives f the owner and group of old, or at least the group, where that is allowed.
func keepOwner(f *os.File, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok || (int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid()) {
		return
	}
	if f.Chown(int(st.Uid), int(st.Gid)) != nil {
		_ = f.Chown(-1, int(st.Gid)) // not ours to give: the content matters more
	}
}
