package boundary

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

// roomInMemory reports whether a folder is in memory, with so many free bytes, and keeps the marks of overlays there.
func roomInMemory(dir string, free uint64) bool {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Type != unix.TMPFS_MAGIC || st.Bavail*uint64(st.Bsize) < free {
		return false
	}
	err := unix.Setxattr(dir, "user.lathe", nil, unix.XATTR_REPLACE)
	return !errors.Is(err, unix.ENOTSUP) // since Linux 6.6
}

func sameOwner(path string, fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() || os.Geteuid() != 0 {
		return nil
	}
	return os.Lchown(path, int(st.Uid), int(st.Gid))
}

func aliveProcess(pid int) bool { return !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// Changes returns what the command changed in its private view, sorted by path: files whose content, mode or target
// differs now, new ones and removed ones. Folders count where they are new or gone. Call it when the command has ended.
func (r *Run) Changes() ([]Change, error) {
	var out []Change
	for _, o := range r.Policy.View {
		l := layerWalk{layer: o, began: r.beganAt}
		if err := l.folder("", false); err != nil {
			return nil, fmt.Errorf("the changes of the command cannot be read: %w", err)
		}
		out = append(out, l.found...)
	}
	slices.SortFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// layerWalk collects the changes of one overlay.
type layerWalk struct {
	layer confine.Overlay
	began time.Time
	found []Change
}

// folder goes through a folder of the upper layer. A fresh one hides what was below it.
func (l *layerWalk) folder(rel string, fresh bool) error {
	entries, err := os.ReadDir(filepath.Join(l.layer.Upper, rel))
	if err != nil {
		return err
	}
	names := make(map[string]bool, len(entries))
	for _, e := range entries {
		names[e.Name()] = true
		if err := l.entry(filepath.Join(rel, e.Name()), fresh); err != nil {
			return err
		}
	}
	if !fresh {
		return nil
	}
	for _, name := range namesIn(filepath.Join(l.layer.Dir, rel)) {
		if !names[name] {
			l.removed(filepath.Join(rel, name))
		}
	}
	return nil
}

// entry looks at one name of the upper layer.
func (l *layerWalk) entry(rel string, fresh bool) error {
	upper, path := filepath.Join(l.layer.Upper, rel), filepath.Join(l.layer.Dir, rel)
	fi, err := os.Lstat(upper)
	if err != nil {
		return err
	}
	was, err := os.Lstat(path)
	if err != nil {
		was = nil
	}
	switch {
	case whiteout(fi):
		l.removed(rel)
		return nil
	case fi.IsDir():
		switch {
		case was == nil:
			l.add(Change{Path: path, Info: fi})
		case !was.IsDir():
			l.removed(rel)
			l.add(Change{Path: path, Info: fi, Was: was})
		}
		return l.folder(rel, fresh || opaque(upper))
	case was != nil && was.IsDir():
		l.removed(rel)
	case same(upper, fi, path, was):
		return nil
	}
	l.add(Change{Path: path, File: upper, Info: fi, Was: was})
	return nil
}

// removed notes a file, or a folder after everything in it.
func (l *layerWalk) removed(rel string) {
	path := filepath.Join(l.layer.Dir, rel)
	was, err := os.Lstat(path)
	if err != nil {
		return
	}
	if was.IsDir() {
		for _, name := range namesIn(path) {
			l.removed(filepath.Join(rel, name))
		}
	}
	l.add(Change{Path: path, Was: was})
}

func (l *layerWalk) add(c Change) {
	c.Late = c.Was != nil && !c.Was.IsDir() && changedAt(c.Was).After(l.began)
	l.found = append(l.found, c)
}

// changedAt is the time of the last change of a file, which no program can set.
func changedAt(fi fs.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return fi.ModTime()
}

// whiteout reports whether overlayfs marks the name as removed: a character device with the number 0.
func whiteout(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && fi.Mode()&os.ModeCharDevice != 0 && st.Rdev == 0
}

// opaque reports whether a folder of the upper layer hides all that the lower one has there.
func opaque(dir string) bool {
	value := make([]byte, 8)
	n, err := unix.Lgetxattr(dir, "user.overlay.opaque", value)
	return err == nil && n > 0 && value[0] == 'y'
}

// same reports whether a copied file has the type, the mode and the content of the one below.
func same(upper string, fi fs.FileInfo, path string, was fs.FileInfo) bool {
	if was == nil || fi.Mode() != was.Mode() || fi.Size() != was.Size() {
		return false
	}
	if fi.Mode()&os.ModeSymlink != 0 {
		now, err1 := os.Readlink(upper)
		before, err2 := os.Readlink(path)
		return err1 == nil && err2 == nil && now == before
	}
	return fi.Mode().IsRegular() && sameContent(upper, path)
}

func sameContent(a, b string) bool {
	fa, err := os.Open(a)
	if err != nil {
		return false
	}
	defer fa.Close()
	fb, err := os.Open(b)
	if err != nil {
		return false
	}
	defer fb.Close()
	ba, bb := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, erra := io.ReadFull(fa, ba)
		m, errb := io.ReadFull(fb, bb)
		if !bytes.Equal(ba[:n], bb[:m]) {
			return false
		}
		if erra != nil || errb != nil {
			return errors.Is(erra, errb) || errors.Is(erra, io.ErrUnexpectedEOF) && errors.Is(errb, io.ErrUnexpectedEOF)
		}
	}
}
