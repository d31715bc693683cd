package team

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
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/worktree"
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

// Runner works on the board of a team, as one of several processes that may do so.
type Runner struct {
	Board   *Board
	Repo    Repository
	Agents  *subagent.Agents
	Main    string        // the session that all agents of this process are below
	Check   eval.Settings // runs in a worker's worktree before its work is merged
	Workers int           // most at once in this process
	Joins   bool          // it ends when the team is over; else it goes on with a team that was
	Report  func(News)    // from any goroutine; nil: nobody listens

	// Created and Completed may refuse a new task, and that a task counts as done; Idle the end of a worker, whose next
	// prompt is the error. Nil refuses nothing.
	Created, Completed, Idle func(context.Context, Task) error

	owner  string     // of this process's tasks
	worked bool       // workers of this process have ended
	mu     sync.Mutex // held while the team's branch changes
}

// News is one thing that happened in a team.
type News struct {
	Kind    string   `json:"kind"` // "task_begins", "task_ends", "message" or "coordinator"
	Task    *Task    `json:"task,omitempty"`
	Message *Message `json:"message,omitempty"`
	Text    string   `json:"text"` // for people
}

// Bounds of a team's work.
const (
	mostRounds     = 10 // of the coordinator
	DefaultWorkers = 3
)

// Run works on the board until all tasks are done, the coordinator has no more to do, or ctx ends. One process at a
// time coordinates, and another one takes over when that ends.
func (r *Runner) Run(ctx context.Context) (err error) {
	r.owner = r.Agents.NewID()
	release, err := r.Board.own(r.owner)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.letGo(), release()) }()
	if !r.Joins {
		if _, err := r.Board.Change(func(s *State) error { s.Over = false; return nil }); err != nil {
			return err
		}
	}
	for rounds := 0; ; {
		s, err := r.recover()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case s.Over:
			return r.unfinished()
		case s.Coordinator != "" && len(s.Ready()) > 0:
			err = r.work(ctx)
		case s.Working(): // in another process
			sleep(ctx)
		case rounds == mostRounds:
			return fmt.Errorf("the coordinator made tasks %d times; go on with: lathe team resume", mostRounds)
		default:
			var mine bool
			if mine, err = r.round(ctx); mine {
				rounds++
			}
		}
		if err != nil {
			return err
		}
	}
}

// letGo makes the tasks that are at work in this process pending: their workers go on later, with their context.
func (r *Runner) letGo() error {
	_, err := r.Board.Change(func(s *State) error {
		for i, t := range s.Tasks {
			if t.Status == Working && t.Owner == r.owner {
				s.Tasks[i].Status = Pending
			}
		}
		return nil
	})
	return err
}

func sleep(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(pollBoard):
	}
}

// round has the coordinator think, unless it does so in another process already. A coordinator that leaves nothing to
// do ends the team.
func (r *Runner) round(ctx context.Context) (mine bool, err error) {
	release, mine, err := r.Board.try(coordinatorLock)
	if err != nil {
		return false, fmt.Errorf("the board cannot be locked: %w", err)
	}
	if !mine {
		sleep(ctx)
		return false, nil
	}
	defer func() { err = errors.Join(err, release()) }()
	s, err := r.Board.State()
	if err != nil || s.Over || s.Working() || s.Coordinator != "" && len(s.Ready()) > 0 { // it changed meanwhile
		return true, err
	}
	if s, err = r.coordinate(ctx, r.ask(s)); err != nil || len(s.Ready()) > 0 {
		return true, err
	}
	_, err = r.Board.Change(func(s *State) error { s.Over = len(s.Ready()) == 0 && !s.Working(); return nil })
	return true, err
}

// ask is the coordinator's prompt for the state of the board.
func (r *Runner) ask(s State) string {
	goal := "The goal: " + s.Goal
	switch {
	case len(s.Tasks) == 0 && s.Coordinator == "":
		return goal
	case s.Main != r.Main || !r.worked:
		return goal + "\n\nlathe was ended while the team worked, and goes on. The board:\n" + s.list()
	}
	return "The workers have ended. The board:\n" + s.list() + "\nThe work of done tasks is merged. " +
		"Have a failed task or one with a conflict done again with TaskUpdate (status pending; it begins with the merged " +
		"work, so its prompt should say what to keep), or make other tasks. " +
		"If nothing is left to do, answer with a summary for the user."
}

// unfinished names the tasks that are not done. A team without any has not begun.
func (r *Runner) unfinished() error {
	s, err := r.Board.State()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(s.Tasks, func(t Task) bool { return t.Status != Canceled }) {
		return errors.New("the work has not begun: the coordinator has made no task. It says: " +
			cmp.Or(firstLine(s.Summary), "nothing"))
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

// recover makes the tasks of processes that have ended pending again.
func (r *Runner) recover() (State, error) {
	s, err := r.Board.State()
	lost := func(t Task) bool { return t.Status == Working && t.Owner != r.owner && !r.Board.alive(t.Owner) }
	if err != nil || !slices.ContainsFunc(s.Tasks, lost) {
		return s, err
	}
	return r.Board.Change(func(s *State) error {
		for i := range s.Tasks {
			if lost(s.Tasks[i]) {
				s.Tasks[i].Status = Pending
			}
		}
		return nil
	})
}

// coordinate has the coordinator think about the board.
func (r *Runner) coordinate(ctx context.Context, prompt string) (State, error) {
	s, err := r.Board.State()
	if err != nil {
		return s, err
	}
	if s.Main != r.Main { // its conversation is another process's
		s.Coordinator = ""
	}
	r.report(News{Kind: Coordinator, Text: "the coordinator thinks"})
	prompt += r.mail(Coordinator)
	req := subagent.Request{
		Held: true, Call: callPrefix + Coordinator, Title: "Coordinate", Prompt: prompt,
		As: coordinatorKind(), Resume: s.Coordinator,
	}
	if s.Coordinator == "" {
		req.ID = r.Agents.NewID()
		if s, err = r.Board.Change(func(s *State) error { s.Coordinator, s.Main = req.ID, r.Main; return nil }); err != nil {
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
func (r *Runner) work(ctx context.Context) error {
	ended := make(chan error)
	running := 0
	var errs []error
	for {
		s, err := r.recover()
		if err != nil {
			errs = append(errs, err)
		}
		for _, t := range s.Ready() {
			if running >= cmp.Or(r.Workers, DefaultWorkers) || len(errs) > 0 || ctx.Err() != nil {
				break
			}
			mine, err := r.claim(&t)
			if err != nil {
				errs = append(errs, err)
				break
			}
			if mine {
				running++
				go func() { ended <- r.do(ctx, t) }()
			}
		}
		if running == 0 {
			return errors.Join(append(errs, r.tidy(ctx))...)
		}
		select {
		case err := <-ended:
			if err != nil {
				errs = append(errs, err)
			}
			running--
			r.worked = true
		case <-time.After(pollBoard): // another process may have made a task ready
		}
	}
}

// claim takes a task for a worker, whose session is on the board before it begins. It is not mine when another process
// was faster.
func (r *Runner) claim(t *Task) (mine bool, err error) {
	_, err = r.Board.Update(t.ID, func(on *Task) error {
		if mine = on.Status == Pending; !mine {
			return nil
		}
		on.Status, on.Note, on.Owner = Working, "", r.owner
		if on.Main != r.Main { // the conversation of its worker is another process's
			on.moveTo("") // which may appear yet: git can outlive a process that was killed
			on.Session, on.Main = "", r.Main
		}
		*t = *on
		return nil
	})
	if err == nil && mine {
		r.report(News{Kind: "task_begins", Task: t, Text: fmt.Sprintf("%s begins: %s", t.Worker(), t.Title)})
	}
	return mine, err
}

// do has a worker do a task and merges its work. The error is one of the board; how the task went is on it.
func (r *Runner) do(ctx context.Context, t Task) error {
	s, err := r.Board.State()
	if err != nil {
		return err
	}
	req := subagent.Request{
		Held: true, Call: callPrefix + t.Worker(), Title: t.Title, As: workerKind(), Base: s.Branch, Git: true,
		Resume: t.Session,
		Prompt: fmt.Sprintf("You are %s of a team. The team's goal: %s\n\nYour task: %s\n%s", t.Worker(), s.Goal, t.Title,
			t.Prompt) + r.mail(t.Worker()),
	}
	if t.Session != "" {
		req.Prompt = "You were interrupted, or your work could not be merged. Look at the state of your worktree and go " +
			"on.\n\n" + req.Prompt
	} else {
		req.ID = r.Agents.NewID()
	}
	status, note, lost := Failed, "", false
	// before it begins, so that also a worker that is killed is named with its worktree
	_, err = r.Board.Update(t.ID, func(on *Task) error {
		on.Session = cmp.Or(t.Session, req.ID)
		on.moveTo(worktree.Path(r.Agents.Dir, on.Session))
		t.Worktree, t.Branch = on.Worktree, on.Branch
		return nil
	})
	if err != nil {
		return err
	}
	req.Then = func(ctx context.Context, out subagent.Outcome, c subagent.Conversation, tree *worktree.Tree) {
		if tree != nil {
			t.Worktree, t.Branch = tree.Path, tree.Branch()
		}
		if tree != nil && out.Problem == "" {
			if err := r.continued(ctx, t, c); err != nil {
				note = err.Error()
			} else {
				status, note, t.Files = r.deliver(ctx, s, t, c)
			}
		}
		t.Steps, t.CostUSD = c.Used()
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
	if on, failed := s.Task(t.ID); failed == nil {
		r.report(News{Kind: "task_ends", Task: on, Text: fmt.Sprintf("%s: %s %s", t.Worker(), status, note)})
	}
	return err
}

// mostIdle is how many times in a row hooks of TeammateIdle send a worker back to work.
const mostIdle = 8

// continued has a worker go on as long as the hooks of TeammateIdle refuse its end.
func (r *Runner) continued(ctx context.Context, t Task, c subagent.Conversation) error {
	for range mostIdle {
		if r.Idle == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		why := r.Idle(ctx, t)
		if why == nil {
			return nil
		}
		end, err := c.Prompt(ctx, llm.Message{
			Role:  llm.User,
			Parts: []llm.Part{llm.Text{Text: why.Error(), Origin: llm.OriginHook}},
		})
		if p := subagent.Problem(end, err); p != "" {
			return errors.New(p)
		}
	}
	return nil
}

// deliver commits, checks and merges the work of a task.
func (r *Runner) deliver(ctx context.Context, s State, t Task, c subagent.Conversation) (status Status, note string,
	files int,
) {
	check := eval.RunCheck(ctx, r.Check, callPrefix+"check-"+t.Worker(), c.Invoke)
	if check != nil && check.Failed {
		return Failed, "the check failed: " + check.Output, 0
	}
	if check != nil && check.NotRun != "" {
		return Failed, "the check did not run: " + check.NotRun, 0
	}
	if r.Completed != nil {
		if err := r.Completed(ctx, t); err != nil {
			return Failed, err.Error(), 0
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	release, err := r.Board.wait(ctx, mergeLock)
	if err != nil {
		return Failed, err.Error(), 0
	}
	defer func() { _ = release() }() // the end of the process lets go of it too
	files, err = r.Repo.Commit(ctx, t.Worktree, t.Title)
	if err != nil {
		return Failed, err.Error(), files
	}
	conflicts, err := r.Repo.Merge(ctx, s.Worktree, t.Branch, fmt.Sprintf("Merge task %d: %s", t.ID, t.Title))
	switch {
	case len(conflicts) > 0:
		return Conflict, "its work conflicts with merged work in " + strings.Join(conflicts, ", ") +
			"; it is on the branch " + t.Branch, files
	case err != nil:
		return Failed, err.Error(), files
	}
	return Done, "", files
}

// tidy removes the worktrees whose work is merged. No worker is at work: one that starts a command in the sandbox
// meanwhile would miss a folder of the repository.
func (r *Runner) tidy(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	release, err := r.Board.wait(ctx, mergeLock)
	if err != nil {
		return err
	}
	defer func() { _ = release() }()
	s, err := r.Board.State()
	if err != nil || s.Working() {
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

func (r *Runner) report(n News) {
	if r.Report != nil {
		r.Report(n)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
