package boundary

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/permission"
)

// Bounds of the search for repositories below a working folder.
const (
	nestedDepth   = 3
	nestedFolders = 128
	nestedRepos   = 32
	coarse        = time.Second // the age of a folder's last change from which a later one has another time
)

// nestedNames are the names that are set aside in folders below a working folder if a command makes them. Mounting over
// those that are there would keep commands from moving and removing the folders above.
var nestedNames = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, name := range append([]string{".git"}, permission.PlantNames()...) {
		out[name] = true
	}
	return out
})

// tree remembers the upper folders of a working folder. It reads a folder again only when that has changed.
type tree struct {
	mu      sync.Mutex
	folders map[string]listed
	later   time.Duration // for tests: how much later than the present it is
}

// trees are those of a session's working folders.
type trees struct{ all sync.Map }

func (t *trees) of(dir string) *tree {
	one, _ := t.all.LoadOrStore(dir, &tree{})
	return one.(*tree)
}

func (t *trees) scan(folders []string) map[string]below {
	out := map[string]below{}
	for _, dir := range folders {
		out[dir] = t.of(dir).scan(dir)
	}
	return out
}

// stamp is the state of a file or folder.
type stamp struct {
	device, inode uint64
	size          int64
	written       int64 // the times, in nanoseconds
	changed       int64
	mode          fs.FileMode
}

// listed is a folder as it was read.
type listed struct {
	state stamp // zero: it changed a moment ago, and may again without another time
	subs  []string
	names []string // those of nestedNames
	kept  []string // those that only an approved command changes, see keptNames
	bare  bool     // git takes the folder itself for a repository
}

// below is the state of the folders below a working folder.
type below struct {
	names map[string]bool // paths with a name of nestedNames
	kept  map[string]bool // paths with one of keptNames, those at the top too
	repos map[string]*repo
}

// repo is the part of a repository that makes programs run.
type repo struct {
	config []byte // nil: none that can be read
	mode   fs.FileMode
	hooks  map[string]stamp // what tells a changed file from the same one, also of repoFiles
}

// repoFiles are files of a repository that lead to other configuration, or choose programs of it.
var repoFiles = []string{"commondir", "config.worktree", "info/attributes"}

// scan reads the folders below root, breadth first.
func (t *tree) scan(root string) below {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, fresh := below{map[string]bool{}, map[string]bool{}, map[string]*repo{}}, make(map[string]listed, len(t.folders))
	level := []string{root}
	for depth := 0; depth <= nestedDepth && len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			if len(fresh) >= nestedFolders {
				break
			}
			l, ok := t.list(dir)
			if !ok {
				continue
			}
			fresh[dir] = l
			for _, name := range l.kept {
				now.kept[filepath.Join(dir, name)] = true
			}
			if depth > 0 {
				for _, name := range l.names {
					now.add(filepath.Join(dir, name))
				}
				if l.bare {
					now.addBare(dir)
				}
			}
			for _, sub := range l.subs {
				next = append(next, dir+string(filepath.Separator)+sub)
			}
		}
		level = next
	}
	t.folders = fresh
	return now
}

// list reads a folder, or remembers it.
func (t *tree) list(dir string) (listed, bool) {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() {
		return listed{}, false
	}
	state := stampOf(fi)
	if old, ok := t.folders[dir]; ok && old.state == state {
		return old, true
	}
	l := listed{}
	if time.Since(time.Unix(0, state.changed))+t.later > coarse {
		l.state = state
	}
	entries, err := os.ReadDir(dir)
	git := 0
	for _, e := range entries {
		name := e.Name()
		if name == "HEAD" || name == "objects" || name == "refs" {
			git++
		}
		if keptNames()[name] || strings.HasSuffix(name, workspaceFile) {
			l.kept = append(l.kept, name)
		}
		switch {
		case nestedNames()[name]:
			l.names = append(l.names, name)
		case e.IsDir() && name[0] != '.' && name != "node_modules" && name != "vendor":
			l.subs = append(l.subs, name)
		}
	}
	l.bare = git == 3
	return l, err == nil
}

func (b *below) add(path string) {
	b.names[path] = true
	if filepath.Base(path) == ".git" && len(b.repos) < nestedRepos {
		b.repos[path] = readRepo(path)
	}
}

// addBare adds a folder that is a repository itself.
func (b *below) addBare(path string) {
	if len(b.repos) < nestedRepos {
		b.names[path], b.repos[path] = true, readRepo(path)
	}
}

// readRepo reads what runs programs.
func readRepo(git string) *repo {
	r := &repo{hooks: map[string]stamp{}}
	if fi, err := os.Lstat(git); err != nil || !fi.IsDir() {
		if err == nil { // it leads to another folder
			r.hooks["."] = stampOf(fi)
		}
		return r
	}
	if text, fi, err := readRegular(filepath.Join(git, "config")); err == nil {
		r.config, r.mode = text, fi.Mode().Perm()
	}
	for _, name := range repoFiles {
		if fi, err := os.Lstat(filepath.Join(git, name)); err == nil {
			r.hooks[name] = stampOf(fi)
		}
	}
	if fi, err := os.Lstat(filepath.Join(git, "hooks")); err == nil && !fi.IsDir() {
		r.hooks["hooks"] = stampOf(fi)
		return r
	}
	entries, _ := os.ReadDir(filepath.Join(git, "hooks"))
	for _, e := range entries {
		if fi, err := e.Info(); err == nil && !strings.HasSuffix(e.Name(), ".sample") {
			r.hooks["hooks/"+e.Name()] = stampOf(fi)
		}
	}
	return r
}

// planted sets aside what a command made below the working folders, and undoes harmful changes of git's configuration
// there. It returns a line for the model for each, and the paths with what was there before.
func (b below) planted(now below, h homes, aside string) (lines []string, found map[string]*repo) {
	found = map[string]*repo{}
	for path := range now.names {
		var more []string
		was, r := b.repos[path], now.repos[path]
		switch {
		case b.names[path] && r != nil && was != nil:
			more = was.changed(path, r, aside)
		case b.names[path] || b.moved(r) || h.keep(path):
		case r == nil || !isDir(path):
			more = []string{setAside(path, aside)}
		default:
			more = (&repo{}).changed(path, r, aside)
		}
		if len(more) > 0 {
			found[path], lines = was, append(lines, more...)
		}
	}
	slices.Sort(lines)
	return lines, found
}

// moved reports whether a repository was there before, in another place.
func (b below) moved(r *repo) bool {
	for _, old := range b.repos {
		if r != nil && len(r.config) > 0 && bytes.Equal(old.config, r.config) && maps.Equal(old.hooks, r.hooks) {
			return true
		}
	}
	return false
}

// changed undoes the harmful difference between two states of a repository.
func (r *repo) changed(git string, now *repo, aside string) (lines []string) {
	c := &openConfig{path: filepath.Join(git, "config"), aside: aside, text: r.config, mode: r.mode}
	if key := harmfulChange(string(r.config), string(now.config)); key != "" {
		c.undo(key)
		if r.config != nil {
			c.restore()
		}
		lines = c.lines
	}
	for name, state := range now.hooks {
		if r.hooks[name] != state {
			lines = append(lines, setAside(filepath.Join(git, name), aside))
		}
	}
	return lines
}

func isDir(path string) bool {
	fi, err := os.Lstat(path)
	return err == nil && fi.IsDir()
}
