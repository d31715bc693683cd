package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// worktreeTimeout bounds the checkout of a large repository.
const worktreeTimeout = 5 * time.Minute

// Worktree is a linked work tree with a branch of its own.
type Worktree struct {
	Path   string
	Branch string
	Base   string // the commit it began at; empty where it was there before

	ignored []string // lines of git's status; see SetUp
}

// SetUp notes the ignored files that are in the work tree now: they do not count as changes.
func (g *Git) SetUp(ctx context.Context, w *Worktree) error {
	there, ok := open(w.Path)
	if !ok {
		return fmt.Errorf("%s is no worktree any more", w.Path)
	}
	out, err := g.edit(ctx, there, statusOfAll...)
	w.ignored = nil
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "!! ") {
			w.ignored = append(w.ignored, line)
		}
	}
	return err
}

var statusOfAll = []string{"status", "--porcelain", "--ignored", "--untracked-files=all"}

func (w Worktree) changed(status string) bool {
	for line := range strings.Lines(status) {
		if !slices.Contains(w.ignored, line) {
			return true
		}
	}
	return false
}

// AddWorktree makes a work tree at path with a new branch at HEAD, or returns the one that is there. Neither the
// repository's hooks nor its own filters run; the user's filters do.
func (g *Git) AddWorktree(ctx context.Context, repo Repo, path, branch string) (Worktree, error) {
	return g.AddWorktreeAt(ctx, repo, path, branch, "HEAD")
}

// AddWorktreeAt is AddWorktree with a new branch at another commit.
func (g *Git) AddWorktreeAt(ctx context.Context, repo Repo, path, branch, at string) (Worktree, error) {
	w := Worktree{Path: path, Branch: branch}
	switch there, ok := open(path); {
	case ok && there.Worktree && same(there.CommonDir, repo.CommonDir):
		w.Branch = there.Branch
		return w, nil
	case ok:
		return w, fmt.Errorf("%s belongs to another repository", path)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return w, fmt.Errorf("%s is there and is no worktree of this repository", path)
	}
	out, err := g.edit(ctx, repo, "rev-parse", "--verify", "--end-of-options", at+"^{commit}")
	if err != nil {
		return w, fmt.Errorf("a worktree needs a commit to begin at: %w", err)
	}
	base := strings.TrimSpace(string(out))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return w, err
	}
	args := []string{"worktree", "add", "--quiet", "-b", branch, path, base}
	if _, err := g.edit(ctx, repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch); err == nil {
		args = []string{"worktree", "add", "--quiet", path, branch} // kept by an earlier run
	} else {
		w.Base = base
	}
	_, err = g.edit(ctx, repo, args...)
	return w, err
}

// RemoveUnchanged removes a work tree that this run made, and its branch, if it holds nothing that the repository has
// not: no commit, no change and no file beside, ignored ones included but for those of SetUp. It reports whether it
// did.
func (g *Git) RemoveUnchanged(ctx context.Context, repo Repo, w Worktree) (bool, error) {
	there, ok := open(w.Path)
	if w.Base == "" || !ok {
		return false, nil
	}
	head, err := g.edit(ctx, there, "rev-parse", "HEAD")
	if err != nil || strings.TrimSpace(string(head)) != w.Base || there.Branch != w.Branch {
		return false, err
	}
	files, err := g.edit(ctx, there, statusOfAll...)
	if err != nil || w.changed(string(files)) {
		return false, err
	}
	if _, err := g.edit(ctx, repo, "worktree", "remove", w.Path); err != nil {
		return false, err
	}
	_ = os.Remove(filepath.Dir(w.Path)) // the folder of all worktrees, when it is empty
	_, err = g.edit(ctx, repo, "update-ref", "-d", "refs/heads/"+w.Branch, w.Base)
	return true, err
}

// edit runs a command that may write to the repository. Of the user's settings only those that name programs for hooks
// and the like is off.
func (g *Git) edit(ctx context.Context, repo Repo, args ...string) ([]byte, error) {
	program, err := g.program(repo.Root)
	if err != nil {
		return nil, err
	}
	over, err := g.overrides(ctx, program, repo, repository)
	if err != nil {
		return nil, err
	}
	patient := *g
	patient.Timeout = worktreeTimeout
	return patient.run(ctx, program, repo, over, nil, args)
}

func same(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// Patch is the changes of a work tree since a commit, as git apply takes them. New files are part of it, and the index
// of the work tree then knows their names; files that git ignores are not.
func (g *Git) Patch(ctx context.Context, there Repo, base string) ([]byte, error) {
	if _, err := g.edit(ctx, there, "add", "--intent-to-add", "--", "."); err != nil {
		return nil, err
	}
	patient := *g
	patient.MaxOutput = mostPatch
	return patient.edit(ctx, there, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "--full-index",
		"--src-prefix=a/", "--dst-prefix=b/", base)
}

// mostPatch bounds a patch, in bytes.
const mostPatch = 64 << 20

// RemoveWorktree removes a work tree and its branch, with everything in them.
func (g *Git) RemoveWorktree(ctx context.Context, repo Repo, path, branch string) error {
	if _, err := os.Lstat(path); err == nil {
		if _, err := g.edit(ctx, repo, "worktree", "remove", "--force", path); err != nil {
			return err
		}
	}
	_ = os.Remove(filepath.Dir(path)) // the folder of all worktrees, when it is empty
	if _, err := g.edit(ctx, repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+branch); err != nil {
		return nil
	}
	_, err := g.edit(ctx, repo, "update-ref", "-d", "refs/heads/"+branch)
	return err
}

// Apply changes the files of a work tree as a patch file says, all of them or none. New files are added to the index.
func (g *Git) Apply(ctx context.Context, repo Repo, patch string) error {
	if _, err := g.edit(ctx, repo, "apply", "--check", "--whitespace=nowarn", patch); err != nil {
		return err
	}
	_, err := g.edit(ctx, repo, "apply", "--whitespace=nowarn", patch)
	return err
}

// Commit commits all changes of a work tree, also new files, and returns how many files there were; nothing is
// committed for none. Where the user has no name for commits, lathe's stands.
func (g *Git) Commit(ctx context.Context, there Repo, message string) (files int, err error) {
	if _, err := g.edit(ctx, there, "add", "--all"); err != nil {
		return 0, err
	}
	out, err := g.edit(ctx, there, "diff", "--cached", "--name-only", "-z")
	if files = strings.Count(string(out), "\x00"); err != nil || files == 0 {
		return files, err
	}
	_, err = g.edit(ctx, there, append(g.author(ctx, there), "commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m",
		message)...)
	return files, err
}

// author is the flags that name an author where the settings have none.
func (g *Git) author(ctx context.Context, there Repo) []string {
	if out, err := g.edit(ctx, there, "config", "user.email"); err == nil && len(strings.TrimSpace(string(out))) > 0 {
		return nil
	}
	return []string{"-c", "user.name=lathe", "-c", "user.email=lathe@localhost"}
}

// Merge merges a branch into that of a work tree. On a conflict it takes the merge back and returns the files.
func (g *Git) Merge(ctx context.Context, there Repo, branch, message string) (conflicts []string, err error) {
	_, err = g.edit(ctx, there, append(g.author(ctx, there), "merge", "--quiet", "--no-ff", "--no-verify",
		"--no-gpg-sign", "-m", message, branch)...)
	if err == nil {
		return nil, nil
	}
	out, failed := g.edit(ctx, there, "diff", "--name-only", "--diff-filter=U", "-z")
	if names := strings.Trim(string(out), "\x00"); failed == nil && names != "" {
		conflicts = strings.Split(names, "\x00")
	}
	if _, failed := g.edit(ctx, there, "merge", "--abort"); failed != nil && len(conflicts) > 0 {
		err = errors.Join(err, failed)
	}
	return conflicts, err
}
