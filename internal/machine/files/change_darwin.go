package files

import (
	"io/fs"
	"syscall"
)

// Change distinguishes two states of a file that have one size and time: its inode, and when the inode was
// last changed, in nanoseconds. Zero where that is not known.
func Change(info fs.FileInfo) (inode uint64, changed int64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino, st.Ctimespec.Nano()
	}
	return 0, 0
}
