package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
)

// Branch commits the patch of a result to the branch fleet/JOB of its local repository. The index and the files there
// stay as they are. A branch that exists is not changed, so that no patch is applied twice.
func Branch(ctx context.Context, r Result, patch []byte) (string, error) {
	name := "fleet/" + r.Job
	switch info, err := os.Stat(r.Repo); {
	case len(patch) == 0:
		return "", fmt.Errorf("the job %s changed nothing", r.Job)
	case err != nil || !info.IsDir():
		return "", fmt.Errorf("%q is not a repository on this machine; --patch prints the changes", r.Repo)
	}
	if _, err := git(ctx, r.Repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+name); err == nil {
		return "", fmt.Errorf("the branch %s exists already", name)
	}
	index, err := os.CreateTemp("", "lathe-fleet-index-")
	if err != nil {
		return "", err
	}
	path := index.Name()
	if err := errors.Join(index.Close(), os.Remove(path)); err != nil {
		return "", err
	}
	defer os.Remove(path)
	run := func(stdin []byte, args ...string) (string, error) {
		c := gitCommand(ctx, r.Repo, args...)
		c.Env = append(c.Env, "GIT_INDEX_FILE="+path)
		c.Stdin = bytes.NewReader(stdin)
		return output(c)
	}
	if _, err := run(nil, "read-tree", r.Base); err != nil {
		return "", err
	}
	if _, err := run(patch, "apply", "--cached", "--binary", "--whitespace=nowarn"); err != nil {
		return "", err
	}
	tree, err := run(nil, "write-tree")
	if err != nil {
		return "", err
	}
	commit, err := run([]byte(message(r)), "commit-tree", "-p", r.Base, "-F", "-", tree)
	if err != nil {
		return "", err
	}
	_, err = run(nil, "update-ref", "refs/heads/"+name, commit, "")
	return name, err
}

func message(r Result) string {
	return fmt.Sprintf("Job %s of the fleet\n\n%s\n", r.Job, r.Answer)
}

// PullRequest makes the branch of a result, pushes it to origin, and opens a pull request with gh.
func PullRequest(ctx context.Context, r Result, j Job, patch []byte) (url string, err error) {
	name, err := Branch(ctx, r, patch)
	if err != nil {
		return "", err
	}
	if _, err := git(ctx, r.Repo, "push", "--quiet", "origin", name); err != nil {
		return "", err
	}
	c := command(ctx, "gh", "pr", "create", "--head", name, "--title", j.Name, "--body", r.Answer)
	c.Dir = r.Repo
	return output(c)
}
