package tool

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/files"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/permission"
)

// hiddenFiles knows the files of the working folders that may not be read without a question: by their names, which
// usually hold secrets, or by a rule. Commands in the sandbox do not see their contents. It is safe for concurrent use.
type hiddenFiles struct {
	mu      sync.Mutex
	rules   string // the state of the rules that the folders were read with
	folders map[string]*hiddenFolder
}

// hiddenFolder is what a folder held when it was read.
type hiddenFolder struct {
	changed, read time.Time
	below         []string // folders in it that are looked through
	hidden        []string // files and folders in it, and what links among them lead to
}

const (
	maxHidden  = 500    // files and folders that are hidden one by one
	maxFolders = 50_000 // that are looked through
	// freshFolder is the age below which a folder's time of change cannot rule out a later one.
	freshFolder = 50 * time.Millisecond
)

// of returns the hidden files of all working folders. ok is false where there are too many to hide.
func (h *hiddenFiles) of(e *Files) (paths []string, ok bool) {
	if e.MayRead == nil {
		return nil, true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if rules := e.rules(); h.folders == nil || rules != h.rules {
		h.rules, h.folders = rules, map[string]*hiddenFolder{}
	}
	mayRead := e.readings()
	var todo []string
	for _, root := range e.Roots.List() {
		todo = append(todo, root.Path)
	}
	looked := 0
	for ; len(todo) > 0 && looked < maxFolders; looked++ {
		dir := todo[len(todo)-1]
		f := h.folder(dir, mayRead)
		todo = append(todo[:len(todo)-1], f.below...)
		paths = append(paths, f.hidden...)
	}
	return paths, len(todo) == 0 && len(paths) <= maxHidden
}

// folder reads a folder, unless it is as it was.
func (h *hiddenFiles) folder(dir string, mayRead func(string) permission.Effect) *hiddenFolder {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() {
		return &hiddenFolder{}
	}
	if f := h.folders[dir]; f != nil && f.changed.Equal(fi.ModTime()) && f.read.Sub(f.changed) > freshFolder {
		return f
	}
	f := &hiddenFolder{changed: fi.ModTime(), read: time.Now()}
	entries, _ := os.ReadDir(dir) // a folder that cannot be read is closed to commands too
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case hides(path, mayRead(path)):
			f.hidden = append(f.hidden, path)
			if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
				f.hidden = append(f.hidden, real)
			}
		case e.IsDir() && !slices.Contains(dependencyFolders, e.Name()):
			f.below = append(f.below, path)
		}
	}
	h.folders[dir] = f
	return f
}

// hides reports whether a file whose reading is decided so is hidden. A guard asks about more names than are hidden:
// builds read the configuration of package managers, what git tracks, and the keys of tests.
func hides(path string, reading permission.Effect) bool {
	name := filepath.Base(path)
	switch {
	case reading == permission.Allow, reading == permission.Ask && name == ".npmrc":
		return false
	case reading == permission.Deny, strings.HasPrefix(name, ".env"), strings.HasSuffix(name, ".env"):
		return true
	case slices.Contains(keyEndings, filepath.Ext(name)):
		return !slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"),
			func(part string) bool { return slices.Contains(testFolders, part) })
	}
	repo, ok := git.Find(filepath.Dir(path))
	tracked := false
	if ok {
		_ = git.Tracked(repo, func(file, _ []byte) {
			tracked = tracked || filepath.Join(repo.Root, string(file)) == path
		})
	}
	return !tracked
}

// keyEndings are those of files with keys and certificates, testFolders hold some that tests use.
var (
	keyEndings  = []string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".asc", ".gpg"}
	testFolders = []string{"testdata", "fixtures", "__fixtures__", "test", "tests", "spec", "examples"}
)

// rules is the state of the rules.
func (e *Files) rules() string {
	if e.Rules == nil {
		return ""
	}
	return e.Rules()
}

// readings is MayRead for many files.
func (e *Files) readings() func(string) permission.Effect {
	if e.Readings != nil {
		return e.Readings()
	}
	return e.MayRead
}

// hidden are the files that the command must not read: all hidden ones but those that it names, which the decision on
// it was about. A line of git alone reads all files to compare them, and shows nothing of hidden ones.
func (c *bashCall) hidden() []string {
	paths, _ := c.env.hidden.of(c.env.Files)
	if paths == nil || c.gitAlone() {
		return []string{}
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		return slices.ContainsFunc(c.accesses, func(a permission.Access) bool {
			return (a.Kind == permission.Read || a.Kind == permission.Write) && !a.Below &&
				(files.Within(path, a.Target) || a.Named != "" && files.Within(path, a.Named))
		})
	})
}

// gitAlone reports whether the command is one of git, perhaps with programs that shorten its output.
func (c *bashCall) gitAlone() bool {
	runs := false
	for _, a := range c.accesses {
		if a.Command == nil {
			continue
		}
		for i := range a.Command.Parts {
			p := &a.Command.Parts[i]
			if !p.Exact || p.Whole || !slices.Contains(boundary.Plain, p.Program) {
				return false
			}
			runs = runs || p.Program == "git"
		}
	}
	return runs
}

// restoring are git's subcommands that write files as it has recorded them.
var restoring = []string{
	"checkout", "switch", "merge", "rebase", "cherry-pick", "revert", "stash", "reset", "restore", "pull",
}

// recorded reports whether the command is one of git that writes files as git has recorded them.
func (c *bashCall) recorded() bool {
	writes := false
	for _, a := range c.accesses {
		if a.Kind == permission.Write && a.Redirect {
			return false
		}
		if a.Command == nil {
			continue
		}
		for i := range a.Command.Parts {
			p := &a.Command.Parts[i]
			words := strings.Fields(p.Text)
			switch {
			case p.Class.ReadOnly():
			case p.Program == "git" && p.Exact && len(words) > 1 && slices.Contains(restoring, words[1]):
				writes = true
			default:
				return false
			}
		}
	}
	return writes
}

// hides reports whether the sandbox can hide all files that must not be read.
func (e *Files) hides() bool {
	_, ok := e.hidden.of(e)
	return ok
}

// attributes is the path of the attributes with which git shows nothing of hidden files, in the past either.
func (e *Files) attributes(home string) (string, error) {
	secret, template := permission.SecretPatterns()
	if e.MayRead == nil || e.MayRead(filepath.Join(e.Roots.First(), ".env")) == permission.Allow {
		secret, template = nil, nil // the mode or a rule lets secrets be read
	}
	if e.DeniedNames != nil {
		for _, name := range e.DeniedNames() {
			secret = append(secret, name, "**/"+name+"/**")
		}
	}
	text := git.Attributes(git.OwnAttributes(home), secret, template)
	dir := cmp.Or(e.Lasting, filepath.Join(os.TempDir(), "lathe-"+strconv.Itoa(os.Getuid())))
	path := filepath.Join(dir, fmt.Sprintf("git-attributes-%x", sha256.Sum256([]byte(text)))[:40])
	if was, err := os.ReadFile(path); err == nil && string(was) == text {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, []byte(text), 0o600)
}
