package shell

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/program"
)

// readsDeep notes the reads of a command that goes through whole folders. Files that may not be read are left out of
// the command, where it has words for that; else it counts as read.
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
	if more := a.readsPast(c, past); why == "" {
		why = more
	}
	if len(withheld) == 0 || a.mute > 0 {
		return why
	}
	if why == "" && c.use.Tree.Except != nil && !c.sub {
		if words, ok := a.exceptions(c, withheld); ok {
			c.except = append(c.except, words...)
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

// readsPast notes that a command shows files of the past. Names that rules deny and those of secrets are kept out where
// it has words for that; why says that secrets cannot be.
func (a *analysis) readsPast(c *call, folders []string) (why string) {
	t := c.use.Tree
	if a.mute > 0 || len(folders)+len(t.Hashes)+len(t.Blobs) == 0 {
		return ""
	}
	past := a.world.Tree(a.start, permission.TreeOptions{Past: true, Blobs: slices.Concat(t.Hashes, t.Blobs)})
	var denied []string
	if t.Specs {
		denied = past.Denied
		a.leavePast(c, past)
	}
	for _, blob := range t.Blobs {
		if at := past.Past.Blobs[blob]; at != "" {
			a.place(permission.Read, at, false)
			continue
		}
		folders = append(folders, a.start)
		t.All = true
	}
	for _, dir := range folders {
		named, node := a.resolve(dir)
		x := permission.Access{
			Kind: permission.Read, Target: cmp.Or(node.Real, named), Node: node.Kind, Links: node.Links,
			Below: true, Except: denied,
		}
		if named != x.Target {
			x.Named = named
		}
		a.access(x)
		if len(denied) > 0 {
			a.past = append(a.past, x)
		}
	}
	if t.All && !t.Specs && !t.Safe && !past.Past.Free {
		return "it may show a file of the past that holds secrets, and cannot leave it out"
	}
	return ""
}

// leavePast adds the words to a command of git that leave files out of its output about the past.
func (a *analysis) leavePast(c *call, tree permission.Tree) {
	c.except = append(c.except, program.PathspecsPast(tree.Denied)...)
	a.noteLeft(tree.Denied, nil, false)
	past := tree.Past
	switch {
	case past.Free:
	case c.use.Tree.Stays && past.Known:
		c.except = append(c.except, program.PathspecsWithout(past.Files, past.Folders)...)
	default:
		c.spares = secretWords[0]
		if past.Templates {
			c.spares = secretWords[1]
		}
	}
	a.noteLeft(past.Files, past.Folders, false)
	if len(c.except) == 0 && c.spares == nil {
		return
	}
	for i, w := range c.words {
		if !slices.Contains(c.use.Tree.Hashes, w.text) {
			continue
		}
		if w.code != "" {
			c.use.Tree.Specs = false // the word is written by its code, which cannot be made a commit
			continue
		}
		if at := past.Blobs[w.text]; at != "" {
			a.place(permission.Read, at, false)
			continue
		}
		kind := "commit"
		if sub, _ := gitSubcommand(c); sub == "diff" && hexadecimal(w.text) && !has(texts(c.words), "--merge-base") {
			kind = "tree"
		}
		c.words[i].text = noBlobs(w.text, kind)
	}
}

// secretWords are the words that leave secrets out of git's output about the past, as the script has them: the usual
// ones, and those that leave templates in.
var secretWords = [2]func() string{
	sync.OnceValue(func() string { return quoted(program.PathspecsSecret(false)) }),
	sync.OnceValue(func() string { return quoted(program.PathspecsSecret(true)) }),
}

// noBlobs makes hashes and names those of commits, or of trees where commits stand for theirs, so that git does not
// take them for the contents of a file.
func noBlobs(word, kind string) string {
	for _, dots := range []string{"...", ".."} {
		if from, to, ok := strings.Cut(word, dots); ok {
			return noBlobs(from, "commit") + dots + noBlobs(to, "commit")
		}
	}
	if program.ObjectName(word) {
		return word + "^{" + kind + "}"
	}
	return word
}

// hexadecimal reports whether a word has nothing but the digits of a hash.
func hexadecimal(word string) bool {
	return strings.Trim(strings.ToLower(word), "0123456789abcdef") == ""
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

// namesLeft are the names of the files and folders that a command is to leave out. A folder that was named itself
// cannot be left out.
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
