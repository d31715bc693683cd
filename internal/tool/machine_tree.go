package tool

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Bounds of looking through a tree. A program that reads all of it takes far longer than reading its names.
const (
	treeNames    = 300_000 // names that are read
	treeWithheld = 200     // files and folders that can be left out by naming them
)

// Tree reads the names below dir, and asks for each whether it may be read by itself, as Grep does.
func (m *Machine) Tree(dir string, o permission.TreeOptions) permission.Tree {
	if o.Past {
		return m.past(dir, o.Blobs)
	}
	key := dir + "\x00" + strings.Join(o.Skip, "\x00") + "\x00" + o.Odd
	if o.Hidden {
		key += "\x00hidden"
	}
	if o.Follow {
		key += "\x00follow"
	}
	if t, ok := m.trees[key]; ok {
		return t
	}
	t := m.lookThrough(dir, o)
	if m.trees == nil {
		m.trees = map[string]permission.Tree{}
	}
	m.trees[key] = t
	return t
}

func (m *Machine) lookThrough(dir string, o permission.TreeOptions) permission.Tree {
	if m.env.MayRead == nil {
		return permission.Tree{Listed: true}
	}
	t := treeWalk{env: m.env, start: dir, opt: o, left: treeNames}
	if m.env.MayRead(dir) != permission.Allow {
		return permission.Tree{} // reading it asks or is refused in any case
	}
	t.walk(dir)
	t.tree.Listed = t.tree.Why == ""
	return t.tree
}

type treeWalk struct {
	env   *Files
	start string
	opt   permission.TreeOptions
	left  int
	tree  permission.Tree
}

func (t *treeWalk) walk(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return // the program cannot read it either
	}
	defer f.Close()
	for t.tree.Why == "" {
		list, err := f.ReadDir(512)
		if t.left -= len(list); t.left < 0 {
			t.tree.Why = "the folder holds more files than are looked through for secrets"
			return
		}
		for _, e := range list {
			t.entry(dir, e)
		}
		if err != nil {
			return
		}
	}
}

func (t *treeWalk) entry(dir string, e fs.DirEntry) {
	name := e.Name()
	if !t.opt.Hidden && strings.HasPrefix(name, ".") || t.tree.Why != "" {
		return
	}
	at := filepath.Join(dir, name)
	if t.tree.Odd == "" && strings.ContainsAny(name, t.opt.Odd) {
		t.tree.Odd = at
	}
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		t.link(at)
	case e.IsDir() && t.skips(name):
	case t.withheld(at):
		t.tree.Withheld = append(t.tree.Withheld, permission.Withheld{Path: at, Folder: e.IsDir()})
		if len(t.tree.Withheld) > treeWithheld {
			t.tree.Why = "the folder holds too many files that need permission to be read"
		}
	case e.IsDir():
		t.walk(at)
	}
}

func (t *treeWalk) skips(name string) bool {
	for _, pattern := range t.opt.Skip {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			return true
		}
	}
	return false
}

func (t *treeWalk) withheld(at string) bool {
	return t.env.MayRead(at) != permission.Allow
}

// link: a program that follows it reads the target under another name, and perhaps outside.
func (t *treeWalk) link(at string) {
	if !t.opt.Follow || t.tree.Leads != "" {
		return
	}
	real, err := files.FollowLinks(at)
	if err != nil {
		return // it leads nowhere
	}
	if rel, err := filepath.Rel(t.start, real); err != nil || rel == ".." || strings.HasPrefix(rel,
		".."+string(filepath.Separator)) || t.withheld(real) {
		t.tree.Leads = at
	}
}

// Names lists the entries below a folder, without following links.
func (m *Machine) Names(dir string, max int) ([]string, bool) {
	var names []string
	stop := errors.New("enough")
	err := filepath.WalkDir(dir, func(at string, _ fs.DirEntry, err error) error {
		if err != nil || at == dir {
			return err
		}
		if len(names) == max {
			return stop
		}
		rel, err := filepath.Rel(dir, at)
		names = append(names, filepath.ToSlash(rel))
		return err
	})
	return names, err == nil
}
