//go:build amd64 || arm64

package inside

import (
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const readOnlyMount = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// devices are the only devices inside.
var devices = [...]string{"null", "zero", "full", "random", "urandom"}

// mounted is a detached copy of a mount. It is made before everything becomes read-only, so it keeps its write access.
type mounted struct {
	path string
	fd   *uintptr
}

// mounts makes the file system of the process and its descendants read-only, except for the plan's writable folders. A
// path that is gone by then is passed over.
func (s *script) mounts(p *Plan) {
	s.mount("make the mounts private", "", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	for _, o := range p.Overlay {
		options := "lowerdir=" + o.Dir + ",upperdir=" + o.Upper + ",workdir=" + o.Work + ",userxattr,volatile"
		try := s.mount("", "overlay", o.Dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
		s.onError(try, anyError)
		s.mount("mount "+o.Upper+" on "+o.Dir, o.Upper, o.Dir, "", unix.MS_BIND, "")
		s.onSuccess(try)
	}
	var nodes, open []mounted
	for _, o := range p.View {
		open = append(open, s.view(o)...)
	}
	for _, name := range devices {
		nodes = append(nodes, s.take("/dev/"+name))
	}
	for _, path := range p.Write {
		open = append(open, s.take(path))
	}
	for _, o := range p.Overlay {
		open = append(open, s.take(o.Dir))
	}
	for _, path := range p.Show {
		open = append(open, s.locked(path))
	}
	private := mounted{path: privateDir}
	if p.Private != "" { // before the overlay on /tmp, which it can be below
		private.fd = s.clone(p.Private)
	}
	temp := s.temp(p)
	s.attributes("make the file system read-only", cwd, "/", unix.AT_RECURSIVE, readOnlyMount)
	if temp.fd == nil {
		s.mount("mount /tmp", "tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	} else {
		s.attach("mount /tmp", temp)
	}
	s.dev(nodes, private, p.Copies)
	for _, dir := range p.Empty {
		s.mount("empty "+dir, "tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755,size=1m")
	}
	s.proc(p)
	hidden := append([]string{"/tmp", "/dev"}, p.Empty...)
	slices.SortStableFunc(open, func(a, b mounted) int { return strings.Compare(a.path, b.path) }) // one in another later
	for _, m := range open {
		s.attachBelow(hidden, m)
	}
	for _, dir := range p.Empty {
		s.attributes("lock "+dir, cwd, dir, 0, readOnlyMount)
	}
	s.guard(p)
}

// view returns the mount of a folder with its changes in Upper, and that of the folder itself, read-only; one of them
// has no descriptor: the second where the kernel has an overlay.
func (s *script) view(o Overlay) []mounted {
	escape := strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`).Replace
	options := "lowerdir=" + escape(o.Dir) + ",upperdir=" + escape(o.Upper) + ",workdir=" + escape(o.Work) +
		",userxattr,volatile"
	try := s.mount("", "overlay", o.Dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
	taken, fd := s.result("take "+o.Dir, unix.SYS_OPEN_TREE, cwd, s.text(o.Dir), num(treeFlags))
	s.onError(try, anyError)
	plain := s.locked(o.Dir)
	s.onSuccess(taken)
	return []mounted{{o.Dir, fd}, plain}
}

// guard pins, protects and masks paths within the writable mounts.
func (s *script) guard(p *Plan) {
	for _, path := range p.Pin {
		s.attach("pin "+path, s.take(path))
	}
	for _, path := range p.Protect {
		s.attach("protect "+path, s.locked(path))
	}
	for _, c := range p.Copies {
		s.link(c)
	}
	for _, path := range p.Mask {
		s.mask(path)
	}
}

// privateDir is confine.PrivateDir.
const privateDir = "/dev/.lathe"

// The covers of masked paths: they have no permission bits and a read-only mount, and no process inside has the
// capabilities to bypass both.
const (
	maskFile = "/dev/.masked-file"
	maskDir  = "/dev/.masked-folder"
)

// copyLink is the beginning of the name of a link to a copy.
const copyLink = "/dev/.copy-"

// link mounts the link to a copy on a protected file, which stays read-only where that fails.
func (s *script) link(c Copy) {
	m := s.take(copyLink + c.Name)
	m.path = c.Path
	s.onError(s.move("", m), anyError)
}

// mask covers a path, if it is not hidden already below another mount. If it has become a file instead of a folder, or
// a folder instead of a file, the other cover fits.
func (s *script) mask(path string) {
	covers := []string{maskFile, maskDir}
	if isDir(path) {
		slices.Reverse(covers)
	}
	var done []int
	for i, cover := range covers {
		m := s.locked(cover)
		m.path = path
		at := s.move("mask "+path, m)
		done = append(done, at)
		if i == 0 {
			s.onError(at, uintptr(unix.ENOTDIR))
		}
	}
	for _, at := range done {
		s.onSuccess(at)
		s.onError(at, uintptr(unix.ENOENT))
	}
}

func isDir(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir()
}

// temp returns the mount for /tmp, without a descriptor for a new one.
func (s *script) temp(p *Plan) mounted {
	if p.Temp == "" {
		return mounted{path: "/tmp"}
	}
	if p.TempWork == "" {
		return mounted{"/tmp", s.clone(p.Temp)}
	}
	options := "lowerdir=/tmp,upperdir=" + p.Temp + ",workdir=" + p.TempWork + ",userxattr,volatile"
	try := s.mount("", "overlay", "/tmp", "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
	s.onError(try, anyError)
	s.mount("mount "+p.Temp, p.Temp, "/tmp", "", unix.MS_BIND, "")
	s.onSuccess(try)
	return mounted{"/tmp", s.clone("/tmp")}
}

// proc mounts this namespace's /proc.
func (s *script) proc(p *Plan) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	s.mount("mount /proc", "proc", "/proc", "proc", flags, "")
	s.limitProcesses(p.Processes)
	s.mount("make /proc read-only", "", "/proc", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, "")
}

// dev builds a /dev of a few harmless devices, private pseudo-terminals and private shared memory.
func (s *script) dev(nodes []mounted, private mounted, copies []Copy) {
	s.mount("mount /dev", "tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=1m")
	for _, m := range nodes {
		s.touch(m.path, 0o666)
		s.attach("mount "+m.path, m)
	}
	for _, dir := range [...]string{"/dev/shm", "/dev/pts"} {
		s.mkdir(dir, 0o755)
	}
	s.mount("mount /dev/shm", "tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	pts := s.mount("", "devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=0620")
	link := s.symlink("pts/ptmx", "/dev/ptmx")
	s.onError(pts, anyError) // without, a program gets no pseudo-terminal, and says so
	s.onError(link, anyError)
	for _, l := range [...][2]string{{"fd", ""}, {"stdin", "/0"}, {"stdout", "/1"}, {"stderr", "/2"}} {
		s.symlink("/proc/self/fd"+l[1], "/dev/"+l[0])
	}
	if private.fd != nil {
		s.mkdir(privateDir, 0o700)
		s.attach("mount "+privateDir, private)
	}
	for _, c := range copies {
		s.symlink(privateDir+"/"+c.Name, copyLink+c.Name)
	}
	s.touch(maskFile, 0)
	s.mkdir(maskDir, 0)
	s.attributes("make /dev read-only", cwd, "/dev", 0, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID)
}

func (s *script) mount(step, source, target, kind string, flags uintptr, options string) int {
	return s.call(step, unix.SYS_MOUNT, s.text(source), s.text(target), s.text(kind), num(flags), s.text(options))
}

func (s *script) symlink(target, path string) int {
	return s.call("link "+path, unix.SYS_SYMLINKAT, s.text(target), cwd, s.text(path))
}

func (s *script) mkdir(path string, mode int) int {
	return s.call("make "+path, unix.SYS_MKDIRAT, cwd, s.text(path), num(mode))
}

func (s *script) touch(path string, mode int) int {
	return s.call("make "+path, unix.SYS_MKNODAT, cwd, s.text(path), num(unix.S_IFREG|mode), num(0))
}

const treeFlags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW

// take copies the mount of a path, if it is there.
func (s *script) take(path string) mounted {
	i, fd := s.result("take "+path, unix.SYS_OPEN_TREE, cwd, s.text(path), num(treeFlags))
	s.onError(i, uintptr(unix.ENOENT))
	return mounted{path, fd}
}

// clone copies the mount of a path that must be there.
func (s *script) clone(path string) *uintptr {
	_, fd := s.result("take "+path, unix.SYS_OPEN_TREE, cwd, s.text(path), num(treeFlags))
	return fd
}

// locked returns a read-only copy of the mount of a path, if it is there.
func (s *script) locked(path string) mounted {
	m := s.take(path)
	i := s.attributes("lock "+path, at(m.fd), "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, readOnlyMount)
	s.onError(i, uintptr(unix.EBADF))
	return m
}

func (s *script) attributes(step string, dir arg, path string, flags int, set uint64) int {
	attr := &unix.MountAttr{Attr_set: set}
	return s.call(step, unix.SYS_MOUNT_SETATTR, dir, s.text(path), num(flags), data(s, attr), num(unsafe.Sizeof(*attr)))
}

// move mounts a copy at its path.
func (s *script) move(step string, m mounted) int {
	return s.call(step, unix.SYS_MOVE_MOUNT, at(m.fd), s.text(""), cwd, s.text(m.path), num(unix.MOVE_MOUNT_F_EMPTY_PATH))
}

// attach mounts a copy at its path, unless there is none or the path is gone.
func (s *script) attach(step string, m mounted) {
	i := s.move(step, m)
	s.onError(i, uintptr(unix.EBADF))
	s.onError(i, uintptr(unix.ENOENT))
}

// attachBelow is attach for a path that a private folder may hide: then it is made there.
func (s *script) attachBelow(private []string, m mounted) {
	top := ""
	for _, dir := range private {
		if strings.HasPrefix(m.path, dir+"/") && len(dir) > len(top) {
			top = dir
		}
	}
	if top == "" {
		s.attach("mount "+m.path, m)
		return
	}
	i := s.move("mount "+m.path, m)
	s.onError(i, uintptr(unix.ENOENT))
	for at := len(top) + 1; at < len(m.path); at++ {
		if m.path[at] == '/' {
			s.onError(s.mkdir(m.path[:at], 0o755), anyError)
		}
	}
	if isDir(m.path) {
		s.onError(s.mkdir(m.path, 0o755), anyError)
	} else {
		s.onError(s.touch(m.path, 0o644), anyError)
	}
	s.move("mount "+m.path, m)
	s.onSuccess(i)
	s.onError(i, uintptr(unix.EBADF))
}
