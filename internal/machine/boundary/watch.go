package boundary

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// watch records the protected names that could not be mounted over, because they did not exist or are links.
type watch struct {
	names map[string]string // to the link's target; empty: it was not there
	above map[string]string // of those that were not there: the nearest folder that was
	homes homes
	// the command is unapproved: it makes no .gitmodules, not even one that git takes for harmless
	strict bool
	state  stateFolders
}

func newWatch(names []string) watch {
	w := watch{names: make(map[string]string, len(names)), above: make(map[string]string, len(names))}
	known := map[string]parent{}
	for _, name := range names {
		dir := filepath.Dir(name)
		up, ok := known[dir]
		if !ok {
			up = parentOf(dir)
			known[dir] = up
		}
		if up.real != dir {
			name = filepath.Join(up.real, filepath.Base(name))
		}
		fi, err := os.Lstat(name)
		switch {
		case os.IsNotExist(err):
			w.names[name], w.above[name] = "", up.existing
		case err == nil && fi.Mode()&os.ModeSymlink != 0:
			w.names[name], _ = os.Readlink(name)
		}
	}
	return w
}

// missing reports whether a name was not there.
func (w watch) missing(name string) bool {
	target, ok := w.names[name]
	return ok && target == ""
}

// parent is the folder of a name without links, as far as it is there: a link that comes later is a command's.
type parent struct{ real, existing string }

func parentOf(dir string) parent {
	base := existing(dir)
	real, err := filepath.EvalSymlinks(base)
	if err != nil {
		return parent{dir, base}
	}
	return parent{filepath.Join(real, strings.TrimPrefix(dir, base)), real}
}

// existing is a folder, or the nearest one above it that is there.
func existing(dir string) string {
	for dir != filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// sweep moves names that are new, or links with a new target, to a folder below dir. A new repository's .git (git init)
// stays, without its hooks and configuration. It returns a line for the model for each, and the names.
func (w watch) sweep(dir string) (lines, found []string) {
	for _, name := range w.state.planted() {
		lines, found = append(lines, setAside(name, dir)), append(found, name)
	}
	gone := map[string]bool{}
	for name, was := range w.names {
		fi, err := os.Lstat(name)
		if err != nil {
			continue // still missing, or removed, which is harmless
		}
		if fi.Mode()&os.ModeSymlink != 0 {
			if now, err := os.Readlink(name); err == nil && now == was {
				continue
			}
		}
		if link := w.linkAbove(name); link != "" {
			found = append(found, name)
			if !gone[link] {
				lines = append(lines, setAside(link, dir))
			}
			gone[link] = true
			continue
		}
		if harmless(name) && !(w.strict && filepath.Base(name) == ".gitmodules") || w.homes.keep(name) ||
			w.state.keeps(name) {
			continue
		}
		lines, found = append(lines, setAside(name, dir)), append(found, name)
	}
	return lines, found
}

// linkAbove returns the first link among the folders that the command made above a name: the name itself may then be a
// file of anybody's.
func (w watch) linkAbove(name string) string {
	base, ok := w.above[name]
	if !ok { // it was a link itself
		return ""
	}
	for dir := filepath.Dir(name); within(dir, base) && dir != base; dir = filepath.Dir(dir) {
		if fi, err := os.Lstat(dir); err == nil && fi.Mode()&os.ModeSymlink != 0 {
			return dir
		}
	}
	return ""
}

// harmless reports whether a file or folder is as git init makes it: hooks that are all samples, a configuration that
// names no programs.
func harmless(name string) bool {
	switch filepath.Base(name) {
	case "hooks":
		all, err := os.ReadDir(name)
		for _, e := range all {
			if err != nil || !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".sample") {
				return false
			}
		}
		return err == nil
	case "config":
		return plainConfig(name)
	case ".gitmodules":
		text, _, err := readRegular(name)
		return err == nil && plainModules(string(text))
	case ".git": // what is in a folder has names of its own
		fi, err := os.Lstat(name)
		return err == nil && fi.IsDir()
	case "HEAD":
		return !isGitFolder(filepath.Dir(name))
	}
	return false
}

// plainSection matches a heading that has a line of its own: git reads a key behind one on the same line, too.
var plainSection = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\[(?:(?i:core|user)|(?i:remote|branch) "[^"\\\[\]#;]*")\]$`)
})

// plainConfig reports whether a git configuration has only keys that git init and git clone write.
func plainConfig(name string) bool {
	fi, err := os.Lstat(name)
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > 64<<10 {
		return false
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	known := map[string]bool{
		"repositoryformatversion": true, "filemode": true, "bare": true, "logallrefupdates": true, "ignorecase": true,
		"precomposeunicode": true, "symlinks": true,
		"url": true, "fetch": true, "remote": true, "merge": true, "name": true, "email": true,
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			if !plainSection().MatchString(line) {
				return false
			}
			continue
		}
		key, _, _ := strings.Cut(line, "=")
		if !known[strings.ToLower(strings.TrimSpace(key))] || strings.Contains(line, "ext::") {
			return false
		}
	}
	return true
}

// setAside moves a file or folder away and says where it is.
func setAside(name, dir string) string {
	to := filepath.Join(dir, time.Now().UTC().Format("20060102-150405.000000000"))
	p, err := openPlace(name)
	if err == nil {
		defer p.close()
		if err = os.MkdirAll(to, 0o700); err == nil {
			to = filepath.Join(to, filepath.Base(name))
			err = p.move(to)
		}
		if err != nil { // another file system: keep it in its folder, under a name that no program reads
			to = name + ".set-aside-by-lathe"
			err = p.rename(filepath.Base(to))
		}
	}
	if err != nil {
		return fmt.Sprintf("%s is protected; the command made it, and it could not be moved away: %v", name, err)
	}
	return fmt.Sprintf("%s is protected; the command made it, and it was set aside: %s", name, to)
}
