package boundary

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/permission"
)

// protectedNames are files and folders that make programs outside the sandbox run something, or that configure agents.
var protectedNames = sync.OnceValue(func() []string {
	return slices.Concat([]string{
		".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info/attributes",
		".git/objects/info/alternates",
	}, permission.RepositoryNames(), permission.PlantNames())
})

// protectedIn returns the protected paths of a folder, whether they exist or not. In a repository's .git they are git's
// own.
func protectedIn(dir string) []string {
	var out []string
	for _, name := range protectedNames() {
		out = append(out, filepath.Join(dir, name))
	}
	out = openState(out, filepath.Join(dir, stateFolder))
	git := filepath.Join(dir, ".git")
	out = append(out, namedByConfig(dir, git)...)
	if fi, err := os.Lstat(git); err == nil && !fi.IsDir() {
		out = append(out, git) // a file that leads elsewhere
	}
	if isGitFolder(dir) {
		git = dir
		for _, name := range []string{"hooks", "config", "config.worktree", "commondir", "info/attributes"} {
			out = append(out, filepath.Join(dir, name))
		}
	}
	for _, pattern := range []string{"modules/*", "modules/*/*", "worktrees/*"} {
		inner, _ := filepath.Glob(filepath.Join(git, pattern))
		for _, m := range inner {
			if isGitFolder(m) || strings.HasPrefix(pattern, "worktrees") {
				out = append(out, filepath.Join(m, "hooks"), filepath.Join(m, "config"), filepath.Join(m, "config.worktree"),
					filepath.Join(m, "commondir"))
			}
		}
	}
	return out
}

// namedByConfig returns the files in dir that a repository's configuration includes, and its folder of hooks: who
// writes them writes configuration and hooks.
func namedByConfig(dir, git string) (out []string) {
	for line := range strings.Lines(smallText(filepath.Join(git, "config"))) {
		key, value, ok := strings.Cut(line, "=")
		key = strings.ToLower(strings.TrimSpace(key[strings.LastIndexByte(key, ']')+1:]))
		if value = strings.Trim(strings.TrimSpace(value), `"`); !ok || key != "path" && key != "hookspath" || value == "" ||
			value[0] == '~' {
			continue
		}
		for _, base := range []string{dir, git} { // hooks are relative to the work tree, inclusions to the file
			path := value
			if !filepath.IsAbs(path) {
				path = filepath.Join(base, path)
			}
			if path != dir && within(path, dir) { // one that is missing is watched
				out = append(out, path)
			}
		}
	}
	return out
}

// withTargets adds the targets of links, and the real places of paths below links: a policy holds real paths only.
// Those without a target stay as they are.
func withTargets(paths []string) []string {
	out := slices.Clone(paths)
	parents := map[string]string{} // where folders really are; most paths share them
	for _, path := range paths {
		fi, err := os.Lstat(path)
		if err != nil {
			continue
		}
		real := ""
		if fi.Mode()&os.ModeSymlink != 0 {
			real, err = filepath.EvalSymlinks(path)
		} else {
			dir, name := filepath.Split(path)
			parent, known := parents[dir]
			if !known {
				parent, err = filepath.EvalSymlinks(dir)
				parents[dir] = parent
			}
			if parent == "" {
				continue
			}
			real = filepath.Join(parent, name)
		}
		if err == nil && real != path {
			out = append(out, real)
		}
	}
	return out
}

// watchedIn returns the paths of a folder that a command may make as a part of a repository, but not as something else:
// a file .git, which leads to any folder, and the HEAD of a folder that is a repository itself.
func watchedIn(dir string) (out []string) {
	for _, name := range []string{".git", "HEAD"} {
		if path := filepath.Join(dir, name); !there(path) {
			out = append(out, path)
		}
	}
	return out
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// isGitFolder reports whether git would treat the folder itself as a repository, as it does a bare one.
func isGitFolder(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// gitFolders returns the folders outside dir that a commit in dir writes: the repository's, if dir is below its top or
// is a linked work tree. A .git file can name any folder, so a work tree counts only if the repository names it back.
func gitFolders(dir string) []string {
	repo, ok := git.Find(dir)
	if !ok {
		return nil
	}
	common, err := filepath.EvalSymlinks(repo.CommonDir)
	if err != nil || within(common, dir) || !isGitFolder(common) {
		return nil
	}
	if !repo.Worktree {
		if common == filepath.Join(repo.Root, ".git") {
			return []string{common}
		}
		return nil
	}
	own, err := filepath.EvalSymlinks(repo.GitDir)
	if err != nil || filepath.Dir(own) != filepath.Join(common, "worktrees") {
		return nil
	}
	back, err := os.ReadFile(filepath.Join(own, "gitdir"))
	if err != nil {
		return nil
	}
	named, err := filepath.EvalSymlinks(strings.TrimSpace(string(back)))
	if err != nil || named != filepath.Join(repo.Root, ".git") {
		return nil
	}
	return []string{common}
}

// secretsIn returns the .env files at the top of a folder, without examples of them.
func secretsIn(dir string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, ".env*"))
	return slices.DeleteFunc(found, func(path string) bool {
		name := filepath.Base(path)
		secret, _, _ := permission.SecretPath(name)
		return secret == "" || name != ".env" && !strings.HasPrefix(name, ".env.")
	})
}

// secrets returns the user's files and folders that hold keys and passwords, as far as they are there.
func (b *Boundary) secrets() []string {
	b.homeOnce.Do(func() {
		b.home = b.o.Home
		if real, err := filepath.EvalSymlinks(b.o.Home); err == nil {
			b.home = real
		}
		for _, name := range permission.HomeSecrets() {
			b.secretNames = append(b.secretNames, filepath.Join(b.home, filepath.FromSlash(name)))
		}
		for _, dir := range []string{b.o.Config, b.o.State} {
			if dir != "" {
				b.secretNames = append(b.secretNames, dir)
			}
		}
	})
	out := make([]string, 0, len(b.secretNames))
	for _, path := range b.secretNames { // most are not there: one call each
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		out = append(out, path)
	}
	return out
}
