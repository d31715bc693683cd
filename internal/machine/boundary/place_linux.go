package boundary

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// place is a name in a folder that is open. The folder was found without following a link, so a command that still runs
// cannot lead lathe elsewhere by a link in its place.
type place struct {
	folder int
	name   string
}

func openPlace(path string) (place, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	dir := filepath.Dir(path)
	at, err := unix.Open("/", flags, 0)
	// openat2 does it at once, but some containers forbid it
	for name := range strings.SplitSeq(strings.Trim(dir, "/"), "/") {
		if err != nil || name == "" {
			break
		}
		next, nerr := unix.Openat(at, name, flags, 0)
		unix.Close(at)
		at, err = next, nerr
	}
	if err != nil {
		return place{}, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	return place{at, filepath.Base(path)}, nil
}

func (p place) close() { unix.Close(p.folder) }

// move renames it to an absolute path that no command reaches.
func (p place) move(to string) error {
	return unix.Renameat(p.folder, p.name, unix.AT_FDCWD, to)
}

// rename gives it another name in its folder.
func (p place) rename(name string) error { return unix.Renameat(p.folder, p.name, p.folder, name) }

// lock takes the lock that git has for changes of it.
func (p place) lock() (unlock func(), err error) {
	name := p.name + ".lock"
	fd, err := unix.Openat(p.folder, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	unix.Close(fd)
	return func() { _ = unix.Unlinkat(p.folder, name, 0) }, nil
}

// replace writes a new file in its place.
func (p place) replace(text []byte, mode os.FileMode) error {
	temp := ".config-" + rand.Text()
	fd, err := unix.Openat(p.folder, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temp)
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = unix.Renameat(p.folder, temp, p.folder, p.name)
	}
	if err != nil {
		_ = unix.Unlinkat(p.folder, temp, 0)
	}
	return err
}

// stampOf returns what tells a changed file or folder from the same one. A command can set all times but that of the
// last change.
func stampOf(fi os.FileInfo) stamp {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{size: fi.Size(), written: fi.ModTime().UnixNano(), mode: fi.Mode(), changed: fi.ModTime().UnixNano()}
	}
	return stamp{st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano(), fi.Mode()}
}
