package shell

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// readsDeep notes the reads of a command that goes through whole folders; why says that it may read what is not free to
// read.
func (a *analysis) readsDeep(c *call, patterns map[string]bool, sc *scope) (why string) {
	t := c.use.Tree
	for _, name := range c.use.Reads {
		for _, dir := range a.named(name, patterns, sc) {
			tree := a.readTree(dir, t.TreeOptions, t.Past)
			for _, w := range tree.Withheld {
				a.place(permission.Read, w.Path, false)
				why = cmp.Or(why, "it would read "+w.Path+", which needs permission by itself")
			}
			switch {
			case why != "":
			case tree.Why != "":
				why = tree.Why + ": " + dir
			case tree.Leads != "":
				why = "a link leads out of the folder that it reads: " + tree.Leads
			}
		}
	}
	var past []string
	for _, name := range t.Named {
		for _, file := range a.named(name, patterns, sc) {
			kind := a.world.Stat(file).Kind
			if kind == permission.File || kind == permission.Special || filepath.Ext(file) != "" && kind != permission.Folder {
				a.place(permission.Read, file, false)
				continue
			}
			past = append(past, file)
		}
	}
	if t.All {
		past = append(past, sc.places()...)
	}
	return cmp.Or(why, a.readsPast(t, past))
}

// readsPast notes that a command shows files of the past; why says that secrets may be among them.
func (a *analysis) readsPast(t *program.Tree, folders []string) (why string) {
	hashes := slices.Concat(t.Hashes, t.Blobs)
	if a.mute > 0 || len(folders)+len(hashes) == 0 {
		return ""
	}
	past := a.world.Tree(a.start, permission.TreeOptions{Past: true, Blobs: hashes}).Past
	all := t.All
	for i, hash := range hashes {
		if at := past.Blobs[hash]; at != "" {
			a.place(permission.Read, at, false)
		} else if i >= len(t.Hashes) { // the contents of some file
			folders, all = append(folders, a.start), true
		}
	}
	for _, dir := range folders {
		a.within(permission.Read, dir)
	}
	if all && !t.Safe && !past.Free && !(t.Stays && past.Known && len(past.Files)+len(past.Folders) == 0) {
		return "it may show a file of the past that holds secrets"
	}
	return ""
}

// readTree notes that a folder is read with all that is in it. Of the past no names are known.
func (a *analysis) readTree(dir string, o permission.TreeOptions, past bool) permission.Tree {
	named, node := a.resolve(dir)
	if node.Kind == permission.File || node.Kind == permission.Special {
		a.place(permission.Read, dir, false)
		return permission.Tree{}
	}
	tree := a.world.Tree(cmp.Or(node.Real, named), o)
	if past || !tree.Listed {
		a.within(permission.Read, dir)
	} else {
		a.place(permission.Read, dir, false)
	}
	return tree
}

// named are the absolute paths that a word stands for, patterns as the files that they stand for now.
func (a *analysis) named(name string, patterns map[string]bool, sc *scope) []string {
	var out []string
	for _, d := range sc.places() {
		if patterns[name] {
			found, more := a.world.Glob(name, d, maxGlob)
			if more {
				a.saw(oddTooMuch, "files that "+name+" stands for")
			}
			if out = append(out, found...); len(found) > 0 {
				continue
			}
			name = unescape(name)
		}
		if filepath.IsAbs(name) {
			return append(out, name)
		}
		out = append(out, d+"/"+name)
	}
	return out
}
