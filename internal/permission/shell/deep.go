package shell

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// readsDeep notes the reads of a command that goes through whole folders. Files that may not be read are left out of the
// command, where it has words for that; else it counts as read.
func (a *analysis) readsDeep(c *call, patterns map[string]bool, sc *scope) (why string) {
	var withheld []permission.Withheld
	for _, name := range c.use.Reads {
		for _, dir := range a.named(name, patterns, sc) {
			tree := a.readTree(dir, c.use.Tree.TreeOptions, c.use.Tree.Past, true)
			switch {
			case why != "":
			case tree.Why != "":
				why = tree.Why + ": " + dir
			case tree.Leads != "":
				why = "a link leads out of the folder that it reads: " + tree.Leads
			}
			withheld = append(withheld, tree.Withheld...)
		}
	}
	var past []string
	for _, name := range c.use.Tree.Named {
		for _, file := range a.named(name, patterns, sc) {
			if filepath.Ext(file) != "" && a.world.Stat(file).Kind != permission.Folder {
				a.place(permission.Read, file, false)
				continue
			}
			if kind := a.world.Stat(file).Kind; kind == permission.File || kind == permission.Special {
				a.place(permission.Read, file, false)
				continue
			}
			past = append(past, file)
		}
	}
	if c.use.Tree.All {
		past = append(past, sc.places()...)
	}
	a.readsPast(c, past)
	if len(withheld) == 0 || a.mute > 0 {
		return why
	}
	if why == "" && c.use.Tree.Except != nil && !c.sub {
		if words, ok := a.exceptions(c, withheld); ok {
			c.except = words
			a.omitted = append(a.omitted, withheld...)
			return ""
		}
	}
	a.readAll(withheld)
	if why == "" {
		why = "it would read " + withheld[0].Path + ", which needs permission by itself"
	}
	return why
}

// readsPast notes that a command shows files of the past. Names that rules deny are kept out where it has words for that.
func (a *analysis) readsPast(c *call, folders []string) {
	var denied []string
	if len(folders) > 0 && c.use.Tree.Specs && a.mute == 0 && !c.sub && len(c.assigns) == 0 && len(c.use.Inner) == 0 {
		denied = a.world.Tree(a.start, permission.TreeOptions{Past: true}).Denied
	}
	if len(denied) > 0 {
		c.except = append(c.except, program.PathspecsPast(denied)...)
		for i := range c.words {
			if slices.Contains(c.use.Tree.Hashes, c.words[i].text) {
				c.words[i].text = onlyCommits(c.words[i].text)
			}
		}
		a.noteLeft(denied, nil, false)
	}
	for _, dir := range folders {
		named, node := a.resolve(dir)
		x := permission.Access{Kind: permission.Read, Target: cmp.Or(node.Real, named), Node: node.Kind, Links: node.Links, Below: true, Except: denied}
		if named != x.Target {
			x.Named = named
		}
		a.access(x)
		if len(denied) > 0 {
			a.past = append(a.past, x)
		}
	}
}

// onlyCommits makes hashes those of commits, so that git does not take them for the contents of a file.
func onlyCommits(word string) string {
	for _, dots := range []string{"...", ".."} {
		if from, to, ok := strings.Cut(word, dots); ok {
			return onlyCommits(from) + dots + onlyCommits(to)
		}
	}
	if len(word) >= 4 && strings.Trim(strings.ToLower(word), "0123456789abcdef") == "" {
		return word + "^{commit}"
	}
	return word
}

// readTree notes that a folder is read with all that is in it.
// Of the past no names are known; list searches those that are there now.
func (a *analysis) readTree(dir string, o permission.TreeOptions, past, list bool) permission.Tree {
	named, node := a.resolve(dir)
	if node.Real == "" {
		node.Real = named
	}
	x := permission.Access{Kind: permission.Read, Target: node.Real, Node: node.Kind, Links: node.Links}
	if named != x.Target {
		x.Named = named
	}
	if node.Kind == permission.File || node.Kind == permission.Special {
		a.access(x)
		return permission.Tree{Listed: true}
	}
	var tree permission.Tree
	if !past || list {
		tree = a.world.Tree(node.Real, o)
	}
	x.Below = past || !tree.Listed
	a.access(x)
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

// exceptions are the words that keep withheld files out of a command.
func (a *analysis) exceptions(c *call, withheld []permission.Withheld) ([]string, bool) {
	files, folders, ok := namesLeft(c, withheld)
	if !ok {
		return nil, false
	}
	a.noteLeft(files, folders, c.use.Tree.Shy)
	return c.use.Tree.Except(files, folders), true
}

// namesLeft are the names of the files and folders that a command is to leave out. A folder that was named itself cannot
// be left out.
func namesLeft(c *call, withheld []permission.Withheld) (files, folders []string, ok bool) {
	for _, w := range withheld {
		list, name := &files, filepath.Base(w.Path)
		if dir := filepath.Dir(w.Path); filepath.Base(dir) == ".git" && name == "config" {
			list, name = &folders, ".git" // nobody searches there, and many files are named config
		} else if w.Folder {
			list = &folders
		}
		if !slices.Contains(*list, name) {
			*list = append(*list, name)
		}
	}
	for _, word := range c.words[1:] {
		for _, name := range folders {
			if base := filepath.Base(word.text); base == name {
				return nil, nil, false
			}
		}
	}
	return files, folders, true
}

// noteLeft keeps the names that are left out, to be announced; shy: hidden ones are no news.
func (a *analysis) noteLeft(files, folders []string, shy bool) {
	for _, n := range slices.Concat(files, folders) {
		if n != ".git" && (!shy || n[0] != '.') && !slices.Contains(a.left, n) {
			a.left = append(a.left, n)
		}
	}
}

// readAll notes withheld files as read.
func (a *analysis) readAll(withheld []permission.Withheld) {
	for _, w := range withheld {
		a.place(permission.Read, w.Path, false)
	}
}
