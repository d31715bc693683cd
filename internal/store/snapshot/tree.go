package snapshot

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// tree is the known state of the covered files of one root.
type tree struct {
	root      *node
	uncovered string // why the root is not covered, or empty
	fresh     bool   // never scanned
	changed   bool   // since it was written
	watch     *watch
	unread    []*node          // folders to look at again in the next scan
	unsure    bool             // there are some
	offsets   map[string]int64 // sizes of the segments before the last scan
}

// node is one folder.
type node struct {
	path    string
	up      *node
	at      stamp
	fresh   bool // found by the scan that is going on
	sure    bool // names and subs are those that the folder had at that stamp
	entries []entry
	subs    []*node         // by path
	skipped map[string]bool // names that are not covered

	ignores *files.GitIgnores // nil: not read yet
}

// entry is one file of a folder.
type entry struct {
	name string
	at   stamp
	sure bool // the content is that of State as long as the stamp stays
	State
}

func newTree(root string) *tree {
	return &tree{root: &node{path: root}, fresh: true, watch: newWatch(root)}
}

func (n *node) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n.entries, name,
		func(e entry, name string) int { return strings.Compare(e.name, name) })
}

func (n *node) sub(path string) (int, bool) {
	return slices.BinarySearchFunc(n.subs, path, func(s *node, path string) int { return strings.Compare(s.path, path) })
}

// folder is the node of a covered folder, or nil.
func (t *tree) folder(path string) *node {
	n := t.root
	if path != n.path && !strings.HasPrefix(path, strings.TrimSuffix(n.path, "/")+"/") {
		return nil
	}
	for n.path != path {
		rest := strings.TrimPrefix(path[len(n.path):], "/")
		name, _, _ := strings.Cut(rest, "/")
		i, ok := n.sub(filepath.Join(n.path, name))
		if !ok {
			return nil
		}
		n = n.subs[i]
	}
	return n
}

// put notes the state of a file that its step has just told. False: the tree does not cover its place.
func (t *tree) put(path string, at stamp, sure bool, s State) bool {
	if t.uncovered != "" || t.fresh {
		return false
	}
	n := t.folder(filepath.Dir(path))
	if n == nil {
		return false
	}
	name := filepath.Base(path)
	if n.skipped[name] {
		return false
	}
	t.changed = true
	if j, ok := n.sub(path); ok && s.Kind != Dir {
		n.subs = slices.Delete(n.subs, j, j+1)
	}
	i, there := n.find(name)
	switch {
	case s.Kind == Dir:
		j, ok := n.sub(path)
		if !ok {
			n.subs = slices.Insert(n.subs, j, &node{path: path, up: n, at: at})
		}
		n.subs[j].at.mode = fs.FileMode(s.Mode) | fs.ModeDir
		if there {
			n.entries = slices.Delete(n.entries, i, i+1)
		}
	case s.Kind == None && there:
		n.entries = slices.Delete(n.entries, i, i+1)
	case s.Kind == None:
	case there:
		n.entries[i] = entry{name, at, sure, s}
	default:
		if n.ignored(path, false) {
			return false
		}
		n.entries = slices.Insert(n.entries, i, entry{name, at, sure, s})
	}
	return true
}

// ignored reports whether the ignore files exclude a name in the folder.
func (n *node) ignored(path string, dir bool) bool { return n.rules().Ignored(path, dir) }

// rules are the ignore files in force in the folder.
func (n *node) rules() *files.GitIgnores {
	if n.ignores != nil {
		return n.ignores
	}
	var above *files.GitIgnores
	if n.up == nil {
		above = files.GitIgnoresAbove(n.path)
	} else {
		above = n.up.rules()
	}
	n.ignores = above.Enter(n.path, func(name string) bool {
		_, there := look(filepath.Join(n.path, name))
		return there
	})
	return n.ignores
}

// forget drops the ignore files of the folder and of all below.
func (n *node) forget() {
	n.ignores = nil
	for _, s := range n.subs {
		s.forget()
	}
}

// state is the folder as an entry of the one above.
func (n *node) state() State { return State{Kind: Dir, Mode: uint32(n.at.mode & modeBits)} }

// all calls each for the folder's files and folders and all below.
func (n *node) all(each func(path string, s State)) {
	for i := range n.entries {
		each(filepath.Join(n.path, n.entries[i].name), n.entries[i].State)
	}
	for _, s := range n.subs {
		each(s.path, s.state())
		s.all(each)
	}
}
