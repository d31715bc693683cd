package tool

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/git"
)

// gitLook asks git for the losses.
type gitLook struct {
	d    *destruction
	git  *git.Git
	repo git.Repo
	dir  string
}

// tell lists the work that a subcommand would discard.
func (g gitLook) tell(ctx context.Context, sub string, args []string) {
	switch sub {
	case "clean":
		g.clean(ctx, args)
	case "push":
		g.push(ctx, args)
	case "branch", "tag":
		g.branches(ctx, args)
	case "stash":
		g.stashes(ctx)
	case "reset":
		g.changes(ctx, false)
		g.commits(ctx, args)
	case "rm":
		g.changes(ctx, false)
	default: // checkout, restore, switch, rebase, merge, ...
		g.changes(ctx, sub == "checkout" || sub == "switch")
	}
}

func (g gitLook) failed(err error) { g.d.say("What git would discard is not known: %v.", err) }

// changes lists uncommitted work.
func (g gitLook) changes(ctx context.Context, untracked bool) {
	info := g.git.Info(ctx, g.repo.Root)
	if info.Status == nil {
		g.failed(info.Err)
		return
	}
	s := info.Status
	n := s.Staged + s.Changed + s.Conflicts
	if n == 0 {
		g.d.say("There are no uncommitted changes to files that git knows.")
	} else {
		var names []string
		for _, l := range s.Lines {
			if !strings.HasPrefix(l, "??") {
				names = append(names, strings.TrimSpace(l[min(2, len(l)):]))
			}
		}
		g.d.say("Uncommitted: %d staged, %d changed, %d in conflict: %s", s.Staged, s.Changed, s.Conflicts,
			someOf(names, max(len(names), len(names)+s.More)))
	}
	if untracked && s.Untracked > 0 {
		g.d.say("%s that git does not know may be overwritten.", count(s.Untracked, "path", "paths"))
	}
}

// commits reports how many commits a reset takes off the branch.
func (g gitLook) commits(ctx context.Context, args []string) {
	for _, a := range args {
		if strings.HasPrefix(a, "-") || a == "HEAD" {
			continue
		}
		if n, ok := g.number(ctx, "rev-list", "--count", a+"..HEAD", "--"); ok && n > 0 {
			branch := g.repo.Branch
			if branch == "" {
				branch = "HEAD"
			}
			g.d.say("%s would leave %s; they stay in the reflog for a while.", count(n, "commit", "commits"), branch)
		}
		return
	}
}

// number runs git for a number.
func (g gitLook) number(ctx context.Context, args ...string) (int, bool) {
	out, err := g.git.Run(ctx, g.repo, args...)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	return n, err == nil
}

// clean asks git for the files that it would remove, with the flags of the command that choose them.
func (g gitLook) clean(ctx context.Context, args []string) {
	dry := []string{"clean", "-n", "-f"}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") || strings.HasPrefix(a, "--") {
			continue
		}
		for _, f := range []string{"d", "x", "X"} {
			if strings.Contains(a, f) {
				dry = append(dry, "-"+f)
			}
		}
	}
	out, err := g.git.Run(ctx, g.repo, dry...)
	if err != nil {
		g.failed(err)
		return
	}
	var names []string
	var sum heap
	for l := range strings.Lines(string(out)) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(l, "\n"), "Would remove "); ok {
			if unquoted, err := strconv.Unquote(name); err == nil {
				name = unquoted
			}
			names = append(names, name)
			g.d.measure(filepath.Join(g.repo.Root, name), &sum)
		}
	}
	if len(names) == 0 {
		g.d.say("git would remove nothing.")
		return
	}
	g.d.say("git would remove %s: %s", sum, someOf(names, len(names)))
}

// push lists the commits of the remote branch that would be replaced, as far as they were fetched.
func (g gitLook) push(ctx context.Context, args []string) {
	s := g.git.Info(ctx, g.repo.Root).Status
	if s == nil || s.Upstream == "" {
		g.d.say("It changes the remote repository; the branch has no upstream to compare with.")
		return
	}
	g.d.say("%s would be published to %s.", count(s.Ahead, "commit", "commits"), s.Upstream)
	forced := slices.ContainsFunc(args, func(a string) bool {
		return a == "-f" || strings.HasPrefix(a, "--force") || strings.HasPrefix(a, "+") || a == "--mirror" ||
			a == "--delete" || a == "-d"
	})
	if forced && s.Behind > 0 {
		g.d.say("%s of %s are not here and would be thrown away, besides those that were not fetched yet.",
			count(s.Behind, "commit", "commits"), s.Upstream)
	} else if forced {
		g.d.say("Commits of %s that were not fetched yet would be thrown away.", s.Upstream)
	}
}

// branches lists the commits that only the named branches have.
func (g gitLook) branches(ctx context.Context, args []string) {
	for _, name := range args {
		if strings.HasPrefix(name, "-") {
			continue
		}
		n, ok := g.number(ctx, "rev-list", "--count", name, "--not", "--exclude="+name, "--branches", "--remotes", "--")
		if ok {
			g.d.say("%s: %s on no other branch.", name, count(n, "commit is", "commits are"))
		}
	}
}

func (g gitLook) stashes(ctx context.Context) {
	out, err := g.git.Run(ctx, g.repo, "stash", "list", "--format=%gd %s")
	if err != nil {
		g.failed(err)
		return
	}
	list := strings.Split(strings.TrimSpace(string(out)), "\n")
	if list[0] == "" {
		g.d.say("There is nothing in the stash.")
		return
	}
	g.d.say("In the stash: %s", someOf(list, len(list)))
}
