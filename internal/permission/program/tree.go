package program

import (
	"path"
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

// tree notes that the program reads folders with everything in them, hidden files too, but for folders of the names
// in skip.
func (c *call) tree(follow bool, skip ...Word) *Tree {
	c.Tree = &Tree{TreeOptions: permission.TreeOptions{Hidden: true, Follow: follow}, At: -1}
	for _, w := range skip {
		if !w.Unknown && !strings.Contains(w.Text, "/") {
			c.Tree.Skip = append(c.Tree.Skip, w.Text)
		}
	}
	return c.Tree
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
