package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/git"
)

// Diff is the changes in the copy since it was made, new files included, as a text of at most limit bytes; "" when
// there are none or they cannot be read.
func (t *Tree) Diff(ctx context.Context, limit int) string {
	patch, err := t.Patch(ctx)
	if err != nil {
		return ""
	}
	if len(patch) > limit {
		return strings.ToValidUTF8(string(patch[:limit]), "") + "\n[more]"
	}
	return string(patch)
}

// Patch is the changes in the copy since it was made, new files included, as git apply takes them. Files that git
// ignores are not part of it.
func (t *Tree) Patch(ctx context.Context) ([]byte, error) {
	if t.repo.Root == "" {
		return nil, errors.New("it is a copy of a folder that is no git repository, which has no diff")
	}
	there, ok := git.Find(t.Path)
	if !ok || there.Root != t.Path {
		return nil, fmt.Errorf("%s is no git worktree any more", t.Path)
	}
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	base := t.wt.Base
	if base == "" {
		out, err := t.m.git.Run(ctx, there, "merge-base", "HEAD", t.repo.Head)
		if err != nil {
			return nil, err
		}
		base = strings.TrimSpace(string(out))
	}
	return t.m.git.Patch(ctx, there, base)
}

// Remove removes the copy with its changes, and its branch.
func (t *Tree) Remove(ctx context.Context) error {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	if t.hooks != nil {
		if !t.hooks.WorktreeRemoved(ctx, t.Path) {
			return fmt.Errorf("%s was made by a hook, and no hook of WorktreeRemove removes it", t.Path)
		}
		return nil
	}
	if t.repo.Root == "" {
		err := os.RemoveAll(t.Path)
		_ = os.Remove(filepath.Dir(t.Path)) // if it is empty
		return err
	}
	return t.m.git.RemoveWorktree(ctx, t.repo, t.Path, t.wt.Branch)
}

// Branch is the branch of the copy; empty for the copy of a folder.
func (t *Tree) Branch() string { return t.wt.Branch }

// Top is the topmost folder of the repository that the copy was made from; empty for the copy of a folder.
func (t *Tree) Top() string { return t.repo.Root }
