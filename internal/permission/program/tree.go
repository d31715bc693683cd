package program

import (
	"path"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Tree says that a program reads the folders among its Reads with everything in them.
type Tree struct {
	permission.TreeOptions
	// Except gives the words that make it leave out files and folders of these names, at any depth. Nil: it has none.
	Except func(files, folders []string) []string
	At     int      // their index among the words after the program; -1 is the end
	Past   bool     // it reads files of the past, of which no names are known
	All    bool     // and all of them, from the current folder on
	Specs  bool     // pathspecs after its words exclude names from its output about the past
	Hashes []string // words that may be the hash of a file's contents, and are meant to be that of a commit
	Named  []string // paths that it reads besides Reads
	Stays  bool     // of the past it reads only files that the index has
	Safe   bool     // it reads the past of the named files only, whatever their names were
	Blobs  []string // words that are the hash of something whose contents it prints
	// Instead are words in the place of those after the program, which do the same and take pathspecs.
	Instead []string
	Shy     bool // it leaves out hidden files by default, so that their absence is not worth a report
}

// tree notes that the program reads folders with everything in them.
func (c *call) tree(o permission.TreeOptions, except func(files, folders []string) []string) *Tree {
	o.Skip = slices.DeleteFunc(o.Skip, func(s string) bool { return strings.Contains(s, "/") })
	c.Tree = &Tree{TreeOptions: o, Except: except, At: c.beforeDashes()}
	return c.Tree
}

// beforeDashes is the place of -- among the words, -1 where there is none.
func (c *call) beforeDashes() int {
	if c.dashes < 0 {
		return -1
	}
	return c.dashesAt
}

// textsOf are the known values of flags.
func (c *call) textsOf(names ...string) []string {
	var out []string
	for _, f := range c.flags {
		if contains(names, f.name) && f.filled && !f.value.Unknown {
			out = append(out, f.value.Text)
		}
	}
	return out
}

// count is the number of times a flag was given, under any of its names.
func (c *call) count(names ...string) int {
	n := 0
	for _, f := range c.flags {
		if contains(names, f.name) {
			n++
		}
	}
	return n
}

// exceptBy makes flags of names: each flag with =, and the name with pattern characters escaped.
func exceptBy(file, folder string) func(files, folders []string) []string {
	return func(files, folders []string) []string {
		var out []string
		for _, name := range files {
			out = append(out, file+globEscape.Replace(name))
		}
		for _, name := range folders {
			out = append(out, folder+globEscape.Replace(name))
		}
		return out
	}
}

var globEscape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`)

// exceptPathspecs are those of git.
func exceptPathspecs(files, folders []string) []string {
	var out []string
	for _, name := range files {
		out = append(out, ":(top,exclude,glob)**/"+globEscape.Replace(name))
	}
	for _, name := range folders {
		out = append(out, ":(top,exclude,glob)**/"+globEscape.Replace(name)+"/**")
	}
	return out
}

// judgeGrep: a recursive search without a folder reads the current one.
func judgeGrep(c *call) {
	follow := c.has("-R", "--dereference-recursive")
	deep := follow || c.has("-r", "--recursive")
	for _, how := range c.textsOf("-d", "--directories") {
		deep = deep || how != "skip" && how != "read"
	}
	if !deep {
		return
	}
	if len(c.Reads) == len(c.textsOf("-f", "--file", "--exclude-from")) {
		c.Reads = append(c.Reads, ".")
	}
	c.tree(permission.TreeOptions{Hidden: true, Follow: follow, Skip: c.textsOf("--exclude-dir")},
		exceptBy("--exclude=", "--exclude-dir="))
}

// judgeRg: ripgrep searches folders in any case. Files that it leaves out by itself (hidden and ignored ones) come
// back by a glob, or by a line in an ignore file.
func judgeRg(c *call) {
	if c.has("--version", "-V", "--help", "-h") {
		return
	}
	if c.has("--files", "--type-list") {
		followers("-L", "--follow")(c)
		return
	}
	t := c.tree(permission.TreeOptions{Hidden: true, Follow: c.has("-L", "--follow")}, exceptBy("--glob=!", "--glob=!"))
	t.Shy = !c.has("-.", "--hidden") && c.count("-u", "--unrestricted") < 2
}

// judgeAg: as rg. When it is to search all files it does not obey --ignore.
func judgeAg(c *call) {
	except := exceptBy("--ignore=", "--ignore=")
	if c.has("-u", "--unrestricted", "-a", "--all-types") {
		except = nil
	}
	t := c.tree(permission.TreeOptions{Hidden: true, Follow: c.has("-f")}, except)
	t.Shy = !c.has("--hidden", "-u", "--unrestricted")
}

// judgeAck: a .ackrc of the project may name files and have links followed; the safe form does without.
func judgeAck(c *call) {
	c.Adds = []string{"--noenv"}
	c.tree(permission.TreeOptions{Hidden: true}, exceptBy("--ignore-file=is:", "--ignore-dir=is:"))
}

// judgeDiff: with -r it compares all files of two folders, and follows links.
func judgeDiff(c *call) {
	if c.has("-r", "--recursive") {
		c.tree(permission.TreeOptions{Hidden: true, Follow: !c.has("--no-dereference"), Skip: c.textsOf("-x", "--exclude")},
			exceptBy("--exclude=", "--exclude="))
	}
}

// gitGrep searches the files that git knows of, and with --untracked others, below the current folder or where
// its words say; with a revision, files of the past.
func gitGrep(c *call) {
	ops := c.ops
	if !c.has("-e", "-f") && len(ops) > 0 {
		ops = ops[1:]
	}
	c.Reads = append(c.Reads, ".")
	for _, w := range ops {
		if top := strings.HasPrefix(w.Text, ":") || strings.HasPrefix(w.Text, ".."); top && c.env.World != nil {
			c.Reads = append(c.Reads, c.env.World.Roots()...)
		}
	}
	t := c.tree(permission.TreeOptions{Hidden: true}, exceptPathspecs)
	t.At, t.Past = -1, c.has("--cached") || slices.ContainsFunc(ops, c.missing)
	t.Specs, t.All = true, t.Past
}

// missing: nothing of this name is there, so that it may be a revision.
func (c *call) missing(w Word) bool {
	return w.Unknown || c.env.World != nil && c.env.World.Stat(absolute(w.Text, c.env.Dir)).Kind == permission.Missing
}

func absolute(name, dir string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// everything: hidden files too.
func (c *call) everything() permission.TreeOptions { return permission.TreeOptions{Hidden: true} }

// copyTree: cp -r and similar commands read folders with everything in them.
func (c *call) copyTree(follow bool) {
	c.tree(permission.TreeOptions{Hidden: true, Follow: follow}, nil)
}
