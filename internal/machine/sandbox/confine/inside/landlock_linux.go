//go:build amd64 || arm64

package inside

import (
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LeastABI is the lowest useful version of Landlock: earlier ones do not restrict truncation.
const LeastABI = 3

// Landlock's access rights by version (landlock(7)).
const (
	fsRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
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

// rules returns the descriptor of the rules for the command and its descendants: they read everywhere, write in the
// writable folders, and from version 6 cannot signal outside processes or connect to their abstract sockets.
func (s *space) rules(p *Plan) int {
	handled := uint64(fsRead | fsWrite)
	if p.ABI >= 5 {
		handled |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	attr, size := &unix.LandlockRulesetAttr{Handled_access_fs: handled}, uintptr(8)
	if p.ABI >= 6 {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, 24
	}
	const step = "set up Landlock"
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(attr)), size, 0)
	rules := s.keep(step, int(fd), failed(errno))
	allow := func(path string, rights uint64) { allow(rules, path, rights&handled) }
	allow("/", fsRead)
	// not all of /dev: shared memory is there
	for _, name := range [...]string{"null", "zero", "full", "random", "urandom", "ptmx", "pts"} {
		rights := uint64(
			fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
		if name != "pts" {
			rights &= fileRights
		}
		allow("/dev/"+name, rights)
	}
	for _, path := range p.Write {
		if isDir(path) {
			allow(path, handled)
		} else {
			allow(path, handled&fileRights)
		}
	}
	if p.Namespaces {
		allow("/tmp", handled)
		if p.Private != "" {
			allow(privateDir, handled)
		}
		allow("/dev/shm", handled)
		for _, o := range slices.Concat(p.Overlay, p.View) {
			allow(o.Dir, handled)
		}
	} else {
		for _, dir := range [...]string{p.Temp, p.Private} {
			if dir != "" {
				allow(dir, handled)
			}
		}
	}
	return rules
}

// allow is landlock_add_rule for a folder or a file. A missing path needs no rule.
func allow(rules int, path string, rights uint64) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if !must("allow "+path, err, unix.ENOENT) {
		return
	}
	defer unix.Close(fd)
	beneath := &unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(beneath)), 0, 0, 0)
	must("allow "+path, failed(errno))
}

// failed makes an error of an errno, which is not nil as one.
func failed(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}
