package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
)

// tree is one root in the index.
type tree struct {
	root    Root
	prefix  string // before the paths of its files: "" for the first root
	folders map[string]*folder
	all     []*folder // the same, for searching
	above   signature // of the ignore files above
}

// folder is the files of one folder. It is replaced when it changes, never changed.
type folder struct {
	rel   string // below the root, with slashes
	dir   string // as a match shows it, with a slash at the end; "" for the first root itself
	mask  uint64 // of dir
	names string // of its files, one after the other
	ends  []uint32
	masks []uint64 // of the names
	subs  []string // names of the folders in it that are indexed

	rules *ignoring // that hold in it
	own   signature // of its ignore files
	mod   time.Time // when it changed last, zero when that cannot be relied on
}

func (f *folder) name(i int) string {
	from := uint32(0)
	if i > 0 {
		from = f.ends[i-1]
	}
	return f.names[from:f.ends[i]]
}

// signature shows whether ignore files changed.
type signature string

func signatureOf(paths ...string) signature {
	var b strings.Builder
	for _, p := range paths {
		if info, err := os.Lstat(p); err == nil {
			b.WriteString(p + " " + info.ModTime().String() + "\n")
		}
	}
	return signature(b.String())
}

func ownSignature(dir string) signature {
	return signatureOf(filepath.Join(dir, ".rgignore"), filepath.Join(dir, ".ignore"), filepath.Join(dir, ".gitignore"),
		filepath.Join(dir, ".git"), filepath.Join(dir, ".git", "info", "exclude"))
}

func aboveSignature(dir string) signature {
	s := signatureOf(GlobalIgnore())
	for d := filepath.Dir(dir); ; d = filepath.Dir(d) {
		if anyIgnoreFile(d) {
			s += ownSignature(d)
		}
		if filepath.Dir(d) == d {
			return s
		}
	}
}

// working lists the roots to index: those one works in, without those inside of others.
func (x *Index) working() []Root {
	all := x.roots.List()
	return slices.DeleteFunc(slices.Clone(all), func(r Root) bool {
		return r.ReadOnly || slices.ContainsFunc(all, func(o Root) bool {
			return o.Path != r.Path && !o.ReadOnly && Within(o.Path, r.Path)
		})
	})
}

// stale reports whether something is to be read before a search.
func (x *Index) stale() bool {
	s := &x.state
	roots := x.working()
	if len(roots) != len(s.trees) || time.Since(s.swept) > x.sweepAfter() || s.watch.noted() {
		return true
	}
	for i, r := range roots {
		if s.trees[i].root != r {
			return true
		}
	}
	return false
}

func (x *Index) sweepAfter() time.Duration {
	gone := slices.ContainsFunc(x.state.trees, func(t *tree) bool { return t.folders[""] == nil })
	if x.state.watch.complete() && !gone {
		return sweepWatched
	}
	return x.state.every
}

// update brings the index up to date.
func (x *Index) update() {
	s := &x.state
	s.version++
	if !s.watched {
		s.watched, s.watch = true, newWatching()
	}
	x.syncRoots()
	changed := s.watch.take()
	sweep := time.Since(s.swept) > x.sweepAfter()
	for _, t := range s.trees {
		switch {
		case changed.all || sweep && t.above != aboveSignature(t.root.Path):
			x.scanTree(t)
		default:
			x.readAgain(t, changed, sweep)
		}
		t.list()
	}
	if sweep || changed.all {
		s.swept = time.Now()
	}
}

// syncRoots makes the trees those of the roots.
func (x *Index) syncRoots() {
	s := &x.state
	old := s.trees
	s.trees = nil
	for i, r := range x.working() {
		at := slices.IndexFunc(old, func(t *tree) bool { return t.root == r && (t.prefix == "") == (i == 0) })
		if at >= 0 {
			s.trees = append(s.trees, old[at])
			old = slices.Delete(old, at, at+1)
			continue
		}
		t := &tree{root: r, folders: map[string]*folder{}}
		if i > 0 {
			t.prefix = strings.TrimSuffix(filepath.ToSlash(r.Path), "/") + "/"
		}
		s.trees = append(s.trees, t)
		x.scanTree(t)
	}
	for _, t := range old {
		x.drop(t, "")
	}
}

// scanTree reads a root from its beginning.
func (x *Index) scanTree(t *tree) {
	x.drop(t, "")
	t.above = aboveSignature(t.root.Path)
	dir, err := x.roots.openDir(&t.root, t.root.Path)
	if err != nil {
		return // it is gone for now; the next sweep looks again
	}
	defer dir.Close()
	g, _ := above(t.root.Path)
	x.scan(t, dir, "", g, 0)
}

// scan reads a folder that is open, and those in it.
func (x *Index) scan(t *tree, dir *os.Root, rel string, up *ignoring, depth int) {
	if x.ctx.Err() != nil || x.state.count >= x.state.limit {
		return
	}
	f := x.read(t, dir, rel, up)
	if f == nil {
		return
	}
	x.put(t, f)
	for _, name := range f.subs {
		if depth < maxDepth {
			x.scanSub(t, dir, f, name, depth+1)
		}
	}
}

func (x *Index) scanSub(t *tree, dir *os.Root, f *folder, name string, depth int) {
	if info, err := dir.Lstat(name); err != nil || !info.IsDir() {
		return // gone, or a link by now
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return
	}
	defer sub.Close()
	x.scan(t, sub, join(f.rel, name), f.rules, depth)
}

// read lists a folder, after it began to be watched: changes meanwhile are noted.
func (x *Index) read(t *tree, dir *os.Root, rel string, up *ignoring) *folder {
	abs := filepath.Join(t.root.Path, filepath.FromSlash(rel))
	x.state.watch.add(abs)
	f := &folder{rel: rel, dir: t.prefix}
	if rel != "" {
		f.dir = t.prefix + rel + "/"
	}
	f.mask = fuzzy.Mask(f.dir)
	began := time.Now()
	if info, err := dir.Stat("."); err == nil && began.Sub(info.ModTime()) > granularity {
		f.mod = info.ModTime()
	}
	list, err := readNames(dir, abs)
	if err != nil {
		return nil
	}
	has := func(name string) bool {
		_, found := slices.BinarySearchFunc(list, name,
			func(e os.DirEntry, n string) int { return strings.Compare(e.Name(), n) })
		return found
	}
	if slices.ContainsFunc(rulesNames(), has) {
		f.own = ownSignature(abs)
	}
	f.rules = up.enter(dir, filepath.ToSlash(abs), has)
	f.fill(list, abs)
	return f
}

// fill takes over the entries that are not excluded.
func (f *folder) fill(list []os.DirEntry, abs string) {
	var names strings.Builder
	for _, e := range list {
		path := filepath.Join(abs, e.Name())
		switch {
		case VCSFolder(e.Name()) || f.rules.ignored(filepath.ToSlash(path), e.IsDir()):
		case !e.IsDir():
			names.WriteString(e.Name())
			f.ends = append(f.ends, uint32(names.Len()))
			f.masks = append(f.masks, fuzzy.Mask(e.Name()))
		case !kernelFolder(path):
			f.subs = append(f.subs, e.Name())
		}
	}
	f.names, f.ends, f.masks = names.String(), slices.Clip(f.ends), slices.Clip(f.masks)
}

func (x *Index) put(t *tree, f *folder) {
	if old := t.folders[f.rel]; old != nil {
		x.state.count -= len(old.ends)
	}
	t.folders[f.rel] = f
	x.state.count += len(f.ends)
}

// drop forgets a folder and those in it.
func (x *Index) drop(t *tree, rel string) {
	f := t.folders[rel]
	if f == nil {
		return
	}
	delete(t.folders, rel)
	x.state.count -= len(f.ends)
	x.state.watch.remove(filepath.Join(t.root.Path, filepath.FromSlash(rel)))
	for _, name := range f.subs {
		x.drop(t, join(rel, name))
	}
}

// list makes the folders ready for searching, in the order of their names.
func (t *tree) list() {
	t.all = t.all[:0:0]
	for _, f := range t.folders {
		t.all = append(t.all, f)
	}
	slices.SortFunc(t.all, func(a, b *folder) int { return strings.Compare(a.rel, b.rel) })
}

// readAgain reads the folders that the watcher noted and, in a sweep, those whose time of change is another.
func (x *Index) readAgain(t *tree, changed notes, sweep bool) {
	var again []string
	whole := map[string]bool{}
	for abs, all := range changed.folders {
		rel, err := filepath.Rel(t.root.Path, abs)
		if rel = filepath.ToSlash(rel); rel == "." {
			rel = ""
		}
		if err == nil && t.folders[rel] != nil {
			again, whole[rel] = append(again, rel), all
		}
	}
	if sweep {
		for rel, f := range t.folders {
			abs := filepath.Join(t.root.Path, filepath.FromSlash(rel))
			info, err := os.Lstat(abs)
			if other := f.own != "" && f.own != ownSignature(abs); other || err != nil || f.mod.IsZero() ||
				!info.ModTime().Equal(f.mod) {
				again = append(again, rel)
				whole[rel] = whole[rel] || other
			}
		}
	}
	slices.Sort(again) // from above, so that a folder read with one above it is not read twice
	for _, rel := range slices.Compact(again) {
		x.readOne(t, rel, whole[rel])
	}
	if t.folders[""] == nil {
		x.scanTree(t) // it was gone
	}
}

// readOne reads a folder again, with its new subfolders; whole: with all of them.
func (x *Index) readOne(t *tree, rel string, whole bool) {
	old := t.folders[rel]
	if old == nil {
		return // gone with a folder above
	}
	up := old.rules // its own rules are the same
	if whole {
		up = x.rulesAbove(t, rel)
		x.drop(t, rel)
	}
	dir, err := x.roots.openDir(&t.root, filepath.Join(t.root.Path, filepath.FromSlash(rel)))
	if err != nil {
		x.drop(t, rel)
		return
	}
	defer dir.Close()
	if whole {
		x.scan(t, dir, rel, up, strings.Count(rel, "/")+1)
		return
	}
	f := x.read(t, dir, rel, up.without(filepath.ToSlash(filepath.Join(t.root.Path, filepath.FromSlash(rel)))))
	if f == nil {
		x.drop(t, rel)
		return
	}
	if f.own != old.own {
		x.readOne(t, rel, true) // other rules hold in all that is in it
		return
	}
	x.put(t, f)
	for _, name := range old.subs {
		if !slices.Contains(f.subs, name) {
			x.drop(t, join(rel, name))
		}
	}
	for _, name := range f.subs {
		if t.folders[join(rel, name)] == nil {
			x.scanSub(t, dir, f, name, strings.Count(rel, "/")+2)
		}
	}
}

// without is the rules above a folder, given those in it.
func (g *ignoring) without(base string) *ignoring {
	if g != nil && g.base == base {
		return g.up
	}
	return g
}

func (x *Index) rulesAbove(t *tree, rel string) *ignoring {
	if rel == "" {
		g, _ := above(t.root.Path)
		return g
	}
	parent := ""
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		parent = rel[:i]
	}
	if f := t.folders[parent]; f != nil {
		return f.rules
	}
	return nil
}
