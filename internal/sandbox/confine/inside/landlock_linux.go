//go:build amd64 || arm64

package inside

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// LeastABI is the lowest useful version of Landlock: earlier ones do not restrict truncation.
const LeastABI = 3

// Landlock's access rights by version (landlock(7)).
const (
	fsRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV // all rights that a rule on a file may have
)

// LandlockABI returns the kernel's Landlock version, 0 without Landlock.
func LandlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// landlock limits this thread and its descendants: they read everywhere, write in the writable folders, and from version 6
// cannot signal outside processes or connect to their abstract sockets. The go-landlock library is not used: restricting
// all threads costs more than the rest of the helper's work, and its imports would have to be initialized first.
func (p *Plan) landlock() error {
	handled := uint64(fsRead | fsWrite)
	if p.ABI >= 5 {
		handled |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	attr, size := unix.LandlockRulesetAttr{Handled_access_fs: handled}, uintptr(8)
	if p.ABI >= 6 {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, 24
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	allow := func(path string, rights uint64) {
		check("allow "+path, addRule(int(fd), path, rights&handled))
	}
	allow("/", fsRead)
	for _, name := range [...]string{"null", "zero", "full", "random", "urandom", "ptmx", "pts"} { // not all of /dev: shared memory is there
		allow("/dev/"+name, fsRead|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	}
	for _, path := range p.Write {
		allow(path, handled)
	}
	if p.Namespaces {
		allow("/tmp", handled)
		allow("/dev/shm", handled)
		for _, o := range p.Overlay {
			allow(o.Dir, handled)
		}
	} else if p.Temp != "" {
		allow(p.Temp, handled)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// addRule is landlock_add_rule for a folder or a file. A missing path needs no rule.
func addRule(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
