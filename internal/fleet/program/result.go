package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/fleet"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

func (p *program) result() *cobra.Command {
	var asJSON, patch, branch, pr, yes bool
	var out string
	c := &cobra.Command{
		Use: "result JOB...", Short: "Show results, and take them over as patches, branches or pull requests",
		Args: cobra.MinimumNArgs(1),
		Long: `Show the results of jobs: the answers, or with --json all of them. --patch prints the changes, --out writes them as
files. --branch commits each to the branch fleet/JOB of its local repository, without touching the files there. --pr
shows the changes, and with --yes makes the branch, pushes it to origin and opens a pull request with gh.`,
		RunE: func(c *cobra.Command, args []string) error {
			return p.with(c.Context(), func(f *fleet.Fleet) error {
				var errs []error
				for _, id := range args {
					r, err := f.Result(c.Context(), id)
					if err != nil {
						errs = append(errs, err)
						continue
					}
					switch {
					case asJSON:
						err = p.json(r)
					case out != "":
						err = p.writePatch(c.Context(), f, r, out)
					case patch:
						err = p.printPatch(c.Context(), f, r)
					case branch:
						err = p.branch(c.Context(), f, r)
					case pr:
						err = p.pullRequest(c.Context(), f, r, yes)
					default:
						_, err = fmt.Fprintf(p.out, "%s: %s %s\n%s\n", r.Job, r.State, oneLine(r.Reason), term.Escape(r.Answer))
					}
					errs = append(errs, err)
				}
				return errors.Join(errs...)
			})
		},
	}
	fl := c.Flags()
	fl.BoolVar(&asJSON, "json", false, "print JSON")
	fl.BoolVar(&patch, "patch", false, "print the changes")
	fl.StringVar(&out, "out", "", "write the changes to JOB.patch in a `folder`")
	fl.BoolVar(&branch, "branch", false, "commit the changes to the branch fleet/JOB of the repository")
	fl.BoolVar(&pr, "pr", false, "open a pull request")
	fl.BoolVar(&yes, "yes", false, "with --pr: the changes were looked at")
	return c
}

func (p *program) printPatch(ctx context.Context, f *fleet.Fleet, r fleet.Result) error {
	b, err := f.Blob(ctx, r.Patch)
	if err == nil {
		_, err = p.out.Write(b)
	}
	return err
}

func (p *program) writePatch(ctx context.Context, f *fleet.Fleet, r fleet.Result, dir string) error {
	b, err := f.Blob(ctx, r.Patch)
	if err != nil || b == nil {
		return err
	}
	path := filepath.Join(dir, r.Job+".patch")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(path, b, 0o644)); err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.out, path)
	return err
}

func (p *program) branch(ctx context.Context, f *fleet.Fleet, r fleet.Result) error {
	b, err := f.Blob(ctx, r.Patch)
	if err != nil {
		return err
	}
	name, err := fleet.Branch(ctx, r, b)
	if err == nil {
		_, err = fmt.Fprintln(p.out, name)
	}
	return err
}

// pullRequest shows the changes first: the request is made after a yes.
func (p *program) pullRequest(ctx context.Context, f *fleet.Fleet, r fleet.Result, yes bool) error {
	if !yes {
		if err := p.printPatch(ctx, f, r); err != nil {
			return err
		}
		return fmt.Errorf("look at the changes; --yes opens the pull request of %s", r.Job)
	}
	b, err := f.Blob(ctx, r.Patch)
	if err != nil {
		return err
	}
	j, err := f.Spec(ctx, r.Job)
	if err != nil {
		return err
	}
	url, err := fleet.PullRequest(ctx, r, j, b)
	if err == nil {
		_, err = fmt.Fprintln(p.out, url)
	}
	return err
}
