// Package start has a team work in a session: it makes or finds the board, and gives the session's agents the tools of
// the team.
package start

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/conversation/team"
	"github.com/lathe-dev/lathe/internal/machine/git"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// ErrNoRepository is returned where a team cannot work.
var ErrNoRepository = errors.New("a team needs a git repository with a commit")

// ErrTime is the cause of the end of a team whose time is up.
var ErrTime = errors.New("the time for the team is up")

// Options choose the team and its limits.
type Options struct {
	Workers int    // most at once; 0: the default
	Check   string // the check command; "": that of the board, else of the settings
	Joins   bool   // as in team.Runner
	Report  func(team.News)
}

// Boards is the folder of the project's teams.
func Boards(inst *conversation.Instance) team.Boards {
	return team.Boards(filepath.Join(inst.Store().ProjectDir(cmp.Or(inst.Config().Paths().Root, inst.Dir())), "teams"))
}

// New makes the board of a new team, and the worktree of its branch.
func New(ctx context.Context, inst *conversation.Instance, goal string, now time.Time) (*team.Board, team.State,
	error,
) {
	repo, err := repository(inst)
	if err != nil {
		return nil, team.State{}, err
	}
	id := session.NewID()
	s := team.State{
		ID: now.UTC().Format("20060102-150405") + "-" + id[len(id)-4:], Goal: goal, Dir: inst.Dir(),
		Created: now,
	}
	main := repo.Root
	if repo.Worktree {
		main = filepath.Dir(repo.CommonDir)
	}
	w, err := git.New(inst.Runner()).AddWorktree(ctx, repo, filepath.Join(main+".worktrees", "team-"+s.ID), "team-"+s.ID)
	if err != nil {
		return nil, s, err
	}
	if s.Worktree, err = filepath.EvalSymlinks(w.Path); err != nil {
		return nil, s, err
	}
	s.Branch = w.Branch
	board, err := Boards(inst).New(s)
	return board, s, err
}

func repository(inst *conversation.Instance) (git.Repo, error) {
	repo, ok := git.Find(inst.Dir())
	if !ok || repo.Head == "" {
		return repo, ErrNoRepository
	}
	return repo, nil
}

// Runner makes the runner of a team, and has the agents of the session work in it.
func Runner(inst *conversation.Instance, s *conversation.Session, board *team.Board, o Options) (
	*team.Runner, error,
) {
	repo, err := repository(inst)
	if err != nil {
		return nil, err
	}
	for _, d := range team.Declarations() {
		if inst.Tools().Traits(d.Name).Known {
			continue // of an earlier team
		}
		if err := inst.Tools().Add(d); err != nil {
			return nil, err
		}
	}
	state, err := board.Change(func(on *team.State) error {
		if !o.Joins {
			on.Session = s.ID()
		}
		on.Command = cmp.Or(o.Check, on.Command, inst.Extensions().Eval().Command)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r := &team.Runner{
		Board: board, Repo: checkout{git.New(inst.Runner()), repo}, Agents: s.Env().Agents, Main: s.ID(),
		Check:   inst.Extensions().Eval(),
		Workers: o.Workers, Joins: o.Joins, Report: o.Report,
	}
	r.Check.Command = state.Command
	entry := func(t team.Task) hook.Task {
		out := hook.Task{Subject: t.Title, Description: t.Prompt, Team: state.ID}
		if t.ID > 0 {
			out.ID, out.Teammate = strconv.Itoa(t.ID), t.Worker()
		}
		return out
	}
	r.Created = func(ctx context.Context, t team.Task) error { return s.Hooks().TaskCreated(ctx, entry(t)) }
	r.Completed = func(ctx context.Context, t team.Task) error { return s.Hooks().TaskCompleted(ctx, entry(t)) }
	r.Idle = func(ctx context.Context, t team.Task) error { return s.Hooks().TeammateIdle(ctx, t.Worker(), state.ID) }
	s.SetTeam(r)
	return r, nil
}

// Limited ends a context with ErrTime when the time is up; 0: no limit.
func Limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, d, ErrTime)
}

// checkout is the repository of a team.
type checkout struct {
	*git.Git
	repo git.Repo
}

func (r checkout) at(path string) (git.Repo, error) {
	there, ok := git.Find(path)
	if !ok || there.Root != path {
		return there, fmt.Errorf("%s is no git worktree any more", path)
	}
	return there, nil
}

// Commit commits all changes of a worktree.
func (r checkout) Commit(ctx context.Context, path, message string) (int, error) {
	there, err := r.at(path)
	if err != nil {
		return 0, err
	}
	return r.Git.Commit(ctx, there, message)
}

// Merge merges a branch into a worktree's.
func (r checkout) Merge(ctx context.Context, path, branch, message string) ([]string, error) {
	there, err := r.at(path)
	if err != nil {
		return nil, err
	}
	return r.Git.Merge(ctx, there, branch, message)
}

// Remove removes a worktree and its branch.
func (r checkout) Remove(ctx context.Context, path, branch string) error {
	return r.RemoveWorktree(ctx, r.repo, path, branch)
}
