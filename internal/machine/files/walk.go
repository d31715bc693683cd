package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// WalkOptions name the files that a walk leaves out.
type WalkOptions struct {
	// Ignore reads .gitignore, .git/info/exclude and .ignore files and applies them.
	Ignore bool
	// KeepFiles visits single files that are excluded all the same; their Entry is marked.
	KeepFiles bool
	// Enter decides which folders are entered, by name, path below the start and whether ignore files
	// exclude it. Nil: those that are not excluded.
	Enter func(name, rel string, ignored bool) bool
}

// Entry is one file of a walk: anything but a folder. Links are entries too and are not followed.
type Entry struct {
	Path    string // absolute
	Rel     string // below the start, with slashes
	Type    fs.FileMode
	Ignored bool // excluded by an ignore file

	dir  *os.Root
	name string
}

// Stat looks at the file, not following a link. It and Open are good only until the callback returns.
func (e Entry) Stat() (fs.FileInfo, error) { return e.dir.Lstat(e.name) }

// Open opens the file for reading without ever waiting for it.
func (e Entry) Open() (*os.File, error) { return e.dir.OpenFile(e.name, os.O_RDONLY|nonblock, 0) }

// Walked sums up a walk.
type Walked struct {
	Files, Dirs int
	Unreadable  int // folders that could not be read
	TooDeep     int // folders below the deepest level a walk goes to
}

// maxDepth is how many levels a walk goes down; each keeps a folder open.
const maxDepth = 400

// SkipAll ends a walk without an error.
var SkipAll = fs.SkipAll

// Walk calls fn for each file below start (a folder by its real path), folder by folder, in the order of
// their names: a folder's files before its folders. It follows no links and stays below start whatever
// happens meanwhile. The first error of fn ends it; SkipAll ends it without one.
func (r *Roots) Walk(ctx context.Context, start Path, opt WalkOptions, fn func(Entry) error) (Walked, error) {
	dir, err := r.openDir(start.Root, start.Real)
	if err != nil {
		return Walked{}, err
	}
	defer dir.Close()
	w := &walker{ctx: ctx, opt: opt, fn: fn}
	var g *ignoring
	if opt.Ignore {
		g, _ = above(start.Real)
	}
	err = w.walk(dir, start.Real, "", g, 0)
	if errors.Is(err, SkipAll) {
		err = nil
	}
	return w.sum, err
}

type walker struct {
	ctx context.Context
	opt WalkOptions
	fn  func(Entry) error
	sum Walked
}

func (w *walker) walk(dir *os.Root, abs, rel string, g *ignoring, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	list, err := readNames(dir, abs)
	if err != nil {
		w.sum.Unreadable++
		if depth == 0 {
			return err
		}
		return nil
	}
	w.sum.Dirs++
	if w.opt.Ignore {
		g = g.enter(dir, filepath.ToSlash(abs), func(name string) bool {
			_, found := slices.BinarySearchFunc(list, name,
				func(e fs.DirEntry, n string) int { return strings.Compare(e.Name(), n) })
			return found
		})
	}
	if err := w.files(dir, list, abs, rel, g); err != nil {
		return err
	}
	return w.folders(dir, list, abs, rel, g, depth)
}

func (w *walker) files(dir *os.Root, list []fs.DirEntry, abs, rel string, g *ignoring) error {
	for _, e := range list {
		if e.IsDir() {
			continue
		}
		path := below(abs, e.Name())
		ignored := g != nil && g.ignored(filepath.ToSlash(path), false)
		if ignored && !w.opt.KeepFiles {
			continue
		}
		w.sum.Files++
		if err := w.fn(Entry{path, join(rel, e.Name()), e.Type(), ignored, dir, e.Name()}); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) folders(dir *os.Root, list []fs.DirEntry, abs, rel string, g *ignoring, depth int) error {
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		path, sub := below(abs, e.Name()), join(rel, e.Name())
		ignored := g != nil && g.ignored(filepath.ToSlash(path), true)
		if w.opt.Enter == nil && ignored || w.opt.Enter != nil && !w.opt.Enter(e.Name(), sub, ignored) {
			continue
		}
		if kernelFolder(path) {
			continue
		}
		if depth >= maxDepth {
			w.sum.TooDeep++
			continue
		}
		if err := w.enter(dir, e.Name(), path, sub, g, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// kernelFolder reports whether a folder holds no files but faces of the kernel; a walk that comes from
// above leaves them out.
func kernelFolder(path string) bool {
	return runtime.GOOS == "linux" && (path == "/proc" || path == "/sys" || path == "/dev")
}

func (w *walker) enter(dir *os.Root, name, abs, rel string, g *ignoring, depth int) error {
	if info, err := dir.Lstat(name); err != nil || !info.IsDir() {
		return nil // gone, or a link by now
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		w.sum.Unreadable++
		return nil
	}
	defer sub.Close()
	return w.walk(sub, abs, rel, g, depth)
}

// below is filepath.Join for a clean folder and a single name, without cleaning them again.
func below(dir, name string) string {
	if os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name // the root of the file system
	}
	return dir + string(filepath.Separator) + name
}

func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}

// readNames lists a folder, sorted by name. abs is its path.
func readNames(dir *os.Root, abs string) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := readEntries(f, abs)
	if err != nil && len(list) == 0 {
		return nil, err
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}
