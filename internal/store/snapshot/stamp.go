package snapshot

import (
	"io/fs"
	"os"
)

// stamp is the stat data of a file. Two looks with the same stamp saw the same content, unless the file changed within
// the resolution of the clock (see racy).
type stamp struct {
	ino          uint64
	size         int64
	mtime, ctime int64 // nanoseconds
	mode         fs.FileMode
	links        uint32
}

// racyWindow is the time in which a file may change again without another stamp: the resolution of the times of common
// file systems.
const racyWindow = 20e6

// A look begins at clock(), the time that the kernel would give a file that is changed now. racy reports whether the
// file changed so shortly before a look that it may have changed since with the same stamp.
func (s stamp) racy(look int64) bool { return max(s.mtime, s.ctime) > look-racyWindow }

func (s stamp) kind() Kind {
	switch s.mode.Type() {
	case 0:
		return File
	case fs.ModeSymlink:
		return Link
	case fs.ModeDir:
		return Dir
	}
	return Unknown
}

// look is the stamp of a path; false when there is nothing.
func look(path string) (stamp, bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}, false
	}
	return stampOf(info), true
}
