package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/eval"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/subagent"
	"github.com/lathe-dev/lathe/internal/worktree"
)

// Repository is the project's git repository.
type Repository interface {
	// Commit commits all changes of a worktree and returns how many files there were.
	Commit(ctx context.Context, worktree, message string) (files int, err error)
	// Merge merges a branch into a worktree's. The files of a conflict are returned, and the merge is taken back.
	Merge(ctx context.Context, worktree, branch, message string) (conflicts []string, err error)
	// Remove removes a worktree and its branch.
	Remove(ctx context.Context, worktree, branch string) error
}

// Runner runs a team.
type Runner struct {
	Board   *Board
	Repo    Repository
	Agents  *subagent.Agents
	Check   eval.Settings // runs in a worker's worktree before its work is merged
	Workers int           // most at once
	Report  func(event.Body, State)

	mu sync.Mutex // held while the team's branch changes
}

// Bounds of a team's work.
const (
	mostRounds     = 10 // of the coordinator
	DefaultWorkers = 3
)

// Run works on the board until all tasks are done, the coordinator has no more to do, or ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	s, err := r.recover()
	if err != nil {
		return err
	}
	prompt := "The goal: " + s.Goal
	if s.Coordinator != "" {
		prompt += "\n\nlathe was ended while the team worked, and goes on. The board:\n" + s.list()
	}
	for range mostRounds {
		before := len(s.Ready())
		if before == 0 || s.Coordinator == "" {
			if s, err = r.coordinate(ctx, prompt); err != nil {
				return err
			}
		}
		if len(s.Ready()) == 0 {
			_, err := r.Board.Change(func(s *State) error { s.Over = true; return nil })
			return errors.Join(err, r.unfinished())
		}
		if s, err = r.work(ctx); err != nil {
			return err
		}
		prompt = "The workers have ended. The board:\n" + s.list() + "\nThe work of done tasks is merged. " +
			"Have a failed task or one with a conflict done again with TaskUpdate (status pending; it begins with the merged work, so its prompt should say what to keep), or make other tasks. " +
			"If nothing is left to do, answer with a summary for the user."
	}
	return fmt.Errorf("the coordinator made tasks %d times; go on with: lathe team resume", mostRounds)
}

// unfinished names the tasks that are not done.
func (r *Runner) unfinished() error {
	s, err := r.Board.State()
	if err != nil {
		return err
	}
	var left []string
	for _, t := range s.Tasks {
		if t.Status != Done && t.Status != Canceled {
			left = append(left, fmt.Sprintf("%d (%s: %s)", t.ID, t.Status, t.Note))
		}
	}
	if len(left) > 0 {
		return errors.New("tasks are not done: " + strings.Join(left, ", "))
	}
	return nil
}

// recover makes tasks that were at work when lathe ended pending again; their workers go on with their context.
func (r *Runner) recover() (State, error) {
	return r.Board.Change(func(s *State) error {
		for i := range s.Tasks {
			if s.Tasks[i].Status == Working {
				s.Tasks[i].Status = Pending
			}
		}
		s.Over = false
		return nil
	})
}

// coordinate has the coordinator think about the board.
func (r *Runner) coordinate(ctx context.Context, prompt string) (State, error) {
	s, err := r.Board.State()
	if err != nil {
		return s, err
	}
	prompt += r.mail(Coordinator)
	req := subagent.Request{Call: callPrefix + Coordinator, Title: "Coordinate", Prompt: prompt, As: coordinatorKind(), Resume: s.Coordinator}
	if s.Coordinator == "" {
		req.ID = r.Agents.NewID()
		if s, err = r.Board.Change(func(s *State) error { s.Coordinator = req.ID; return nil }); err != nil {
			return s, err
		}
	}
	cost := 0.0
	req.Then = func(_ context.Context, _ subagent.Outcome, c subagent.Conversation, _ *worktree.Tree) {
		_, cost = c.Used()
	}
	out, err := r.Agents.Run(ctx, req)
	if err == nil && out.Problem != "" {
		err = errors.New("the coordinator stopped: " + out.Problem)
	}
	s, failed := r.Board.Change(func(s *State) error {
		s.Summary, s.CostUSD = out.Answer, s.CostUSD+cost
		if out.ID == "" { // it was not started: perhaps lathe was ended before its session was on disk
			s.Coordinator = ""
		}
		return nil
	})
	return s, errors.Join(err, failed, ctx.Err())
}

// work has workers do the tasks that are ready, and those that become ready, until none is.
func (r *Runner) work(ctx context.Context) (State, error) {
	ended := make(chan error)
	running := 0
	var errs []error
	for {
		s, err := r.Board.State()
		if err != nil {
			errs = append(errs, err)
		}
		for _, t := range s.Ready() {
			if running >= cmp.Or(r.Workers, DefaultWorkers) || len(errs) > 0 || ctx.Err() != nil {
				break
			}
			if err := r.claim(&t); err != nil {
				errs = append(errs, err)
				break
			}
			running++
			go func() { ended <- r.do(ctx, t) }()
		}
		if running == 0 {
			return s, errors.Join(append(errs, ctx.Err(), r.tidy(ctx))...)
		}
		if err := <-ended; err != nil {
			errs = append(errs, err)
		}
		running--
	}
}

// claim takes a task for a worker, whose session is on the board before it begins.
func (r *Runner) claim(t *Task) error {
	s, err := r.Board.Update(t.ID, func(on *Task) error {
		if on.Status != Pending {
			return fmt.Errorf("task %d is %s already", on.ID, on.Status)
		}
		on.Status, on.Note = Working, ""
		*t = *on
		return nil
	})
	if err == nil {
		r.report(event.Notice{Level: "info", Text: fmt.Sprintf("%s begins: %s", t.Worker(), t.Title)}, s)
	}
	return err
}

// do has a worker do a task and merges its work. The error is one of the board; how the task went is on it.
func (r *Runner) do(ctx context.Context, t Task) error {
	s, err := r.Board.State()
	if err != nil {
		return err
	}
	req := subagent.Request{
		Call: callPrefix + t.Worker(), Title: t.Title, As: workerKind(), Base: s.Branch, Resume: t.Session,
		Prompt: fmt.Sprintf("You are %s of a team. The team's goal: %s\n\nYour task: %s\n%s", t.Worker(), s.Goal, t.Title, t.Prompt) + r.mail(t.Worker()),
	}
	if t.Session != "" {
		req.Prompt = "You were interrupted, or your work could not be merged. Look at the state of your worktree and go on.\n\n" + req.Prompt
	} else {
		req.ID = r.Agents.NewID()
	}
	status, note, lost := Failed, "", false
	if _, err := r.Board.Update(t.ID, func(on *Task) error { on.Session = cmp.Or(t.Session, req.ID); return nil }); err != nil {
		return err
	}
	req.Then = func(ctx context.Context, out subagent.Outcome, c subagent.Conversation, tree *worktree.Tree) {
		t.Steps, t.CostUSD = c.Used()
		if tree != nil {
			t.Worktree, t.Branch = tree.Path, tree.Branch()
		}
		if tree != nil && out.Problem == "" {
			status, note, t.Files = r.deliver(ctx, s, t, c)
		}
	}
	out, err := r.Agents.Run(ctx, req)
	switch {
	case ctx.Err() != nil:
		return nil // it is at work on the board still, and goes on later
	case err != nil: // it was not started: perhaps lathe was ended before its session was on disk
		note, lost = err.Error(), true
	case out.Problem != "":
		status, note = Failed, out.Problem
	case status == Done:
		note = cmp.Or(note, firstLine(out.Answer))
	}
	s, err = r.Board.Update(t.ID, func(on *Task) error {
		on.Status, on.Note, on.Files, on.Worktree, on.Branch = status, note, t.Files, t.Worktree, t.Branch
		on.Steps, on.CostUSD = on.Steps+t.Steps, on.CostUSD+t.CostUSD
		if lost || status == Conflict || status == Done { // its next worker begins with the merged work
			on.Session = ""
		}
		return nil
	})
	r.report(event.Notice{Level: "info", Text: fmt.Sprintf("%s: %s %s", t.Worker(), status, note)}, s)
	return err
}

// deliver commits, checks and merges the work of a task.
func (r *Runner) deliver(ctx context.Context, s State, t Task, c subagent.Conversation) (status Status, note string, files int) {
	check := eval.RunCheck(ctx, r.Check, callPrefix+"check-"+t.Worker(), c.Invoke)
	if check != nil && check.Failed {
		return Failed, "the check failed: " + check.Output, 0
	}
	if check != nil && check.NotRun != "" {
		return Failed, "the check did not run: " + check.NotRun, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	files, err := r.Repo.Commit(ctx, t.Worktree, t.Title)
	if err != nil {
		return Failed, err.Error(), files
	}
	conflicts, err := r.Repo.Merge(ctx, s.Worktree, t.Branch, fmt.Sprintf("Merge task %d: %s", t.ID, t.Title))
	switch {
	case len(conflicts) > 0:
		return Conflict, "its work conflicts with merged work in " + strings.Join(conflicts, ", ") + "; it is on the branch " + t.Branch, files
	case err != nil:
		return Failed, err.Error(), files
	}
	return Done, "", files
}

// tidy removes the worktrees whose work is merged. No worker is at work: one that starts a command in the sandbox meanwhile would miss a folder of
// the repository.
func (r *Runner) tidy(ctx context.Context) error {
	s, err := r.Board.State()
	if err != nil || ctx.Err() != nil {
		return err
	}
	for _, t := range s.Tasks {
		if t.Status != Done || t.Worktree == "" {
			continue
		}
		if err := r.Repo.Remove(ctx, t.Worktree, t.Branch); err != nil {
			return err
		}
		if _, err := r.Board.Update(t.ID, func(on *Task) error { on.Worktree, on.Branch = "", ""; return nil }); err != nil {
			return err
		}
	}
	return nil
}

// mail is the messages that an agent has not read, for its prompt.
func (r *Runner) mail(to string) string {
	list, err := r.Board.Take(to)
	if err != nil || len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nMessages:\n")
	for _, m := range list {
		fmt.Fprintf(&b, "From %s: %s\n", m.From, m.Text)
	}
	return b.String()
}

// Mail is the messages that the agent with a chain has not read, for its next step; "" if there are none.
func (r *Runner) Mail(owner string) string {
	if name := nameOf(owner); name != "" {
		return strings.TrimSpace(r.mail(name))
	}
	return ""
}

func (r *Runner) report(b event.Body, s ...State) {
	if r.Report == nil {
		return
	}
	if len(s) == 0 {
		s = []State{{}}
	}
	r.Report(b, s[0])
}

func coordinatorKind() *subagent.Kind {
	return &subagent.Kind{
		Name: Coordinator, ReadOnly: true, Tools: []string{"Read", "Glob", "Grep", "TaskCreate", "TaskUpdate", "TaskList", "SendMessage"},
		Prompt: "You coordinate a team of coding agents. You change no files: you read the project, split the goal into tasks with TaskCreate, and end your turn; then workers do them side by side, each in a git worktree of its own, and their work is merged in order. " +
			"Make few tasks, each with a prompt that stands alone, and let tasks that touch the same files come after one another. " +
			"When workers have ended you get the board again: have failed work and conflicts done again, or answer with a summary for the user when the goal is reached.",
	}
}

func workerKind() *subagent.Kind {
	return &subagent.Kind{
		Name: "worker", Isolated: true, Extends: true,
		Prompt: "You are a worker of a team, in a git worktree of your own. Do your task and nothing beside it; do not commit. Your last message is a short report. Ask the coordinator or other workers with SendMessage only if you cannot decide.",
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
