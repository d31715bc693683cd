package fleet

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// space is a job's own copy of its repository.
type space struct {
	dir  string // the files
	repo string // the bare copy on this machine, whose settings no agent can change
	base string // the commit that it began at
	out  string // the patch
}

var fetching sync.Map // a lock for each copy of a repository

// space makes the copy, or finds that of an earlier try.
func (s *Sessions) space(ctx context.Context, t *Task) (*space, error) {
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return nil, err
	}
	p := &space{dir: filepath.Join(t.Dir, "work"), out: filepath.Join(t.Dir, "patch")}
	base := filepath.Join(t.Dir, "base")
	var err error
	if p.repo, err = s.mirror(ctx, t.Job.Repo); err != nil {
		return nil, err
	}
	if b, err := os.ReadFile(base); err == nil { // it is complete
		p.base = string(b)
		return p, nil
	}
	if err := os.RemoveAll(p.dir); err != nil {
		return nil, err
	}
	if p.base, err = git(ctx, p.repo, "rev-parse", "--verify", "--end-of-options", cmp.Or(t.Job.Rev, "HEAD")+"^{commit}"); err != nil {
		return nil, err
	}
	if _, err := git(ctx, "", "clone", "--quiet", "--local", "--no-checkout", p.repo, p.dir); err != nil {
		return nil, err
	}
	if _, err := git(ctx, p.dir, "checkout", "--quiet", "--detach", p.base); err != nil {
		return nil, err
	}
	return p, os.WriteFile(base, []byte(p.base), 0o600)
}

// mirror returns this machine's bare copy of a repository, brought up to date.
func (s *Sessions) mirror(ctx context.Context, source string) (string, error) {
	dir := filepath.Join(s.Repos, sum([]byte(source))[:16]+".git")
	lock, _ := fetching.LoadOrStore(dir, &sync.Mutex{})
	l, ok := lock.(*sync.Mutex)
	if !ok {
		return "", errors.New("no lock")
	}
	l.Lock()
	defer l.Unlock()
	if err := os.MkdirAll(s.Repos, 0o700); err != nil {
		return "", err
	}
	if source == "" {
		return dir, empty(ctx, dir)
	}
	if _, err := os.Stat(dir); err == nil {
		_, err := git(ctx, dir, "fetch", "--quiet", "--prune", "--update-head-ok", source, "+refs/*:refs/*")
		return dir, err
	}
	temp := dir + ".new"
	if err := os.RemoveAll(temp); err != nil {
		return "", err
	}
	if _, err := git(ctx, "", "clone", "--quiet", "--mirror", "--", source, temp); err != nil {
		return "", err
	}
	return dir, os.Rename(temp, dir)
}

// empty makes a repository with one empty commit.
func empty(ctx context.Context, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if _, err := git(ctx, "", "init", "--quiet", "--bare", dir); err != nil {
		return err
	}
	tree, err := git(ctx, dir, "mktree")
	if err != nil {
		return err
	}
	commit, err := git(ctx, dir, "-c", "user.name=lathe", "-c", "user.email=lathe@localhost", "commit-tree", "-m", "empty", tree)
	if err != nil {
		return err
	}
	_, err = git(ctx, dir, "update-ref", "HEAD", commit)
	return err
}

// patch writes what changed since the base, committed or not. It reads the files with the settings of the bare copy:
// those of the folder are the agent's.
func (p *space) patch(ctx context.Context) (string, error) {
	index := p.out + ".index"
	defer os.Remove(index)
	run := func(args ...string) (string, error) {
		c := gitCommand(ctx, p.dir, append([]string{"--git-dir=" + p.repo, "--work-tree=" + p.dir}, args...)...)
		c.Env = append(c.Env, "GIT_INDEX_FILE="+index)
		return output(c)
	}
	if _, err := run("-c", "core.bare=false", "read-tree", p.base); err != nil {
		return "", err
	}
	if _, err := run("-c", "core.bare=false", "add", "--all"); err != nil {
		return "", err
	}
	_, err := run("-c", "core.bare=false", "diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-renames",
		"--output="+p.out, p.base)
	return p.out, err
}

// git runs git and returns its output without the last line break.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return output(gitCommand(ctx, dir, args...))
}

// gitCommand is git without hooks, monitors and questions.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	c := command(ctx, "git", append([]string{
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	}, args...)...)
	c.Dir, c.Env = dir, append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	return c
}

func output(c *exec.Cmd) (string, error) {
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(c.Path), err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// mostOutput is how much of a check's output is kept.
const mostOutput = 8 << 10

// check runs the check command of a job in lathe's sandbox.
func (s *Sessions) check(ctx context.Context, t *Task, dir string) (*Check, error) {
	code, out, err := s.Confined(ctx, dir, t.Job.Sandbox == "off", nil, "sh", "-c", t.Job.Check)
	return &Check{t.Job.Check, code, out}, err
}

// Confined runs a command in lathe's sandbox, which may write to the folder. Open: without the sandbox.
func (s *Sessions) Confined(ctx context.Context, dir string, open bool, environ []string, args ...string) (code int,
	out string, err error,
) {
	name := args[0]
	if args = args[1:]; !open {
		own := []string{"sandbox", "run"}
		if s.Settings != "" {
			own = append(own, "--settings="+s.Settings)
		}
		name, args = s.Lathe, append(append(own, "--", name), args...)
	}
	c := command(ctx, name, args...)
	var b bytes.Buffer
	c.Dir, c.Stdout, c.Stderr, c.Env = dir, &b, &b, append(os.Environ(), environ...)
	err = c.Run()
	if out = b.String(); len(out) > mostOutput {
		out = out[len(out)-mostOutput:]
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return exit.ExitCode(), out, nil
	}
	return 0, out, err
}
