package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/git"
)

// Hooks make and remove copies in the place of git, as the user's hooks of WorktreeCreate and WorktreeRemove do.
type Hooks interface {
	// CreateWorktree returns the folder that a hook made; ok is false where there are no such hooks.
	CreateWorktree(ctx context.Context, name string) (path string, ok bool, err error)
	// WorktreeRemoved reports a folder that is no longer used; false: no one removes it.
	WorktreeRemoved(ctx context.Context, path string) bool
}

// OpenHooked has hooks make the copy; ok is false where there are none, and git makes it. An agent that goes on asks
// them again with the same name.
func (m *Maker) OpenHooked(ctx context.Context, dir string, above *Tree, name string, h Hooks) (t *Tree, ok bool,
	err error,
) {
	if h == nil {
		return nil, false, nil
	}
	began := time.Now()
	path, ok, err := h.CreateWorktree(ctx, name)
	if err != nil || !ok {
		return nil, ok, err
	}
	t = &Tree{m: m, from: above.Moved(dir), hooks: h}
	if t.Path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, true, fmt.Errorf("the folder that a hook of WorktreeCreate made: %w", err)
	}
	if info, err := os.Stat(t.Path); err != nil || !info.IsDir() {
		return nil, true, fmt.Errorf("a hook of WorktreeCreate made %s, which is no folder", t.Path)
	}
	if err := t.holdNot(dir); err != nil {
		return nil, true, err
	}
	t.fresh = born(t.Path).After(began.Add(-clockStep))
	return t, true, t.begin(ctx, above)
}

// clockStep is how far the clock of a file system can be behind: a tick of the kernel's.
const clockStep = 20 * time.Millisecond

// holdNot refuses a copy that has the project in it: the agent would work on the original.
func (t *Tree) holdNot(dirs ...string) error {
	for _, dir := range append(dirs, t.from) {
		if rel, err := filepath.Rel(t.Path, dir); err != nil || filepath.IsLocal(rel) {
			return fmt.Errorf("a hook of WorktreeCreate made %s, which has the project itself in it", t.Path)
		}
	}
	return nil
}

// begin keeps the state of a hook's copy and describes it to the permissions.
func (t *Tree) begin(ctx context.Context, above *Tree) error {
	t.was = listed(t.Path)
	top, sub := t.from, "."
	if repo, ok := git.Find(t.from); ok {
		top = repo.Root
		rel, err := filepath.Rel(top, t.from)
		if err != nil {
			return err
		}
		if isDir(filepath.Join(t.Path, rel)) {
			sub = rel
		}
	}
	t.Project, t.Dir, t.Work = top, t.Path, filepath.Join(t.Path, sub)
	t.Others = []string{top}
	if above != nil {
		t.Project, t.Others = above.Original(top), append(t.Others, above.Others...)
	}
	repo, ok := git.Find(t.Path)
	if !ok || repo.Root != t.Path {
		return nil
	}
	head, err := t.m.git.Run(ctx, repo, "rev-parse", "HEAD")
	if err != nil {
		return nil // it has no commit: there is no diff
	}
	t.repo, t.Shared, t.wt = repo, repo.CommonDir, git.Worktree{Path: t.Path, Base: strings.TrimSpace(string(head))}
	return nil
}

// leaveHooked reports an unchanged copy to the hooks, or describes the changes.
func (t *Tree) leaveHooked(ctx context.Context) string {
	if lines := t.differences(); len(lines) > 0 {
		return fmt.Sprintf("[The work is in %s, made by a hook:\n%s]", t.Path, cut(strings.Join(lines, "\n")))
	}
	if !t.fresh { // earlier work can be in it
		return fmt.Sprintf("[Nothing was changed in %s; it is kept, since it was there before the hook was asked for it]",
			t.Path)
	}
	if t.hooks.WorktreeRemoved(ctx, t.Path) {
		return ""
	}
	return fmt.Sprintf("[Nothing was changed in %s, made by a hook; there is no hook of WorktreeRemove that removes it]",
		t.Path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
