// Package best has several agents attempt one task, each in its own git worktree, and chooses the best attempt.
//
// The words: an attempt is one agent's work; a contest is all attempts at one task with the judges' ballots; the winner
// is the attempt with the most points.
//
// Promises: a contest is on disk before its first agent starts, and after each attempt. An attempt's worktree, branch
// and patch stay until the contest is dropped. The project itself does not change before a patch is applied, which
// changes all of its files or none.
package best

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/store/worktree"
)

// Most is the limit on attempts of a contest.
const Most = 10

// Attempt is one agent's work.
type Attempt struct {
	N        int              `json:"n"` // from 1
	Session  string           `json:"session,omitempty"`
	Model    string           `json:"model,omitempty"` // as it was asked for; "": the session's
	Effort   string           `json:"effort,omitempty"`
	Answer   string           `json:"answer,omitempty"`
	Problem  string           `json:"problem,omitempty"` // why it stopped early, or has no patch
	Worktree string           `json:"worktree,omitempty"`
	Branch   string           `json:"branch,omitempty"`
	Patch    string           `json:"patch,omitempty"` // the file with its changes; empty: it changed nothing
	Added    int              `json:"added"`           // lines
	Removed  int              `json:"removed"`
	Check    *event.EvalCheck `json:"check,omitempty"`
	Steps    int              `json:"steps"`
	CostUSD  float64          `json:"cost_usd"`
	Points   float64          `json:"points"`
	Done     bool             `json:"done"` // false: it is at work, or lathe ended meanwhile
}

// Contest is all attempts at one task.
type Contest struct {
	ID       string        `json:"id"`
	Prompt   string        `json:"prompt"`
	Dir      string        `json:"dir"`
	Session  string        `json:"session"`
	Created  time.Time     `json:"created"`
	Command  string        `json:"check_command,omitempty"`
	Attempts []Attempt     `json:"attempts"`
	Ballots  []eval.Ballot `json:"ballots,omitempty"`
	Winner   int           `json:"winner"` // the number of an attempt; 0: none
	Applied  int           `json:"applied,omitempty"`
}

// Runner runs contests.
type Runner struct {
	Store  Store
	Agents interface {
		Run(context.Context, subagent.Request) (subagent.Outcome, error)
	}
	Kind   func() subagent.Kind // that attempts are of, but for model and effort
	Check  eval.Settings        // the check command
	Models eval.Models
	Judges []eval.Judge
	Report func(Attempt) // is called when an attempt has ended; never twice at once

	mu sync.Mutex
}

// Run has the contest's agents work, checks their work and has the judges choose. What there is when ctx ends is kept.
func (r *Runner) Run(ctx context.Context, c *Contest) error {
	if err := r.Store.Save(c); err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs, diffs := make([]error, len(c.Attempts)), make([]string, len(c.Attempts))
	for i := range c.Attempts {
		wg.Go(func() { diffs[i], errs[i] = r.attempt(ctx, c, i) })
	}
	wg.Wait()
	if err := errors.Join(append(errs, ctx.Err())...); err != nil {
		return err
	}
	r.choose(ctx, c, diffs)
	return r.Store.Save(c)
}

// attempt has one agent work, in its own copy of c.Attempts[i].
func (r *Runner) attempt(ctx context.Context, c *Contest, i int) (diff string, err error) {
	a, kind := c.Attempts[i], r.Kind()
	kind.Model, kind.Effort = a.Model, a.Effort
	var saved error
	out, err := r.Agents.Run(ctx, subagent.Request{
		Call: fmt.Sprintf("best-%s-%d", c.ID, a.N), Title: fmt.Sprintf("Attempt %d", a.N), Prompt: c.Prompt, As: &kind,
		Git: true,
		Then: func(ctx context.Context, _ subagent.Outcome, conv subagent.Conversation, tree *worktree.Tree) {
			a.Steps, a.CostUSD = conv.Used()
			if tree == nil {
				return
			}
			a.Worktree, a.Branch = tree.Path, tree.Branch()
			patch, failed := tree.Patch(ctx)
			switch {
			case failed != nil:
				a.Problem = failed.Error()
			case len(patch) > 0:
				diff = string(patch)
				a.Patch, saved = r.Store.savePatch(c, a.N, patch)
				a.Added, a.Removed = count(diff)
				a.Check = eval.RunCheck(ctx, r.Check, fmt.Sprintf("best-check-%d", a.N), conv.Invoke)
			}
		},
	})
	if err != nil {
		a.Problem = err.Error()
	}
	a.Session, a.Answer, a.Done = out.ID, out.Answer, ctx.Err() == nil
	a.Problem = cmp.Or(a.Problem, out.Problem)
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Attempts[i] = a
	if r.Report != nil {
		r.Report(a)
	}
	return diff, errors.Join(saved, r.Store.Save(c))
}

// choose finds the winner among the attempts that can be applied: those that passed the check, if any did.
func (r *Runner) choose(ctx context.Context, c *Contest, diffs []string) {
	var which []int
	candidates := make([]eval.Candidate, len(c.Attempts))
	for i, a := range c.Attempts {
		candidates[i] = eval.Candidate{Diff: diffs[i], Answer: a.Answer, Check: a.Check}
		if a.Patch != "" {
			which = append(which, i)
		}
	}
	failed := func(i int) bool { return c.Attempts[i].Check != nil && c.Attempts[i].Check.Failed }
	if slices.ContainsFunc(which, func(i int) bool { return !failed(i) }) {
		which = slices.DeleteFunc(which, failed)
	}
	c.Ballots = r.Models.Compare(ctx, r.Judges, c.Prompt, candidates, which)
	points := eval.Points(c.Ballots, len(candidates))
	for i := range c.Attempts {
		c.Attempts[i].Points = points[i]
	}
	slices.SortStableFunc(which, func(a, b int) int { return better(c.Attempts[a], c.Attempts[b]) })
	if len(which) > 0 {
		c.Winner = c.Attempts[which[0]].N
	}
}

// better orders attempts: by points, then those without a problem, then the cheaper ones.
func better(a, b Attempt) int {
	problem := func(x Attempt) int { return min(len(x.Problem), 1) }
	return cmp.Or(cmp.Compare(b.Points, a.Points), cmp.Compare(problem(a), problem(b)), cmp.Compare(a.CostUSD, b.CostUSD))
}

// count counts the lines that a patch adds and removes.
func count(patch string) (added, removed int) {
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed
}

// Attempt finds an attempt by its number; 0 is the winner.
func (c *Contest) Attempt(n int) (*Attempt, error) {
	if n == 0 && c.Winner == 0 {
		return nil, fmt.Errorf("contest %s has no winner; give the number of an attempt", c.ID)
	}
	if n == 0 {
		n = c.Winner
	}
	if n < 1 || n > len(c.Attempts) {
		return nil, fmt.Errorf("contest %s has no attempt %d; they are 1 to %d", c.ID, n, len(c.Attempts))
	}
	return &c.Attempts[n-1], nil
}
