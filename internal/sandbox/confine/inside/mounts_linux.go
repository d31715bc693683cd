//go:build amd64 || arm64

package inside

import (
	"golang.org/x/sys/unix"
)

const readOnlyMount = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// devices are the only devices inside.
var devices = [...]string{"null", "zero", "full", "random", "urandom"}

// mounted is a detached copy of a mount. It is made before everything becomes read-only, so it keeps its write access.
type mounted struct {
	path string
	fd   int
}

// mounts makes the file system of this process and its descendants read-only, except for the plan's writable folders.
func (p *Plan) mounts() {
	check("make the mounts private", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	for _, o := range p.Overlay {
		options := "lowerdir=" + o.Dir + ",upperdir=" + o.Upper + ",workdir=" + o.Work + ",userxattr,volatile"
		if unix.Mount("overlay", o.Dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options) != nil {
			check("mount "+o.Upper+" on "+o.Dir, unix.Mount(o.Upper, o.Dir, "", unix.MS_BIND, ""))
		}
	}
	nodes := take("/dev/", devices[:])
	open := take("", p.Write)
	for _, o := range p.Overlay {
		open = append(open, take("", []string{o.Dir})...)
	}
	for _, path := range p.Show {
		open = append(open, mounted{path, locked(path)})
	}
	temp := mounted{"/tmp", p.temp()}
	check("make the file system read-only", unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: readOnlyMount}))
	makeTemp(temp)
	makeDev(nodes)
	for _, dir := range p.Empty {
		check("empty "+dir, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755,size=1m"))
	}
	p.makeProc()
	for _, m := range open {
		check("mount "+m.path, attach(m))
	}
	for _, dir := range p.Empty {
		check("lock "+dir, unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_set: readOnlyMount}))
	}
	p.guard()
}

// guard pins, protects and masks paths within the writable mounts.
func (p *Plan) guard() {
	for _, path := range p.Pin {
		check("pin "+path, attach(mounted{path, clone(path)}))
	}
	for _, path := range p.Protect {
		check("protect "+path, attach(mounted{path, locked(path)}))
	}
	for _, path := range p.Mask {
		var st unix.Stat_t
		if unix.Lstat(path, &st) != nil {
			continue // hidden already, below another mount
		}
		cover := maskFile
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			cover = maskDir
		}
		check("mask "+path, attach(mounted{path, locked(cover)}))
	}
}

// The covers of masked paths: they have no permission bits and a read-only mount, and no process inside has the
// capabilities to bypass both.
const (
	maskFile = "/dev/.masked-file"
	maskDir  = "/dev/.masked-folder"
)

// temp returns the mount for /tmp, -1 for a new one.
func (p *Plan) temp() int {
	if p.Temp == "" {
		return -1
	}
	if p.TempWork != "" {
		options := "lowerdir=/tmp,upperdir=" + p.Temp + ",workdir=" + p.TempWork + ",userxattr,volatile"
		if unix.Mount("overlay", "/tmp", "overlay", unix.MS_NOSUID|unix.MS_NODEV, options) == nil {
			return clone("/tmp")
		}
	}
	return clone(p.Temp)
}

// makeProc mounts this namespace's /proc.
func (p *Plan) makeProc() {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	check("mount /proc", unix.Mount("proc", "/proc", "proc", flags, ""))
	p.limitProcesses()
	check("make /proc read-only", unix.Mount("", "/proc", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|flags, ""))
}

// makeTemp mounts private folders for /tmp and shared memory.
func makeTemp(m mounted) {
	if m.fd >= 0 {
		check("mount /tmp", attach(m))
		return
	}
	check("mount /tmp", unix.Mount("tmpfs", "/tmp", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"))
}

// makeDev builds a /dev of a few harmless devices, private pseudo-terminals and private shared memory.
func makeDev(nodes []mounted) {
	check("mount /dev", unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=1m"))
	for _, m := range nodes {
		check("make "+m.path, touch(m.path, 0o666))
		check("mount "+m.path, attach(m))
	}
	for _, dir := range [...]string{"/dev/shm", "/dev/pts"} {
		check("make "+dir, unix.Mkdir(dir, 0o755))
	}
	check("mount /dev/shm", unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"))
	if unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620") == nil {
		_ = unix.Symlink("pts/ptmx", "/dev/ptmx") // without, a program gets no pseudo-terminal, and says so
	}
	for name, target := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		check("link /dev/"+name, unix.Symlink("/proc/self/fd"+target, "/dev/"+name))
	}
	check("make a mask", touch(maskFile, 0))
	check("make a mask", unix.Mkdir(maskDir, 0))
	check("make /dev read-only", unix.MountSetattr(unix.AT_FDCWD, "/dev", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}))
}

func touch(path string, mode uint32) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// take copies the mounts of the paths that exist.
func take(prefix string, paths []string) []mounted {
	out := make([]mounted, 0, len(paths))
	for _, path := range paths {
		fd, err := unix.OpenTree(unix.AT_FDCWD, prefix+path, treeFlags)
		if err == unix.ENOENT {
			continue
		}
		check("take "+prefix+path, err)
		out = append(out, mounted{prefix + path, fd})
	}
	return out
}

const treeFlags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW

func clone(path string) int {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, treeFlags)
	check("take "+path, err)
	return fd
}

// locked returns a read-only copy of a mount.
func locked(path string) int {
	fd := clone(path)
	check("lock "+path, unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: readOnlyMount}))
	return fd
}

// attach mounts at a path, which it creates if a private folder hides it.
func attach(m mounted) error {
	err := unix.MoveMount(m.fd, "", unix.AT_FDCWD, m.path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err == unix.ENOENT {
		var st unix.Stat_t
		if serr := unix.Fstat(m.fd, &st); serr != nil {
			return serr
		}
		if err := makePath(m.path, st.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
			return err
		}
		err = unix.MoveMount(m.fd, "", unix.AT_FDCWD, m.path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	unix.Close(m.fd)
	return err
}

// makePath makes a mount point and its parents.
func makePath(path string, dir bool) error {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			if err := unix.Mkdir(path[:i], 0o755); err != nil && err != unix.EEXIST && err != unix.EROFS {
				return err
			}
		}
	}
	if dir {
		return unix.Mkdir(path, 0o755)
	}
	return touch(path, 0o644)
}

func check(step string, err error) {
	if err != nil {
		failed(step, err)
	}
}
