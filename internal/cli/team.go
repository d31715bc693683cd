package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/lathe-dev/lathe/internal/app"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/git"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/sandbox"
	"github.com/lathe-dev/lathe/internal/team"
	"github.com/lathe-dev/lathe/internal/term"
)

// teamFlags are the flags of lathe team.
type teamFlags struct {
	workers int
	check   string
	json    bool
}

func teamCommand(p *program, o *Options) *cobra.Command {
	var t teamFlags
	c := &cobra.Command{
		Use: `team [flags] "goal"`, Short: "Have a coordinator and workers reach a goal together",
		Long: `A coordinator splits the goal into tasks; workers do them side by side, each in a git worktree of its own, and their work is
checked and merged in order into a branch of the team. The current branch does not change. Workers may edit files in their
worktrees without asking, unless --permission-mode says otherwise.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			goal := strings.TrimSpace(strings.Join(args, " "))
			if goal == "" {
				return usage(`give the goal: lathe team "..."`, "lathe team needs a goal")
			}
			return p.runTeam(c.Context(), o, &t, goal, "")
		},
	}
	t.add(c, o)
	c.AddCommand(teamResumeCommand(p, o), teamListCommand(p, o), teamShowCommand(p, o))
	return c
}

func (t *teamFlags) add(c *cobra.Command, o *Options) {
	f := c.Flags()
	f.IntVar(&t.workers, "workers", team.DefaultWorkers, "the most workers at once, a `number`")
	f.StringVar(&t.check, "check", "", "the check `command`, instead of the setting eval.command")
	f.BoolVar(&t.json, "json", false, "print the board as one JSON object at the end")
	f.IntVar(&o.MaxTurns, "max-turns", 0, "stop each agent after `n` model calls")
	f.Float64Var(&o.MaxBudget, "max-budget-usd", 0, "stop when `usd` dollars are spent in all")
	addModelFlags(f, o)
	addPermissionFlags(f, o)
}

// teamRepo is the repository of a team.
type teamRepo struct {
	*git.Git
	repo git.Repo
}

func (r teamRepo) at(path string) (git.Repo, error) {
	there, ok := git.Find(path)
	if !ok || there.Root != path {
		return there, fmt.Errorf("%s is no git worktree any more", path)
	}
	return there, nil
}

func (r teamRepo) Commit(ctx context.Context, path, message string) (int, error) {
	there, err := r.at(path)
	if err != nil {
		return 0, err
	}
	return r.Git.Commit(ctx, there, message)
}

func (r teamRepo) Merge(ctx context.Context, path, branch, message string) ([]string, error) {
	there, err := r.at(path)
	if err != nil {
		return nil, err
	}
	return r.Git.Merge(ctx, there, branch, message)
}

func (r teamRepo) Remove(ctx context.Context, path, branch string) error {
	return r.RemoveWorktree(ctx, r.repo, path, branch)
}

// runTeam runs a new team, or goes on with the one of an id.
func (p *program) runTeam(ctx context.Context, o *Options, t *teamFlags, goal, id string) error {
	if t.workers < 1 {
		return usage("give a number from 1 on", "--workers: %d workers are not possible", t.workers)
	}
	if o.Mode == "" && !o.Bypass {
		o.Mode = string(permission.AcceptEdits)
	}
	inst, err := p.instance(o)
	if err != nil {
		return err
	}
	return errors.Join(p.teamWorks(ctx, inst, t, goal, id), inst.Close())
}

func (p *program) teamWorks(ctx context.Context, inst *app.Instance, t *teamFlags, goal, id string) error {
	repo, ok := git.Find(inst.Dir())
	if !ok || repo.Head == "" {
		return usage("make one with git init and a commit", "lathe team needs a git repository with a commit")
	}
	board, s, err := p.openBoard(ctx, inst, repo, goal, id)
	if err != nil {
		return err
	}
	sess, err := inst.NewSession(ctx, sessionOfTeam(s))
	if err != nil {
		return startError(err)
	}
	defer sess.Close()
	if s, err = board.Change(func(s *team.State) error {
		s.Session, s.Command = sess.ID(), cmp.Or(t.check, s.Command, inst.Extensions().Eval().Command)
		return nil
	}); err != nil {
		return err
	}
	for _, d := range team.Declarations() {
		if err := inst.Tools().Add(d); err != nil {
			return err
		}
	}
	var mu sync.Mutex
	r := &team.Runner{Board: board, Repo: teamRepo{git.New(sandbox.New()), repo}, Agents: sess.Env().Agents, Check: inst.Extensions().Eval(), Workers: t.workers}
	r.Check.Command = s.Command
	r.Report = func(b event.Body, _ team.State) {
		if n, ok := b.(event.Notice); ok {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(p.err, "lathe: "+term.EscapeLine(n.Text))
		}
	}
	sess.Env().More, sess.Env().Mail = r.Tools, r.Mail
	err = r.Run(ctx)
	s, failed := board.State()
	if err = errors.Join(err, failed); err == nil || s.Over {
		failed = p.printTeam(s, t.json)
	}
	if err = errors.Join(err, failed); err != nil {
		return &Error{Code: exitFailed, Err: err, Hint: "go on with: lathe team resume " + s.ID, interrupted: ctx.Err() != nil}
	}
	return nil
}

// sessionOfTeam is the session that the team's agents are below: a new one, or that of a team that goes on.
func sessionOfTeam(s team.State) app.SessionOptions {
	if s.Session != "" {
		return app.SessionOptions{Resume: s.Session}
	}
	return app.SessionOptions{}
}

// openBoard makes a team with the worktree of its branch, or finds one.
func (p *program) openBoard(ctx context.Context, inst *app.Instance, repo git.Repo, goal, id string) (*team.Board, team.State, error) {
	if goal == "" {
		board, s, err := boards(inst).Find(id)
		if err != nil {
			return nil, s, &Error{Code: exitUsage, Err: err}
		}
		return board, s, nil
	}
	s := team.State{ID: p.now().UTC().Format("20060102-150405") + "-" + p.uuid()[:4], Goal: goal, Dir: inst.Dir(), Created: p.now().Round(time.Second)}
	main := repo.Root
	if repo.Worktree {
		main = filepath.Dir(repo.CommonDir)
	}
	w, err := git.New(sandbox.New()).AddWorktree(ctx, repo, filepath.Join(main+".worktrees", "team-"+s.ID), "team-"+s.ID)
	if err != nil {
		return nil, s, err
	}
	if s.Worktree, err = filepath.EvalSymlinks(w.Path); err != nil {
		return nil, s, err
	}
	s.Branch = w.Branch
	board, err := boards(inst).New(s)
	return board, s, err
}

// boards is the folder of the project's teams.
func boards(inst *app.Instance) team.Boards {
	return team.Boards(filepath.Join(inst.Store().ProjectDir(cmp.Or(inst.Config().Paths().Root, inst.Dir())), "teams"))
}

func (p *program) printTeam(s team.State, asJSON bool) error {
	if asJSON {
		return writeJSON(p.out, s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", s.ID, term.Truncate(term.EscapeLine(s.Goal), 80, "…"))
	cost := s.CostUSD
	for _, t := range s.Tasks {
		cost += t.CostUSD
		fmt.Fprintf(&b, "%3d  %-8s  %s", t.ID, t.Status, term.EscapeLine(t.Title))
		if t.Note != "" {
			fmt.Fprintf(&b, " (%s)", term.Truncate(term.EscapeLine(t.Note), 120, "…"))
		}
		fmt.Fprintf(&b, ", $%.4f\n", t.CostUSD)
	}
	fmt.Fprintf(&b, "$%.4f in all\n", cost)
	if s.Summary != "" {
		b.WriteString("\n" + term.Escape(s.Summary) + "\n")
	}
	fmt.Fprintf(&b, "\nThe work is on the branch %s: look at it with git diff HEAD...%s, take it over with git merge %s.\n", s.Branch, s.Branch, s.Branch)
	_, err := io.WriteString(p.out, b.String())
	return err
}

func teamResumeCommand(p *program, o *Options) *cobra.Command {
	var t teamFlags
	c := &cobra.Command{
		Use: "resume [ID]", Short: "Go on with a team that was interrupted, the newest without an id", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.set = c.Flags().Changed
			return p.runTeam(c.Context(), o, &t, "", strings.Join(args, ""))
		},
	}
	t.add(c, o)
	return c
}

func teamListCommand(p *program, o *Options) *cobra.Command {
	return &cobra.Command{Use: "list", Short: "List the teams of this project", Args: noArgs, RunE: func(*cobra.Command, []string) error {
		inst, err := p.instance(o)
		if err != nil {
			return err
		}
		all, err := boards(inst).List()
		for _, s := range all {
			done := 0
			for _, t := range s.Tasks {
				if t.Status == team.Done {
					done++
				}
			}
			fmt.Fprintf(p.out, "%s  %d of %d done  %s\n", s.ID, done, len(s.Tasks), term.Truncate(term.EscapeLine(s.Goal), 80, "…"))
		}
		return errors.Join(err, inst.Close())
	}}
}

func teamShowCommand(p *program, o *Options) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "show [ID]", Short: "Print the tasks of a team", Args: cobra.MaximumNArgs(1), RunE: func(_ *cobra.Command, args []string) error {
		inst, err := p.instance(o)
		if err != nil {
			return err
		}
		_, s, err := boards(inst).Find(strings.Join(args, ""))
		if err != nil {
			return errors.Join(&Error{Code: exitUsage, Err: err}, inst.Close())
		}
		return errors.Join(p.printTeam(s, asJSON), inst.Close())
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
