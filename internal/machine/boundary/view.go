package boundary

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
	"github.com/lathe-dev/lathe/internal/permission"
)

// narrow takes write access to the working folders from a policy. With ReachView the command gets overlays on them.
func (b *Boundary) narrow(p *confine.Policy, folders []string, reach permission.Reach) error {
	if reach != permission.ReachView && reach != permission.ReachRead || p.Mode != confine.Workspace {
		return nil
	}
	p.Write = slices.DeleteFunc(p.Write, func(dir string) bool { return slices.Contains(folders, dir) })
	if reach == permission.ReachRead || b.support().Carrier != "" || b.support().Tier != confine.Full {
		p.Show = append(p.Show, folders...)
		return nil
	}
	n := b.commands.Add(1)
	for i, dir := range outermost(folders) {
		o := b.layer(dir, strconv.FormatInt(n, 10)+"-"+strconv.Itoa(i))
		if err := makeLayer(o); err != nil {
			return err
		}
		p.View = append(p.View, o)
	}
	return nil
}

// outermost leaves out folders that lie in others.
func outermost(folders []string) (out []string) {
	for _, dir := range folders {
		if !slices.ContainsFunc(folders, func(o string) bool { return o != dir && within(dir, o) }) &&
			!slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// layer returns the overlay of one folder for one command.
func (b *Boundary) layer(dir, name string) confine.Overlay {
	at := filepath.Join(b.layers(), name)
	if b.onDisk.Load() {
		at = filepath.Join(b.temp, "work", name)
	}
	return confine.Overlay{Dir: dir, Upper: filepath.Join(at, "upper"), Work: filepath.Join(at, "work")}
}

// makeLayer makes the folders of an overlay. The upper one has the mode and the owner of the folder, which the overlay
// takes from it.
func makeLayer(o confine.Overlay) error {
	fi, err := os.Stat(o.Dir)
	if err != nil {
		return err
	}
	for _, dir := range []string{o.Upper, o.Work} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.Chmod(o.Upper, fi.Mode().Perm()); err != nil {
		return err
	}
	return sameOwner(o.Upper, fi)
}

// memoryRoom is the free memory that a view needs, in bytes: with less the changes go to the disk.
const memoryRoom = 2 << 30

// layers is the folder of the views' changes: in memory, where there is room, which saves about 2 ms a command.
func (b *Boundary) layers() string {
	b.layersOnce.Do(func() {
		b.layersDir = filepath.Join(b.temp, "work")
		if b.viewMB() == 0 || !roomInMemory(sharedMemory, memoryRoom) {
			return
		}
		sweepLayers()
		if dir, err := os.MkdirTemp(sharedMemory, layersPrefix+strconv.Itoa(os.Getpid())+"-"); err == nil {
			b.layersDir, b.inMemory = dir, dir
		}
	})
	return b.layersDir
}

// sharedMemory is a file system in memory that every user may write.
const sharedMemory = "/dev/shm"

const layersPrefix = "lathe-view-"

// sweepLayers removes the views of processes that were killed.
func sweepLayers() {
	for _, name := range namesIn(sharedMemory) {
		rest, ours := strings.CutPrefix(name, layersPrefix)
		pid, _, _ := strings.Cut(rest, "-")
		if n, err := strconv.Atoi(pid); ours && err == nil && !aliveProcess(n) {
			dir := filepath.Join(sharedMemory, name)
			openFolders(dir)
			_ = os.RemoveAll(dir) // what belongs to another user stays
		}
	}
}

// Change is one file of a private view that differs from the working folder's.
type Change struct {
	Path string      // in the working folder, absolute
	File string      // the file or link with the new content; "" for a folder and for a removed file
	Info fs.FileInfo // of the new file or folder; nil: it was removed
	Was  fs.FileInfo // before the command; nil: there was none
	Late bool        // somebody else changed the file after the command began
}

// Viewed reports whether the command has a private view of all working folders.
func (r *Run) Viewed() bool {
	return len(r.Policy.View) > 0 && !slices.ContainsFunc(r.Policy.View, func(o confine.Overlay) bool {
		return !there(filepath.Join(o.Work, "work"))
	})
}

// Drop forgets the changes of a view.
func (r *Run) Drop() {
	for _, o := range r.Policy.View {
		dir := filepath.Dir(o.Upper)
		openFolders(dir)
		_ = os.RemoveAll(dir) // Close removes the rest
	}
}
