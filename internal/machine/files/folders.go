package files

import (
	"os"
	"path/filepath"
)

// Folders calls fn for a folder and for those below it that no ignore file excludes, from above, until fn returns
// false. Folders of version control systems and of the kernel are left out, and links are not followed.
func Folders(dir string, fn func(dir string) bool) {
	g, _ := above(dir)
	folders(dir, g, 0, fn)
}

func folders(dir string, g *ignoring, depth int, fn func(dir string) bool) bool {
	if !fn(dir) {
		return false
	}
	f, err := os.Open(dir)
	if err != nil {
		return true
	}
	list, err := f.ReadDir(-1)
	_ = f.Close()
	if err != nil && len(list) == 0 {
		return true
	}
	var subs []string
	rules := false
	for _, e := range list {
		name := e.Name()
		switch {
		case rulesName(name):
			rules = true
		case e.IsDir() && !VCSFolder(name) && depth < maxDepth:
			subs = append(subs, name)
		}
	}
	if rules {
		g = g.enterPath(dir)
	}
	for _, name := range subs {
		path := below(dir, name)
		if kernelFolder(path) || g != nil && g.ignored(filepath.ToSlash(path), true) {
			continue
		}
		if !folders(path, g, depth+1, fn) {
			return false
		}
	}
	return true
}

// enterPath is enter for a folder that is not open.
func (g *ignoring) enterPath(dir string) *ignoring {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return g
	}
	defer root.Close()
	return g.enter(root, filepath.ToSlash(dir), func(name string) bool {
		_, err := root.Lstat(name)
		return err == nil
	})
}
