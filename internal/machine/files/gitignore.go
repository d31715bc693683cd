package files

import (
	"os"
	"path/filepath"
)

// GitIgnores are the ignore files of git that hold in one folder: .gitignore of it and of the folders above up to the
// repository's top, and the repository's info/exclude. The nil value ignores nothing.
type GitIgnores struct{ in *ignoring }

// GitIgnoresAbove reads the ignore files of the folders above start, an absolute path with links resolved.
// If they ignore start itself, they do not count.
func GitIgnoresAbove(start string) *GitIgnores {
	g, ignored := aboveInTree(start)
	if ignored {
		return &GitIgnores{}
	}
	return &GitIgnores{g.gitOnly()}
}

// gitOnly is a copy without the rules of .ignore and .rgignore files.
func (g *ignoring) gitOnly() *ignoring {
	if g == nil {
		return nil
	}
	c := *g
	c.search, c.ignore, c.up = nil, nil, g.up.gitOnly()
	return &c
}

// Enter adds the ignore files of a folder below. has reports whether the folder lists a name.
func (i *GitIgnores) Enter(dir string, has func(name string) bool) *GitIgnores {
	if !has(".gitignore") && !has(".git") {
		return i
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return i
	}
	defer root.Close()
	return &GitIgnores{i.in.enter(root, filepath.ToSlash(dir),
		func(name string) bool { return name != ".ignore" && name != ".rgignore" && has(name) })}
}

// Ignored reports whether a file or folder directly in the folder of i is ignored. path is absolute.
func (i *GitIgnores) Ignored(path string, dir bool) bool {
	return i.in != nil && i.in.ignored(filepath.ToSlash(path), dir)
}
