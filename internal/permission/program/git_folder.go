package program

import (
	"path"
	"slices"
	"strings"
)

// gitFolder takes -C: the folder that it is in already is fine.
func (c *call) gitFolder(w Word) {
	if w.Unknown || w.Glob || w.Text == "" {
		c.GitDir = w.Text
		c.refuse("only running it tells in which repository git looks")
		return
	}
	dir := w.Text
	if !path.IsAbs(dir) {
		dir = path.Join(c.env.Dir, dir)
	}
	dir = path.Clean(dir)
	if dir == path.Clean(c.env.Dir) {
		return
	}
	c.GitDir = dir
	if c.env.World == nil || !underRoot(dir, c.env.World.Roots()) {
		c.refuse("git -C looks into another repository, " + w.Text + ", whose configuration may run programs")
	}
	c.env.Dir = dir
}

// underRoot reports whether a folder is one of the roots or lies in one. Whether it belongs to the same repository is
// for the shell to find out.
func underRoot(dir string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
	})
}

// rebase makes the relative paths of a subcommand those seen from the folder in which git was started, not from that
// of -C.
func (c *call) rebase(u *Use) {
	if c.GitDir == "" {
		return
	}
	for _, list := range [][]string{u.Reads, u.Writes, u.Kills} {
		for i, name := range list {
			list[i] = absolute(name, c.env.Dir)
		}
	}
	if u.Lands != nil {
		u.Lands.Target = absolute(u.Lands.Target, c.env.Dir)
		for i, name := range u.Lands.Sources {
			u.Lands.Sources[i] = absolute(name, c.env.Dir)
		}
	}
	if u.Tree != nil {
		for i, name := range u.Tree.Named {
			u.Tree.Named[i] = absolute(name, c.env.Dir)
		}
	}
}
