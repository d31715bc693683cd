package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// Limits of a look at the coverage: it is made while somebody waits for a question.
const (
	coverageTime  = 150 * time.Millisecond
	coverageNames = 30_000
	coverageShown = 4
)

// Coverage is the answer, before a command runs, to which files undo would bring back.
type Coverage struct {
	Files int  // covered files
	More  bool // the look was cut off: there may be more of everything
	Not   []NotCovered
}

// NotCovered is a file or a folder that undo does not bring back.
type NotCovered struct {
	Path string // for people; a folder ends in a slash
	Size int64  // bytes of all its files
	Why  string
}

// String is the coverage in one line, as "12 files can be restored; not: build/, 2.1 GB (ignored)".
func (c Coverage) String() string {
	text := "nothing can be restored"
	if c.Files > 0 {
		text = plural(c.Files, "file") + " can be restored"
	}
	if c.More && c.Files > 0 {
		text = "at least " + text
	}
	if len(c.Not) == 0 {
		return text
	}
	var not []string
	for i, n := range c.Not {
		if i == coverageShown {
			not = append(not, fmt.Sprintf("and %d more", len(c.Not)-i))
			break
		}
		not = append(not, n.String())
	}
	return text + "; not: " + strings.Join(not, "; ")
}

// String is the name, the size and the reason.
func (n NotCovered) String() string {
	if n.Size == 0 {
		return fmt.Sprintf("%s (%s)", n.Path, n.Why)
	}
	return fmt.Sprintf("%s, %s (%s)", n.Path, size(n.Size), n.Why)
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Coverage looks which files below some paths undo would bring back, absolute with links resolved; nil: below all
// roots. The look takes at most a fraction of a second and changes nothing.
func (s *Store) Coverage(ctx context.Context, paths []string) Coverage {
	ctx, cancel := context.WithTimeout(ctx, coverageTime)
	defer cancel()
	c := &covering{store: s, ctx: ctx, roots: s.outerRoots(), uncovered: map[string]string{}, touched: map[string]bool{}}
	if s.mu.TryLock() { // a scan that is going on knows no more yet
		for root, t := range s.trees {
			c.uncovered[root] = t.uncovered
		}
		for path := range s.touched {
			c.touched[path] = true
		}
		s.mu.Unlock()
	}
	c.named = paths != nil
	if !c.named {
		paths = c.roots
	}
	for _, path := range paths {
		if !slices.ContainsFunc(paths, func(o string) bool { return o != path && below(path, o) }) {
			c.path(path)
		}
	}
	slices.SortStableFunc(c.out.Not, func(a, b NotCovered) int { return cmp.Compare(b.Size, a.Size) })
	return c.out
}

// CoverageOfEdits is the coverage of files that an edit names: ignored ones and those outside of the roots are covered
// too.
func (s *Store) CoverageOfEdits(paths []string) Coverage {
	var out Coverage
	for _, path := range paths {
		at, there := look(path)
		switch {
		case !there:
		case at.kind() == Unknown:
			out.Not = append(out.Not, NotCovered{s.rel(path), 0, notAFile})
		case at.kind() == File && at.size > s.opt.MaxFile:
			out.Not = append(out.Not, NotCovered{s.rel(path), at.size, s.tooLarge()})
		default:
			out.Files++
		}
	}
	return out
}

const (
	notAFile = "neither a file, a link nor a folder"
	ignored  = "ignored by git"
)

func (s *Store) tooLarge() string { return "larger than " + size(s.opt.MaxFile) }

// below reports whether a path is in a folder, or is the folder.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+
		string(filepath.Separator))
}

// covering is one look at the coverage.
type covering struct {
	store     *Store
	ctx       context.Context
	roots     []string
	named     bool              // the paths were named: .git counts too
	uncovered map[string]string // reasons, by root
	touched   map[string]bool
	seen      int
	out       Coverage
}

func (c *covering) not(path string, at stamp, why string) {
	n := NotCovered{Path: c.store.rel(path), Size: at.size, Why: why}
	if at.kind() == Dir {
		n.Size = c.weigh(path)
		n.Path = strings.TrimSuffix(n.Path, "/") + "/"
	}
	c.out.Not = append(c.out.Not, n)
}

// over reports whether the look has to end.
func (c *covering) over() bool {
	if c.seen++; c.seen > coverageNames || c.seen%64 == 0 && c.ctx.Err() != nil {
		c.out.More = true
	}
	return c.out.More
}

// weigh adds up the sizes of the files below a folder.
func (c *covering) weigh(dir string) int64 {
	var sum int64
	list, _ := os.ReadDir(dir) // one that cannot be read counts as empty
	for _, e := range list {
		if c.over() {
			break
		}
		if at, ok := look(filepath.Join(dir, e.Name())); ok && at.kind() == Dir {
			sum += c.weigh(filepath.Join(dir, e.Name()))
		} else if at.kind() == File {
			sum += at.size
		}
	}
	return sum
}

// path looks at a path that was named, or at a root.
func (c *covering) path(path string) {
	at, there := look(path)
	if !there {
		return
	}
	i := slices.IndexFunc(c.roots, func(r string) bool { return below(path, r) })
	switch {
	case c.touched[path]:
		c.out.Files++
	case i < 0:
		c.not(path, at, "outside of the working folders")
	case c.uncovered[c.roots[i]] != "":
		c.not(path, at, c.uncovered[c.roots[i]])
	default:
		c.within(c.roots[i], path, at)
	}
}

// within goes down from a root to a path, with the ignore files on the way.
func (c *covering) within(root, path string, at stamp) {
	n := &node{path: root}
	rest := strings.TrimPrefix(strings.TrimPrefix(path, root), string(filepath.Separator))
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, string(filepath.Separator))
		next := filepath.Join(n.path, name)
		last := rest == ""
		switch {
		case name == ".git":
			c.not(path, at, "undo leaves .git alone")
			return
		case !last && n.ignored(next, true) || last && at.kind() == Dir && n.ignored(next, true):
			c.not(path, at, ignored)
			return
		case last && at.kind() != Dir:
			c.file(n, root, path, at)
			return
		}
		n = &node{path: next, up: n}
	}
	c.folder(n, root)
}

// folder counts a covered folder's files.
func (c *covering) folder(n *node, root string) {
	list, _ := os.ReadDir(n.path) // one that cannot be read has no files that a step could change
	for _, e := range list {
		if c.over() {
			return
		}
		path := filepath.Join(n.path, e.Name())
		at, there := look(path)
		switch {
		case !there || strings.HasPrefix(e.Name(), files.TempPrefix):
		case e.Name() == ".git":
			if c.named {
				c.not(path, at, "undo leaves .git alone")
			}
		case at.kind() != Dir:
			c.file(n, root, path, at)
		case n.ignored(path, true):
			c.not(path, at, ignored)
		default:
			c.folder(&node{path: path, up: n}, root)
		}
	}
}

// file counts one file of a covered folder.
func (c *covering) file(n *node, root, path string, at stamp) {
	s := c.store
	switch {
	case at.kind() == Unknown:
		c.not(path, at, notAFile)
	case at.kind() == File && at.size > s.opt.MaxFile:
		c.not(path, at, s.tooLarge())
	case n.ignored(path, false) && !c.touched[path] && !s.included(&tree{root: &node{path: root}}, path):
		c.not(path, at, ignored)
	default:
		c.out.Files++
	}
}
