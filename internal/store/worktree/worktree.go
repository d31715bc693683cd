// Package worktree makes the copies of a project that isolated agents work in: a git worktree with its own branch,
// or, where there is no repository, a copy of the folder. They are beside the project, in NAME.worktrees.
//
// Promises: neither hooks nor filters of the repository run. A copy with changes is never removed. Copies of two agents
// never share a folder or a branch.
package worktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
	"github.com/lathe-dev/lathe/internal/permission"
)

// DefaultPrefix begins the names of branches.
const DefaultPrefix = "agent-"

// Maker makes the copies of one instance. It is safe for concurrent use.
type Maker struct {
	git      *git.Git
	settings func() config.Worktree

	mu sync.Mutex // git cannot add and remove worktrees at once
}

// New makes a Maker that starts git with r.
func New(r *sandbox.Runner, settings func() config.Worktree) *Maker {
	return &Maker{git: git.New(r), settings: settings}
}

// Tree is one copy.
type Tree struct {
	permission.Place
	Path string // its top folder
	m    *Maker
	wt   git.Worktree
	repo git.Repo // empty: a copy of a folder
	was  manifest // of a copy of a folder; nil: it was there before
	from string   // what it is a copy of

	hooks Hooks // that made it; nil: lathe did
	fresh bool  // a hook made it for this run; false: it was there before, or that is not known
}

// Moved returns the path in the copy for one in the project; t may be nil.
func (t *Tree) Moved(path string) string { return t.At().Moved(path) }

// At returns the place of the copy; nil for nil.
func (t *Tree) At() *permission.Place {
	if t == nil {
		return nil
	}
	return &t.Place
}

var (
	goodName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`) })
	goodPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_/-]{0,63}$`) })
)

// Path returns the folder of the copy for an agent's session, made or not. Dir is the project's working folder.
func Path(dir, id string) string {
	top := dir
	if repo, ok := git.Find(dir); ok {
		if top = repo.Root; repo.Worktree { // beside the others
			top = filepath.Dir(repo.CommonDir)
		}
	}
	return filepath.Join(top+".worktrees", "agent-"+id)
}

// Open makes the copy for an agent's session, or returns the one that is there. Dir is the session's working folder,
// with links resolved; above is the copy that its parent works in, or nil.
func (m *Maker) Open(ctx context.Context, dir string, above *Tree, id string) (*Tree, error) {
	return m.OpenAt(ctx, dir, above, id, "")
}

// OpenAt is Open with another commit to begin at than that of the settings.
func (m *Maker) OpenAt(ctx context.Context, dir string, above *Tree, id, base string) (*Tree, error) {
	set := m.settings()
	set.Base = cmp.Or(base, set.Base)
	if set.BranchPrefix == "" {
		set.BranchPrefix = DefaultPrefix
	}
	if !goodName().MatchString(id) {
		return nil, fmt.Errorf("%q is no name of a worktree", id)
	}
	if !goodPrefix().MatchString(set.BranchPrefix) || strings.Contains(set.BranchPrefix, "//") {
		return nil, fmt.Errorf("the setting worktree.branchPrefix %q cannot begin a branch's name: use letters, digits, "+
			"_, - and /", set.BranchPrefix)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from := above.Moved(dir)
	t := &Tree{m: m, Path: Path(from, id), from: from}
	err := error(nil)
	if repo, ok := git.Find(from); ok {
		err = t.add(ctx, repo, set, id)
	} else {
		err = t.copyFolder(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the copy of the project at %s cannot be made: %w", t.Path, err)
	}
	return t, t.place(above)
}

// place describes the copy to the permissions.
func (t *Tree) place(above *Tree) (err error) {
	if t.Path, err = filepath.EvalSymlinks(t.Path); err != nil {
		return err
	}
	top, sub := t.from, "."
	if t.repo.Root != "" {
		top = t.repo.Root
		if sub, err = filepath.Rel(top, t.from); err != nil {
			return err
		}
	}
	t.Project, t.Dir, t.Work = top, t.Path, filepath.Join(t.Path, sub)
	t.Others = []string{top, filepath.Dir(t.Path)}
	if above != nil {
		t.Project, t.Others = above.Original(top), append(t.Others, above.Others...)
	}
	return nil
}

// add makes the copy as a git worktree.
func (t *Tree) add(ctx context.Context, repo git.Repo, set config.Worktree, id string) (err error) {
	base := set.Base
	if base == "" {
		base = "HEAD"
	}
	t.repo, t.Shared = repo, repo.CommonDir
	if t.wt, err = t.m.git.AddWorktreeAt(ctx, repo, t.Path, set.BranchPrefix+id, base); err != nil {
		return err
	}
	if err = t.workFolder(repo.Root); err == nil && t.wt.Base != "" { // else it has its files
		err = errors.Join(t.copyIgnored(ctx, set.Copy), t.m.git.SetUp(ctx, &t.wt))
	}
	return err
}

// workFolder makes the folder that represents the working folder. The commit may have a link there, which is not
// followed.
func (t *Tree) workFolder(top string) error {
	sub, err := filepath.Rel(top, t.from)
	if err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(t.Path)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(sub, 0o755); err != nil { // git has no empty folders
		return err
	}
	work := filepath.Join(path, sub)
	if real, err := filepath.EvalSymlinks(work); err != nil || real != work {
		return errors.Join(fmt.Errorf("%s is a link in the commit that the worktree begins at", work), err)
	}
	return nil
}

// Begun is called when the set-up has run: the ignored files that it made do not count as changes.
func (t *Tree) Begun(ctx context.Context) error {
	if t.repo.Root == "" || t.hooks != nil {
		t.was = listed(t.Path)
		return nil
	}
	return t.m.git.SetUp(ctx, &t.wt)
}

// Command is the set-up command for a new copy; empty: none.
func (t *Tree) Command() string {
	if t.wt.Base == "" && t.was == nil {
		return ""
	}
	return t.m.settings().SetUp
}

// mostDiff bounds the summary of changes, in bytes.
const mostDiff = 3_000

// Leave removes the copy if nothing was changed. Otherwise it returns a text that names it and summarises the changes.
func (t *Tree) Leave(ctx context.Context) string {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	if t.hooks != nil {
		return t.leaveHooked(ctx)
	}
	if t.repo.Root == "" {
		return t.leaveFolder()
	}
	gone, err := t.m.git.RemoveUnchanged(ctx, t.repo, t.wt)
	switch {
	case gone:
		return ""
	case err != nil:
		return fmt.Sprintf("[Its work is in the git worktree %s, branch %s; its state is unknown: %v]", t.Path, t.wt.Branch,
			err)
	}
	changes, base := t.changes(ctx)
	return fmt.Sprintf("[Its work is in the git worktree %s, branch %s, begun at %s:\n%s\nLook at it with: git -C %s "+
		"diff %s. To take it over, commit there and run: git merge %s. "+
		"To drop it: git worktree remove --force %s && git branch -D %s]",
		t.Path, t.wt.Branch, short(base), changes, quote(t.Path), short(base), t.wt.Branch, quote(t.Path), t.wt.Branch)
}

// changes summarises the changes since the commit that the branch began at.
func (t *Tree) changes(ctx context.Context) (text, base string) {
	there, ok := git.Find(t.Path)
	if !ok || there.Root != t.Path {
		return "it cannot be read", t.wt.Base
	}
	if base = t.wt.Base; base == "" { // it was there before
		out, err := t.m.git.Run(ctx, there, "merge-base", "HEAD", t.repo.Head)
		if err != nil {
			return "the commit that it began at is not known", "HEAD"
		}
		base = strings.TrimSpace(string(out))
	}
	stat, err := t.m.git.Run(ctx, there, "diff", "--no-ext-diff", "--no-textconv", "--stat", base)
	if err != nil {
		return "its changes cannot be read: " + err.Error(), base
	}
	text = strings.TrimRight(string(stat), "\n")
	if added, err := t.m.git.Run(ctx, there, "ls-files", "--others", "--exclude-standard"); err == nil {
		for name := range strings.Lines(string(added)) {
			text += "\n new: " + strings.TrimSpace(name)
		}
	}
	if text = strings.TrimPrefix(text, "\n"); text == "" {
		text = " only files that git ignores, or nothing"
	}
	return cut(text), base
}

func cut(text string) string {
	if len(text) <= mostDiff {
		return text
	}
	return strings.ToValidUTF8(text[:mostDiff], "") + "\n ..."
}

func short(commit string) string { return commit[:min(len(commit), 12)] }

// quote makes a path one word of a shell.
func quote(path string) string {
	if strings.Trim(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-/") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
