package boundary

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// homes are the protected configurations of the working folders' own repositories. git makes work trees and submodules
// of these in new folders, with names that are set aside otherwise.
type homes []string

// keep reports whether a protected name that a command made is a part of such a folder: the file .git, or in a work
// tree a file of the main work tree, with the same content.
func (h homes) keep(name string) bool {
	if len(h) == 0 {
		return false
	}
	if filepath.Base(name) == ".git" {
		_, ok := h.of(name)
		return ok
	}
	for dir := filepath.Dir(name); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if root, ok := h.of(filepath.Join(dir, ".git")); ok {
			return root != "" && sameTree(name, filepath.Join(root, strings.TrimPrefix(name, dir)))
		}
	}
	return false
}

// of reports whether a file .git leads to what git keeps for its folder in a repository of h, and nothing there leads
// to other configuration or hooks. For a work tree root is the main one.
func (h homes) of(file string) (root string, ok bool) {
	text, _, err := readRegular(file)
	git, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return "", false
	}
	git = absolute(git, filepath.Dir(file))
	if real, err := filepath.EvalSymlinks(git); err != nil || real != git {
		return "", false
	}
	for _, config := range h {
		common := filepath.Dir(config)
		switch {
		case filepath.Dir(git) == filepath.Join(common, "worktrees"):
			return filepath.Dir(common), cleanTree(git, file)
		case within(git, filepath.Join(common, "modules")):
			return "", cleanModule(git, filepath.Dir(file))
		}
	}
	return "", false
}

// cleanTree reports whether a folder in .git/worktrees is that of the work tree with this file .git.
func cleanTree(git, file string) bool {
	common, _, err := readRegular(filepath.Join(git, "commondir"))
	if err != nil || strings.TrimSpace(string(common)) != "../.." || there(filepath.Join(git, "config.worktree")) {
		return false
	}
	back, _, err := readRegular(filepath.Join(git, "gitdir"))
	return err == nil && absolute(strings.TrimSpace(string(back)), git) == file
}

// cleanModule reports whether a folder in .git/modules is the repository of a submodule in dir, as git makes it.
func cleanModule(git, dir string) bool {
	r := readRepo(git)
	for _, s := range settings(string(r.config)) {
		if s.section+"."+s.key == "core.worktree" {
			if absolute(s.value, git) != dir {
				return false
			}
		} else if !s.harmless() {
			return false
		}
	}
	return len(r.config) > 0 && len(r.hooks) == 0
}

// plainModules reports whether a file .gitmodules names submodules and their addresses, and nothing that git runs.
func plainModules(text string) bool {
	return !slices.ContainsFunc(settings(text), func(s setting) bool {
		if s.key == "path" {
			return s.section != "submodule" || filepath.IsAbs(s.value) || strings.Contains(s.value, "..")
		}
		return s.section != "submodule" || !s.harmless()
	})
}

// sameTree reports whether two files or folders have the same content, and nothing but regular files in them.
func sameTree(a, b string) bool {
	var seen [2][]string
	for i, root := range []string{a, b} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() && !e.Type().IsRegular() || len(seen[i]) > nestedFolders {
				return fs.ErrInvalid
			}
			seen[i] = append(seen[i], strings.TrimPrefix(path, root))
			return nil
		})
		if err != nil {
			return false
		}
	}
	return slices.Equal(seen[0], seen[1]) && !slices.ContainsFunc(seen[0], func(name string) bool {
		return !sameFile(a+name, b+name)
	})
}

func sameFile(a, b string) bool {
	fa, erra := os.Lstat(a)
	fb, errb := os.Lstat(b)
	if erra != nil || errb != nil || fa.Mode().Type() != fb.Mode().Type() {
		return false
	}
	if fa.IsDir() {
		return true
	}
	x, _, erra := readRegular(a)
	y, _, errb := readRegular(b)
	return erra == nil && errb == nil && bytes.Equal(x, y)
}
