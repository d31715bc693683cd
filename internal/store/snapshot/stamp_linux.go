package snapshot

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func stampOf(info fs.FileInfo) stamp {
	st := info.Sys().(*syscall.Stat_t)
	return stamp{st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano(), info.Mode(), uint32(st.Nlink)}
}

// lookAt fills in the stamps of the names in a folder; one that is not there gets the zero stamp. It looks relative to
// the folder, which saves most of the time that the kernel needs for long paths.
func lookAt(dir string, names []string, out []stamp) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		clear(out)
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	for i, name := range names {
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			out[i] = stamp{}
			continue
		}
		out[i] = stamp{st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano(), modeOf(st.Mode), uint32(st.Nlink)}
	}
}

// modeOf is a mode of the system as fs has it.
func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFREG:
	default:
		mode |= fs.ModeIrregular
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// clock is the time that a file gets that is changed now: the kernel's coarse clock, which lags behind.
func clock() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return 0 // then every file is read
	}
	return ts.Nano()
}
