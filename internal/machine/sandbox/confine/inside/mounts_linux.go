//go:build amd64 || arm64

package inside

import (
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const readOnlyMount = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// devices are the only devices inside.
var devices = [...]string{"null", "zero", "full", "random", "urandom"}

// mounted is a detached copy of a mount. It is made before everything becomes read-only, so it keeps its write access.
type mounted struct {
	path string
	fd   int // -1: the path is not there
}

// bases are mount namespaces with the overlays that many commands share: to mount one on disk takes longer than all
// else. They are mounted on their folders Work, where no command finds them.
var bases []int

// base makes one. Mounts of the system reach it as they come and go.
func (s *space) base(p *Plan) {
	const own = "/proc/self/ns/mnt"
	back, err := unix.Open(own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	s.keep("keep the mounts", back, err)
	must("make a mount namespace", unix.Unshare(unix.CLONE_NEWNS))
	defer func() {
		if unix.Setns(back, unix.CLONE_NEWNS) != nil {
			unix.Exit(99)
		}
	}()
	mount("keep the mounts apart", "", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	for _, o := range p.Shared() {
		if overlay(o, o.Work) != nil {
			mount("mount "+o.Upper, o.Upper, o.Work, "", unix.MS_BIND, "")
		}
	}
	fd, err := unix.Open(own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must("keep the mounts", err)
	bases = append(bases, fd)
}

// Shared are the overlays that a plan has in common with others.
func (p *Plan) Shared() []Overlay {
	if p.TempWork == "" {
		return p.Overlay
	}
	return append([]Overlay{{"/tmp", p.Temp, p.TempWork}}, p.Overlay...)
}

// mounts makes the file system of the space read-only, except for the plan's writable folders. A path that is gone by
// then is passed over.
func (s *space) mounts(p *Plan) {
	mount("make the mounts private", "", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	for _, o := range p.Shared() {
		// The kernel forgets what it knows of the folder below, which may have changed.
		_ = unix.Mount("", o.Work, "", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "")
	}
	var nodes, open []mounted
	for _, o := range p.View {
		take := s.take
		if overlay(o, o.Dir) != nil {
			take = s.locked
		}
		open = append(open, take(o.Dir))
	}
	for _, name := range devices {
		nodes = append(nodes, s.take("/dev/"+name))
	}
	for _, path := range p.Write {
		open = append(open, s.take(path))
	}
	for _, o := range p.Overlay {
		open = append(open, mounted{o.Dir, s.clone(o.Work)})
	}
	for _, path := range p.Show {
		open = append(open, s.locked(path))
	}
	private := mounted{path: privateDir, fd: -1}
	if p.Private != "" { // before /tmp is covered, which it can be below
		private.fd = s.clone(p.Private)
	}
	temp := s.temp(p)
	attributes("make the file system read-only", unix.AT_FDCWD, "/", unix.AT_RECURSIVE)
	if temp.fd < 0 {
		mount("mount /tmp", "tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	} else {
		attach("mount /tmp", temp)
	}
	s.dev(nodes, private, p.Copies)
	for _, dir := range p.Empty {
		mount("empty "+dir, "tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755,size=1m")
	}
	hidden := append([]string{"/tmp", "/dev"}, p.Empty...)
	slices.SortStableFunc(open, func(a, b mounted) int { return strings.Compare(a.path, b.path) }) // one in another later
	for _, m := range open {
		attachBelow(hidden, m)
	}
	for _, dir := range p.Empty {
		attributes("lock "+dir, unix.AT_FDCWD, dir, 0)
	}
	s.guard(p)
}

// overlay mounts a folder with the changes in Upper.
func overlay(o Overlay, at string) error {
	escape := strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`).Replace
	return unix.Mount("overlay", at, "overlay", unix.MS_NOSUID|unix.MS_NODEV, "lowerdir="+escape(o.Dir)+
		",upperdir="+escape(o.Upper)+",workdir="+escape(o.Work)+",userxattr,volatile")
}

// guard pins, protects and masks paths within the writable mounts.
func (s *space) guard(p *Plan) {
	for _, path := range p.Pin {
		attach("pin "+path, s.take(path))
	}
	for _, path := range p.Protect {
		attach("protect "+path, s.locked(path))
	}
	for _, c := range p.Copies { // a file stays read-only where that fails
		_ = move(mounted{c.Path, s.take(copyLink + c.Name).fd})
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

// mask covers a path, if it is not hidden already below another mount. If it has become a file instead of a folder, or
// a folder instead of a file, the other cover fits.
func (s *space) mask(path string) {
	covers := []string{maskFile, maskDir}
	if isDir(path) {
		slices.Reverse(covers)
	}
	if !must("mask "+path, move(mounted{path, s.locked(covers[0]).fd}), unix.ENOTDIR, unix.ENOENT) {
		must("mask "+path, move(mounted{path, s.locked(covers[1]).fd}), unix.ENOENT)
	}
}

func isDir(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir()
}

// temp returns the mount for /tmp, without a descriptor for a new one.
func (s *space) temp(p *Plan) mounted {
	if p.Temp == "" {
		return mounted{"/tmp", -1}
	}
	if p.TempWork == "" {
		return mounted{"/tmp", s.clone(p.Temp)}
	}
	return mounted{"/tmp", s.clone(p.TempWork)}
}

// dev builds a /dev of a few harmless devices, private pseudo-terminals and private shared memory.
func (s *space) dev(nodes []mounted, private mounted, copies []Copy) {
	mount("mount /dev", "tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=1m")
	for _, m := range nodes {
		file(m.path, 0o666)
		attach("mount "+m.path, m)
	}
	for _, dir := range [...]string{"/dev/shm", "/dev/pts"} {
		mkdir(dir, 0o755)
	}
	mount("mount /dev/shm", "tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777")
	// without, a program gets no pseudo-terminal, and says so
	if unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=0620") == nil {
		symlink("pts/ptmx", "/dev/ptmx")
	}
	for _, l := range [...][2]string{{"fd", ""}, {"stdin", "/0"}, {"stdout", "/1"}, {"stderr", "/2"}} {
		symlink("/proc/self/fd"+l[1], "/dev/"+l[0])
	}
	if private.fd >= 0 {
		mkdir(privateDir, 0o700)
		attach("mount "+privateDir, private)
	}
	for _, c := range copies {
		symlink(privateDir+"/"+c.Name, copyLink+c.Name)
	}
	file(maskFile, 0)
	mkdir(maskDir, 0)
	attributes("make /dev read-only", unix.AT_FDCWD, "/dev", 0)
}

func mount(step, source, target, kind string, flags uintptr, options string) {
	must(step, unix.Mount(source, target, kind, flags, options))
}

func symlink(target, path string) { must("link "+path, unix.Symlink(target, path)) }

func mkdir(path string, mode uint32) { must("make "+path, unix.Mkdir(path, mode)) }

func file(path string, mode uint32) { must("make "+path, unix.Mknod(path, unix.S_IFREG|mode, 0)) }

const treeFlags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW

// take copies the mount of a path, if it is there.
func (s *space) take(path string) mounted {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, treeFlags)
	return mounted{path, s.keep("take "+path, fd, err, unix.ENOENT)}
}

// clone copies the mount of a path that must be there.
func (s *space) clone(path string) int {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, treeFlags)
	return s.keep("take "+path, fd, err)
}

// locked returns a read-only copy of the mount of a path, if it is there.
func (s *space) locked(path string) mounted {
	m := s.take(path)
	if m.fd >= 0 {
		attributes("lock "+path, m.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	}
	return m
}

// attributes makes mounts read-only.
func attributes(step string, dir int, path string, flags uint) {
	must(step, unix.MountSetattr(dir, path, flags, &unix.MountAttr{Attr_set: readOnlyMount}))
}

// move mounts a copy at its path.
func move(m mounted) error {
	return unix.MoveMount(m.fd, "", unix.AT_FDCWD, m.path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// attach mounts a copy at its path, unless there is none or the path is gone.
func attach(step string, m mounted) { must(step, move(m), unix.EBADF, unix.ENOENT) }

// attachBelow is attach for a path that a private folder may hide: then it is made there.
func attachBelow(private []string, m mounted) {
	top := ""
	for _, dir := range private {
		if strings.HasPrefix(m.path, dir+"/") && len(dir) > len(top) {
			top = dir
		}
	}
	if top == "" || m.fd < 0 {
		attach("mount "+m.path, m)
		return
	}
	if must("mount "+m.path, move(m), unix.ENOENT) {
		return
	}
	for at := len(top) + 1; at < len(m.path); at++ {
		if m.path[at] == '/' {
			_ = unix.Mkdir(m.path[:at], 0o755)
		}
	}
	var st unix.Stat_t
	if unix.Fstat(m.fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		_ = unix.Mkdir(m.path, 0o755)
	} else {
		_ = unix.Mknod(m.path, unix.S_IFREG|0o644, 0)
	}
	must("mount "+m.path, move(m))
}
