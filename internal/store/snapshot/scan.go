package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/glob"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// scan brings a tree up to date and collects the changes.
type scan struct {
	store *Store
	ctx   context.Context
	tree  *tree
	began int64 // nanoseconds since 1970
	start time.Time
	only  map[*node]bool // the folders to look at, with those that are new; nil: all

	room chan struct{} // one for each folder that is looked at beside others
	busy sync.WaitGroup

	mu      sync.Mutex
	unread  []unread // files whose content may have changed
	changes []Change
	count   int
	linked  bool   // a file of several hard links changed
	stop    string // why the root cannot be covered
}

// unread is a file whose content is to be read.
type unread struct {
	n      *node
	name   string
	at     stamp
	before State
}

// The copies of a first scan that reads more than this are put off.
const (
	slowFiles = 1000
	slowBytes = 32 << 20
)

// update scans a tree, or, where they are known, only its folders that were touched since the last scan: the changes
// since the last scan, sorted by path. What the tree then knows is in the store, not yet synced. A tree that was never
// scanned has no changes.
func (s *Store) update(ctx context.Context, t *tree) ([]Change, error) {
	if t.uncovered != "" {
		return nil, nil
	}
	sc := &scan{
		store: s, ctx: ctx, tree: t, began: clock(), start: time.Now(),
		room: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1)),
	}
	now, ok := look(t.root.path)
	if !ok || now.kind() != Dir {
		return nil, fmt.Errorf("%s is no folder any more", t.root.path)
	}
	t.offsets = s.offsets()
	if touched, ok := t.watch.touched(); ok {
		if sc.only = touched; len(touched) == 0 && !t.unsure {
			return nil, nil
		}
		for _, n := range t.unread {
			sc.only[n] = true
		}
	}
	t.unread, t.unsure = nil, false
	sc.folder(t.root, now, false, None)
	sc.busy.Wait()
	if sc.only != nil && sc.linked { // a name of the file may have been written in a folder that was not touched
		sc.only = nil
		sc.folder(t.root, t.root.at, false, None)
		sc.busy.Wait()
	}
	if err := ctx.Err(); err != nil {
		return nil, s.void(t, err)
	}
	if t.fresh && s.opt.Git != nil && len(sc.unread) > s.opt.Few {
		sc.leaveToGit()
	}
	var bytes int64
	for _, u := range sc.unread {
		if u.at.size <= s.opt.MaxFile {
			bytes += u.at.size
		}
	}
	if t.fresh && bytes > s.opt.Limit/2 {
		sc.stop = fmt.Sprintf("its files have %s, and the limit of all snapshots is %s", size(bytes), size(s.opt.Limit))
	}
	if sc.stop != "" {
		s.giveUp(t, sc.stop)
		return nil, nil
	}
	if t.fresh && (bytes > slowBytes || len(sc.unread) > slowFiles) {
		sc.postpone()
	}
	if err := sc.read(); err != nil {
		return nil, s.void(t, err)
	}
	if t.fresh {
		t.fresh, t.changed = false, true
		return nil, nil
	}
	t.changed = t.changed || len(sc.changes) > 0
	changes, err := s.resolve(ctx, t.root.path, joined(sc.changes))
	if err != nil {
		return nil, s.void(t, err)
	}
	return changes, nil
}

// giveUp covers from now on only the files of a root that edits name, and says so at once.
func (s *Store) giveUp(t *tree, why string) {
	t.uncovered, t.changed = why, true
	t.root.entries, t.root.subs = nil, nil
	s.opt.Wait(fmt.Sprintf("Undo does not cover the changes of commands in %s: %s. It covers the files that edits "+
		"name. Settings: snapshots.", t.root.path, why))
}

// joined sorts changes by path. A file that became a folder, or the reverse, has two changes, which become one.
func joined(list []Change) []Change {
	slices.SortStableFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	out := list[:0]
	for _, c := range list {
		if n := len(out); n > 0 && out[n-1].Path == c.Path {
			last := &out[n-1]
			if last.Before.Kind == None {
				last.Before = c.Before
			}
			if last.After.Kind == None {
				last.After = c.After
			}
			continue
		}
		out = append(out, c)
	}
	return out
}

// void forgets a tree after a scan that failed midway, so that the next one starts from the written state.
func (s *Store) void(t *tree, err error) error {
	t.watch.close()
	for path, known := range s.trees {
		if known == t {
			delete(s.trees, path)
		}
	}
	return err
}

// folder looks at one folder and all below. fresh is the state before of files that are new to the tree.
func (sc *scan) folder(n *node, now stamp, force bool, fresh Kind) {
	if sc.ctx.Err() != nil || sc.over(len(n.entries)) {
		return
	}
	if sc.only != nil && !sc.only[n] && !n.fresh && !force {
		for _, s := range n.subs {
			sc.folder(s, s.at, false, None)
		}
		return
	}
	sc.tree.watch.add(n)
	if sc.only != nil {
		if now, _ = look(n.path); now.kind() != Dir {
			sc.again(n)
			return
		}
	}
	was := n.at
	if n.up != nil && !n.fresh && now.mode&modeBits != was.mode&modeBits { // the root itself is not covered
		sc.change(Change{n.path, n.state(), State{Kind: Dir, Mode: uint32(now.mode & modeBits)}})
	}
	n.fresh = false
	stale := !n.sure || now != was || force
	n.at = now
	if n.sure = !now.racy(sc.began); !n.sure {
		sc.again(n)
	}
	names, stamps := n.look()
	if i, ok := n.find(".gitignore"); !force && ok && (stamps[i] != n.entries[i].at) {
		force, stale = true, true
	}
	if stale {
		force = sc.list(n, force, fresh)
		names, stamps = n.look()
	}
	if force {
		n.forget()
	}
	sc.files(n, names, stamps)
	sc.folders(n, force, fresh)
}

// again has the next scan look at a folder although nothing touches it until then.
func (sc *scan) again(n *node) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	n.sure = false
	sc.tree.unread, sc.tree.unsure = append(sc.tree.unread, n), true
}

// look returns the names and the stamps of the folder's files.
func (n *node) look() ([]string, []stamp) {
	names := make([]string, len(n.entries))
	for i := range n.entries {
		names[i] = n.entries[i].name
	}
	stamps := make([]stamp, len(names))
	if len(names) > 0 {
		lookAt(n.path, names, stamps)
	}
	return names, stamps
}

// over counts files and reports whether there are more than the limit.
func (sc *scan) over(more int) bool {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.count += more; sc.count > sc.store.opt.MaxFiles && sc.stop == "" {
		sc.stop = fmt.Sprintf("it has more than %d files", sc.store.opt.MaxFiles)
	}
	if limit := sc.store.opt.Patience; limit > 0 && sc.stop == "" && time.Since(sc.start) > limit {
		sc.stop = fmt.Sprintf("a look at its files takes longer than %s", limit)
	}
	return sc.stop != ""
}

func (sc *scan) change(c Change) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	sc.changes = append(sc.changes, c)
}

// everything is in a folder's skipped names for all of them.
const everything = "*"

// list reads the names of a folder again. It reports whether all below must be read again too, because the ignore files
// of this folder changed.
func (sc *scan) list(n *node, force bool, fresh Kind) bool {
	dir, err := os.ReadDir(n.path)
	if err != nil && len(dir) == 0 {
		dir = nil // gone, or not ours to read: then its files are gone too, as far as can be seen
		if _, there := look(n.path); there {
			return force
		}
	}
	has := func(name string) bool {
		_, ok := slices.BinarySearchFunc(dir, name,
			func(e os.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		return ok
	}
	if _, had := n.find(".gitignore"); had != has(".gitignore") && n.at.ino != 0 && len(n.entries) > 0 {
		force = true
	}
	if force {
		n.ignores = nil
	}
	var entries []entry
	var subs []*node
	skipped := map[string]bool{}
	for _, e := range dir {
		name := e.Name()
		path := filepath.Join(n.path, name)
		if name == ".git" || strings.HasPrefix(name, files.TempPrefix) {
			continue
		}
		regular := e.Type().IsRegular() || e.Type()&os.ModeSymlink != 0
		if !e.IsDir() && !regular || n.ignored(path, e.IsDir()) && !(regular && sc.store.included(sc.tree, path)) {
			skipped[name] = true
			continue
		}
		first := fresh
		if n.skipped[name] {
			first = Unknown
		}
		if e.IsDir() {
			i, ok := n.sub(path)
			sub := &node{path: path, up: n, fresh: true}
			if ok {
				sub = n.subs[i]
			} else if first == Unknown {
				sub.skipped = map[string]bool{everything: true}
			}
			subs = append(subs, sub)
			continue
		}
		i, ok := n.find(name)
		if ok {
			entries = append(entries, n.entries[i])
			continue
		}
		entries = append(entries, entry{name: name, State: State{Kind: first}})
	}
	sc.gone(n, entries, subs, skipped)
	if more := len(entries) - len(n.entries); more > 0 {
		sc.over(more)
	}
	n.entries, n.subs, n.skipped = entries, subs, skipped
	return force
}

// gone reports the files and folders that are not there any more. Those that only ceased to be covered are not.
func (sc *scan) gone(n *node, entries []entry, subs []*node, skipped map[string]bool) {
	kept := make(map[string]bool, len(entries))
	for _, e := range entries {
		kept[e.name] = true
	}
	for _, e := range n.entries {
		if !kept[e.name] && !skipped[e.name] && e.Kind != Unknown && e.Kind != None {
			sc.change(Change{filepath.Join(n.path, e.name), e.State, State{}})
		}
	}
	for _, s := range n.subs {
		name := filepath.Base(s.path)
		i, now := slices.BinarySearchFunc(subs, s.path, func(s *node, p string) int { return strings.Compare(s.path, p) })
		if now && subs[i] == s || skipped[name] {
			continue
		}
		sc.change(Change{s.path, s.state(), State{}})
		s.all(func(path string, st State) {
			if st.Kind != Unknown {
				sc.change(Change{path, st, State{}})
			}
		})
	}
}

// files compares the files of a folder with their stamps.
func (sc *scan) files(n *node, names []string, stamps []stamp) {
	linked := false
	for i := range n.entries {
		e, now := &n.entries[i], stamps[i]
		if now.links > 1 && now.kind() == File {
			linked = true
		}
		if now == (stamp{}) || now.kind() == Unknown || now.kind() == Dir {
			sc.again(n) // it changed since the names were read
			continue
		}
		if e.sure && e.at == now {
			continue
		}
		sc.mu.Lock()
		sc.linked = sc.linked || now.links > 1 && now.kind() == File
		sc.unread = append(sc.unread, unread{n, names[i], now, e.State})
		sc.mu.Unlock()
	}
	if linked { // a write under another name touches another folder
		sc.mu.Lock()
		sc.tree.unread, sc.tree.unsure = append(sc.tree.unread, n), true
		sc.mu.Unlock()
	}
}

// folders looks at the folders below, some of them beside others.
func (sc *scan) folders(n *node, force bool, fresh Kind) {
	if len(n.subs) == 0 {
		return
	}
	names := make([]string, len(n.subs))
	for i, s := range n.subs {
		names[i] = filepath.Base(s.path)
	}
	stamps := make([]stamp, len(names))
	lookAt(n.path, names, stamps)
	for i, s := range n.subs {
		now := stamps[i]
		if now.kind() != Dir || now.ino == 0 {
			sc.again(n)
			continue
		}
		first := None
		if s.fresh {
			if s.skipped[everything] {
				first = Unknown
			}
			sc.change(Change{s.path, State{Kind: first}, State{Kind: Dir, Mode: uint32(now.mode & modeBits)}})
		}
		select {
		case sc.room <- struct{}{}:
			sc.busy.Go(func() {
				sc.folder(s, now, force, first)
				<-sc.room
			})
		default:
			sc.folder(s, now, force, first)
		}
	}
}

// read reads the files that may have changed and stores their contents.
func (sc *scan) read() error {
	var failed error
	var busy sync.WaitGroup
	next := make(chan unread)
	for range runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for u := range next {
				if err := sc.one(u); err != nil {
					sc.mu.Lock()
					failed = cmp.Or(failed, err)
					sc.mu.Unlock()
				}
			}
		})
	}
	for _, u := range sc.unread {
		sc.mu.Lock()
		stop := failed != nil || sc.ctx.Err() != nil
		sc.mu.Unlock()
		if stop {
			break
		}
		next <- u
	}
	close(next)
	busy.Wait()
	return cmp.Or(failed, sc.ctx.Err())
}

// one reads one file.
func (sc *scan) one(u unread) error {
	path := filepath.Join(u.n.path, u.name)
	now, at, sure, err := sc.store.take(path)
	if err != nil {
		return err
	}
	sc.mu.Lock()
	defer sc.mu.Unlock()
	i, ok := u.n.find(u.name)
	if !ok {
		return nil
	}
	if now.Kind == None {
		u.n.entries = slices.Delete(u.n.entries, i, i+1)
		u.n.sure = false
		sc.tree.unread, sc.tree.unsure = append(sc.tree.unread, u.n), true
	} else {
		u.n.entries[i] = entry{u.name, at, sure, now}
		if !sure {
			sc.tree.unread, sc.tree.unsure = append(sc.tree.unread, u.n), true
		}
	}
	if !now.same(u.before) {
		sc.changes = append(sc.changes, Change{path, u.before, now})
	}
	return nil
}

// included reports whether the settings cover a file although it is ignored.
func (s *Store) included(t *tree, path string) bool {
	rel, err := filepath.Rel(t.root.path, path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(s.include, func(g glob.Glob) bool {
		return g.Match(filepath.ToSlash(rel)) || g.Match(filepath.Base(rel))
	})
}

// size writes a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f kB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
