package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// newWorktree is pflag's value of --worktree without one.
const newWorktree = "\x00new"

// worktreeName matches valid names: they become part of a path and of a branch.
var worktreeName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*$`)
})

const maxWorktreeName = 64

// gitWorktree is the work tree of a run with --worktree.
type gitWorktree struct {
	git.Worktree
	p    *program
	g    *git.Git
	repo git.Repo
}

// enterWorktree makes the work tree that the options ask for, or finds it, and makes it the folder of the run. Leave
// removes it if it is unchanged, else prints its path.
func (p *program) enterWorktree(ctx context.Context, o *Options) (leave func(context.Context) error, err error) {
	name := o.Worktree
	if name == newWorktree {
		name = p.now().Format("20060102-150405") + "-" + p.uuid()[:8]
	}
	if len(name) > maxWorktreeName || !worktreeName().MatchString(name) {
		return nil, usage("use letters, digits, dots, - and _, at most 64", "--worktree: %q is not a name for a worktree",
			name)
	}
	dir, err := workingFolder(o)
	if err != nil {
		return nil, err
	}
	if leave, ok, err := p.enterHooked(ctx, o, dir, name); ok || err != nil {
		return leave, err
	}
	return p.enterGit(ctx, o, dir, name)
}

// enterGit has git make the work tree. Work trees are beside the repository, in NAME.worktrees: inside, they would be
// files of the project.
func (p *program) enterGit(ctx context.Context, o *Options, dir, name string) (leave func(context.Context) error,
	err error,
) {
	repo, ok := git.Find(dir)
	if !ok {
		return nil, usage("make a repository with git init, or leave the flag out",
			"--worktree: %s is not in a git repository", dir)
	}
	main := repo.Root
	if repo.Worktree { // beside the others
		main = filepath.Dir(repo.CommonDir)
	}
	w := &gitWorktree{p: p, g: git.New(sandbox.New()), repo: repo}
	w.Worktree, err = w.g.AddWorktree(ctx, repo, filepath.Join(main+".worktrees", name), "worktree-"+name)
	if err != nil {
		return nil, &Error{Code: exitUsage, Msg: "--worktree", Err: err}
	}
	o.Dir = w.Path
	if sub, err := filepath.Rel(repo.Root, dir); err == nil && isFolder(filepath.Join(w.Path, sub)) {
		o.Dir = filepath.Join(w.Path, sub)
	}
	fmt.Fprintf(p.err, "%s: working in %s, branch %s\n", messagesName, escape(w.Path), escape(w.Branch))
	return w.leave, nil
}

// leave removes the work tree if it is unchanged, else prints its path.
func (w *gitWorktree) leave(ctx context.Context) error {
	gone, err := w.g.RemoveUnchanged(ctx, w.repo, w.Worktree)
	if gone {
		fmt.Fprintf(w.p.err, "%s: nothing was changed; the worktree is removed\n", messagesName)
	} else {
		fmt.Fprintf(w.p.err, "%s: the work is in %s, branch %s; remove it with: git worktree remove %s\n", messagesName,
			escape(w.Path), escape(w.Branch), escape(w.Path))
	}
	return err
}

// inWorktree runs f in the work tree that the options ask for, if they do.
func (p *program) inWorktree(ctx context.Context, o *Options, f func() error) error {
	if !o.Given("worktree") {
		return f()
	}
	leave, err := p.enterWorktree(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(f(), leave(context.WithoutCancel(ctx)))
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
