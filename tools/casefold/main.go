// Command casefold mounts a file system whose names differ in more than case, as on macOS and Windows, over a folder,
// so that tests run on one where the kernel has none. It needs /dev/fuse and the right to mount, and unmounts when it
// is interrupted.
//
//	cd tools/casefold && go run . DATA MOUNT &
//	TMPDIR=MOUNT go test ./internal/snapshot
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// paths has the last known real path of each file, by inode: the kernel looks every name up again before it is used.
type paths struct {
	mu sync.Mutex
	of map[uint64]string
}

func (p *paths) get(ino uint64) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[ino]
}

func (p *paths) set(ino uint64, path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[ino] = path
}

func (p *paths) move(from, to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ino, path := range p.of {
		if path == from || strings.HasPrefix(path, from+"/") {
			p.of[ino] = to + path[len(from):]
		}
	}
}

type node struct {
	fs.Inode
	*paths
}

func (n *node) path() string { return n.get(n.StableAttr().Ino) }

// real is the path of a name in the folder: of the file whose name folds to the same, if there is one.
func (n *node) real(name string) string {
	dir := n.path()
	if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
		return filepath.Join(dir, name)
	}
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if strings.EqualFold(e.Name(), name) {
			return filepath.Join(dir, e.Name())
		}
	}
	return filepath.Join(dir, name)
}

// child is the inode of a real path.
func (n *node) child(ctx context.Context, path string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	n.set(st.Ino, path)
	out.FromStat(&st)
	return n.NewInode(ctx, &node{paths: n.paths}, fs.StableAttr{Mode: st.Mode, Ino: st.Ino}), 0
}

// made is the inode of a file that was made, or the error of making it.
func (n *node) made(ctx context.Context, path string, err error, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	return n.child(ctx, path, out)
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.child(ctx, n.real(name), out)
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := n.real(name)
	return n.made(ctx, path, syscall.Mkdir(path, mode), out)
}

func (n *node) Mknod(ctx context.Context, name string, mode, dev uint32, out *fuse.EntryOut) (*fs.Inode,
	syscall.Errno,
) {
	path := n.real(name)
	return n.made(ctx, path, syscall.Mknod(path, mode, int(dev)), out)
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := n.real(name)
	return n.made(ctx, path, os.Symlink(target, path), out)
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode,
	syscall.Errno,
) {
	path := n.real(name)
	return n.made(ctx, path, os.Link(target.(*node).path(), path), out)
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(syscall.Rmdir(n.real(name)))
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(syscall.Unlink(n.real(name)))
}

func (n *node) Rename(_ context.Context, name string, parent fs.InodeEmbedder, newName string,
	flags uint32,
) syscall.Errno {
	if flags != 0 {
		return syscall.EINVAL
	}
	from, to := n.real(name), parent.(*node).real(newName)
	if from == to || sameFile(from, to) && strings.EqualFold(filepath.Base(from), newName) && parent.(*node) == n {
		to = filepath.Join(filepath.Dir(to), newName) // only the case changes
	}
	err := syscall.Rename(from, to)
	if err == nil {
		n.move(from, to)
	}
	return fs.ToErrno(err)
}

func sameFile(a, b string) bool {
	x, err := os.Lstat(a)
	y, err2 := os.Lstat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) {
	target, err := os.Readlink(n.path())
	return []byte(target), fs.ToErrno(err)
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	return fs.NewLoopbackDirStream(n.path())
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fd, err := syscall.Open(n.path(), int(flags)&^syscall.O_APPEND, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	return fs.NewLoopbackFile(fd), 0, 0
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode,
	fs.FileHandle, uint32, syscall.Errno,
) {
	path := n.real(name)
	fd, err := syscall.Open(path, int(flags)&^syscall.O_APPEND|syscall.O_CREAT, mode)
	if err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	inode, errno := n.child(ctx, path, out)
	return inode, fs.NewLoopbackFile(fd), 0, errno
}

func (n *node) Getattr(_ context.Context, f fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	if err := syscall.Lstat(n.path(), &st); err != nil || st.Ino != n.StableAttr().Ino {
		if a, ok := f.(fs.FileGetattrer); ok {
			return a.Getattr(context.Background(), out)
		}
		return syscall.ENOENT
	}
	out.FromStat(&st)
	return 0
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if a, ok := f.(fs.FileSetattrer); ok {
		return a.Setattr(ctx, in, out)
	}
	path := n.path()
	if mode, ok := in.GetMode(); ok {
		if err := syscall.Chmod(path, mode); err != nil {
			return fs.ToErrno(err)
		}
	}
	if size, ok := in.GetSize(); ok {
		if err := syscall.Truncate(path, int64(size)); err != nil {
			return fs.ToErrno(err)
		}
	}
	if mtime, ok := in.GetMTime(); ok {
		if err := os.Chtimes(path, mtime, mtime); err != nil {
			return fs.ToErrno(err)
		}
	}
	return n.Getattr(ctx, f, out)
}

func run(data, mount string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(data, &st); err != nil {
		return err
	}
	data, err := filepath.Abs(data)
	if err != nil {
		return err
	}
	known := &paths{of: map[uint64]string{st.Ino: data}}
	server, err := fs.Mount(mount, &node{paths: known}, &fs.Options{
		RootStableAttr: &fs.StableAttr{Mode: st.Mode, Ino: st.Ino}, MountOptions: fuse.MountOptions{
			DirectMount: true,
			FsName:      "casefold",
		},
	})
	if err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	go func() { <-end; _ = server.Unmount() }()
	fmt.Println("mounted", mount)
	server.Wait()
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: casefold DATA MOUNT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "casefold:", err)
		os.Exit(1)
	}
}
