package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// rule is one line of an ignore file.
type rule struct {
	pattern string
	literal int  // how much of the pattern's head has no wildcard
	negated bool // !: keep files that an earlier rule excluded
	dirOnly bool // ends in /
	nameHas bool // has no slash: matches the last part of a path at any depth
}

// rules are those of one file. base is its folder, absolute with slashes.
type rules struct {
	base string
	list []rule
}

// maxIgnoreFile is the largest part of an ignore file that is read.
const maxIgnoreFile = 1 << 20

// parseRules reads the lines of an ignore file in git's syntax.
func parseRules(base, text string) *rules {
	r := &rules{base: base}
	text = strings.TrimPrefix(text, "\uFEFF")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if one, ok := parseRule(line); ok {
			r.list = append(r.list, one)
		}
	}
	if len(r.list) == 0 {
		return nil
	}
	return r
}

func parseRule(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	line = trimTrailingSpaces(line)
	var r rule
	if strings.HasPrefix(line, "!") {
		r.negated, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, line[:len(line)-1]
	}
	r.nameHas = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule{}, false
	}
	r.pattern = line
	if r.literal = strings.IndexAny(line, `*?[\`); r.literal < 0 {
		r.literal = len(line)
	}
	return r, true
}

// trimTrailingSpaces removes spaces at the end unless a backslash keeps them.
func trimTrailingSpaces(s string) string {
	keep := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		keep = min(i+1, len(s))
	}
	return s[:keep]
}

// match reports whether the rule names rel, the path below the rule's folder.
func (r *rule) match(rel string, dir bool) bool {
	if r.dirOnly && !dir {
		return false
	}
	if r.nameHas {
		rel = path.Base(rel)
		if r.literal == len(r.pattern) {
			return rel == r.pattern
		}
		return wildmatch(r.pattern, rel)
	}
	// git compares the head without wildcards first and matches only the rest as a pattern, so that
	// "a**" is not "a*": the ** then stands at the start.
	if len(rel) < r.literal || rel[:r.literal] != r.pattern[:r.literal] {
		return false
	}
	if r.literal == len(r.pattern) {
		return len(rel) == r.literal
	}
	return wildmatch(r.pattern[r.literal:], rel[r.literal:])
}

// verdictOf is the verdict of the last matching rule: 1 ignored, -1 kept, 0 nothing. name is absolute.
func (r *rules) verdictOf(name string, dir bool) int {
	if r == nil {
		return 0
	}
	rel := strings.TrimPrefix(name, r.base)
	rel = strings.TrimPrefix(rel, "/")
	for i := len(r.list) - 1; i >= 0; i-- {
		if r.list[i].match(rel, dir) {
			if r.list[i].negated {
				return -1
			}
			return 1
		}
	}
	return 0
}

// ignoring is the ignore files that hold in one folder: its own and those of the folders above. As with
// ripgrep, .rgignore beats .ignore of every level, .ignore beats .gitignore, .gitignore beats the repository's
// info/exclude, and that beats the user's own file for all repositories.
type ignoring struct {
	up       *ignoring
	base     string // the folder, absolute with slashes
	search   *rules // .rgignore
	ignore   *rules // .ignore
	git      *rules // .gitignore
	exclude  *rules // .git/info/exclude, in a repository's first folder
	global   *rules // the user's own file, the same in every folder
	repoRoot bool   // .gitignore files further up do not count
}

// ignored reports whether a file or folder in this folder is ignored. name is absolute, with slashes.
func (g *ignoring) ignored(name string, dir bool) bool {
	if g == nil {
		return false
	}
	for f := g; f != nil; f = f.up {
		if v := f.search.verdictOf(name, dir); v != 0 {
			return v > 0
		}
	}
	for f := g; f != nil; f = f.up {
		if v := f.ignore.verdictOf(name, dir); v != 0 {
			return v > 0
		}
	}
	for f := g; f != nil; f = f.up {
		v := f.git.verdictOf(name, dir)
		if v == 0 && f.repoRoot {
			v = f.exclude.verdictOf(name, dir)
		}
		if v != 0 {
			return v > 0
		}
		if f.repoRoot {
			break
		}
	}
	return g.global.verdictOf(name, dir) > 0
}

// enter adds the ignore files of a folder that is open. has reports whether the folder lists one.
func (g *ignoring) enter(dir *os.Root, name string, has func(string) bool) *ignoring {
	n := &ignoring{up: g, base: name}
	if g != nil {
		n.global = g.global
	}
	if has(".rgignore") {
		n.search = readRules(dir, ".rgignore", name)
	}
	if has(".ignore") {
		n.ignore = readRules(dir, ".ignore", name)
	}
	if has(".gitignore") {
		n.git = readRules(dir, ".gitignore", name)
	}
	if has(".git") {
		n.repoRoot = true
		n.exclude = readRules(dir, ".git/info/exclude", name)
		if n.exclude == nil {
			n.exclude = worktreeExclude(dir, name)
		}
	}
	if n.search == nil && n.ignore == nil && n.git == nil && !n.repoRoot {
		return g
	}
	return n
}

// readRules reads an ignore file; git follows no link there, and neither do we.
func readRules(dir *os.Root, file, base string) *rules {
	text, ok := readRegular(dir, file, maxIgnoreFile)
	if !ok {
		return nil
	}
	return parseRules(base, text)
}

// readRegular reads at most limit bytes of a regular file. It follows no link and does not wait: the file may be a pipe
// that a stranger put there.
func readRegular(dir *os.Root, file string, limit int64) (string, bool) {
	info, err := dir.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	f, err := dir.OpenFile(file, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return string(data), err == nil
}

// openFolder opens a folder; of anything else, such as a pipe, it would wait for the other end.
func openFolder(path string) (*os.Root, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.ErrUnsupported}
	}
	return os.OpenRoot(path)
}

// maxPointer is the most that is read of a file that names a folder of git.
const maxPointer = 4096

// worktreeExclude finds info/exclude where .git is a file that points at the repository (linked work trees,
// submodules).
func worktreeExclude(dir *os.Root, base string) *rules {
	text, ok := readRegular(dir, ".git", maxPointer)
	if !ok {
		return nil
	}
	at, ok := strings.CutPrefix(strings.TrimSpace(text), "gitdir: ")
	if !ok {
		return nil
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(base, at)
	}
	repo, err := openFolder(at)
	if err != nil {
		return nil
	}
	common, ok := readRegular(repo, "commondir", maxPointer)
	_ = repo.Close()
	if ok {
		c := strings.TrimSpace(common)
		if filepath.IsAbs(c) {
			at = c
		} else {
			at = filepath.Join(at, c)
		}
	}
	info, err := openFolder(filepath.Join(at, "info"))
	if err != nil {
		return nil
	}
	defer info.Close()
	return readRules(info, "exclude", base)
}

// above collects the ignore files of the folders above start (absolute, real), the way ripgrep does: up
// to the repository's first folder for .gitignore, all the way for .ignore and .rgignore. If they would ignore start
// itself they do not count: a search in an ignored folder is deliberate. The bool reports that case. The user's own
// file counts always, with start as its folder.
func above(start string) (g *ignoring, dropped bool) {
	if g, dropped = aboveInTree(start); dropped {
		g = nil
	}
	if own := globalRules(start); own != nil {
		g = &ignoring{up: g, global: own}
	}
	return g, dropped
}

// aboveInTree is above without the user's own file. The bool reports that start is ignored.
func aboveInTree(start string) (g *ignoring, ignored bool) {
	var dirs []string
	for d := filepath.Dir(start); ; d = filepath.Dir(d) {
		dirs = append(dirs, d)
		if filepath.Dir(d) == d {
			break
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if !anyIgnoreFile(dirs[i]) {
			continue
		}
		dir, err := os.OpenRoot(dirs[i])
		if err != nil {
			continue
		}
		g = g.enter(dir, filepath.ToSlash(dirs[i]), func(name string) bool {
			_, err := dir.Lstat(name)
			return err == nil
		})
		_ = dir.Close()
	}
	return g, g.ignoredWithin(start)
}

// Excluded reports whether a folder, given by its real path, is excluded by the ignore files above it. A walk
// that starts there does not heed those.
func Excluded(folder string) bool {
	_, excluded := aboveInTree(folder)
	return excluded
}

// rulesNames are the entries of a folder that bring rules.
func rulesNames() []string { return []string{".rgignore", ".ignore", ".gitignore", ".git"} }

func rulesName(name string) bool { return slices.Contains(rulesNames(), name) }

func anyIgnoreFile(dir string) bool {
	for _, name := range rulesNames() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// ignoredWithin reports whether start, or a folder on the way to it from the repository's first one, is
// ignored by the files above it.
func (g *ignoring) ignoredWithin(start string) bool {
	name := filepath.ToSlash(start)
	for f := g; f != nil; {
		if name == f.base {
			if f.repoRoot {
				return false
			}
			f = f.up
			continue
		}
		if f.ignored(name, true) {
			return true
		}
		if path.Dir(name) == name {
			return false
		}
		name = path.Dir(name)
	}
	return false
}
