package boundary

import (
	"bytes"
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

// arrivals reports the names that appear in a folder (inotify(7)).
type arrivals struct {
	fd  int         // 0: not watched
	dir os.FileInfo // the watched folder: another one may take its path
}

// since returns the names that appeared since the last call. All means that it returns all that are there instead: at
// the first call, and whenever the kernel cannot say.
func (a *arrivals) since(dir string) (names []string, all bool) {
	fi, err := os.Stat(dir)
	if err != nil {
		a.close()
		return nil, true
	}
	if a.fd > 0 && os.SameFile(fi, a.dir) {
		if names, ok := a.read(); ok {
			return names, false
		}
	}
	a.close()
	a.watch(dir) // before the folder is read, so that no name is missed
	a.dir = fi
	return namesIn(dir), true
}

func (a *arrivals) watch(dir string) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
		unix.Close(fd)
		return
	}
	a.fd = fd
}

// read returns the names of the events so far. It reports false if some were lost, or the folder is gone.
func (a *arrivals) read() (names []string, ok bool) {
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.Read(a.fd, buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return names, true
		case err != nil || n < unix.SizeofInotifyEvent:
			return nil, false
		}
		for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; { // wd, mask, cookie, length of the name, the name
			mask, size := binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
			if mask&(unix.IN_Q_OVERFLOW|unix.IN_IGNORED|unix.IN_UNMOUNT) != 0 {
				return nil, false
			}
			end := unix.SizeofInotifyEvent + int(size)
			name, _, _ := bytes.Cut(b[unix.SizeofInotifyEvent:end], []byte{0})
			names, b = append(names, string(name)), b[end:]
		}
	}
}

func (a *arrivals) close() {
	if a.fd > 0 {
		unix.Close(a.fd)
	}
	a.fd = 0
}
