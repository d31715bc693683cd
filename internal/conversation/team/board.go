// Package team has several agents work on one goal: a coordinator splits it into tasks on a shared board, workers do
// one task each in worktrees of their own, and their work is merged in order.
//
// The words: the board is the list of tasks and messages of one team, on disk; a task is ready when all tasks that it
// depends on are done; a task is done when its work is merged into the team's branch.
//
// Promises: the board changes under a lock, whole or not at all, so several processes can work on it, and kill -9 of
// any of them loses nothing. Nothing is merged whose check failed. A conflict is reported to the coordinator and never
// resolved silently. The user's own branch does not change.
package team

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/regular"
)

// Status is the state of a task.
type Status string

// Statuses.
const (
	Pending  Status = "pending"
	Working  Status = "working"
	Done     Status = "done"     // merged, or it changed nothing
	Failed   Status = "failed"   // the agent or the check failed; the note says why
	Conflict Status = "conflict" // its work cannot be merged; the note names the files
	Canceled Status = "canceled"
)

// Task is one part of the goal.
type Task struct {
	ID       int      `json:"id"` // from 1
	Title    string   `json:"title"`
	Prompt   string   `json:"prompt"`
	After    []int    `json:"after,omitempty"` // the tasks that it depends on
	Status   Status   `json:"status"`
	Note     string   `json:"note,omitempty"`    // why it failed, or what the worker reports
	Session  string   `json:"session,omitempty"` // of the worker
	Main     string   `json:"main,omitempty"`    // the session that the worker's is below
	Owner    string   `json:"owner,omitempty"`   // the process that has it done
	Branch   string   `json:"branch,omitempty"`
	Worktree string   `json:"worktree,omitempty"`
	Left     []string `json:"left,omitempty"`  // worktrees of earlier workers, if they are there; nobody goes on in them
	Files    int      `json:"files,omitempty"` // changed
	CostUSD  float64  `json:"cost_usd,omitempty"`
	Steps    int      `json:"steps,omitempty"`
}

// Worker is the name of the agent that does the task.
func (t Task) Worker() string { return fmt.Sprintf("worker-%d", t.ID) }

// Message is a text from one agent of the team to another.
type Message struct {
	From string    `json:"from"` // "coordinator", "worker-N" or "user"
	To   string    `json:"to"`
	Text string    `json:"text"`
	Time time.Time `json:"time"`
	Read bool      `json:"read,omitempty"`
}

// moveTo gives the task another worktree. The one that it had is left.
func (t *Task) moveTo(path string) {
	if t.Worktree != "" && filepath.Base(t.Worktree) == filepath.Base(path) {
		return
	}
	if t.Worktree != "" {
		t.Left = append(t.Left, t.Worktree)
	}
	t.Worktree, t.Branch = path, ""
}

// State is all of a board.
type State struct {
	ID          string    `json:"id"`
	Goal        string    `json:"goal"`
	Dir         string    `json:"dir"`
	Session     string    `json:"session"`               // that all agents of the team are below
	Coordinator string    `json:"coordinator,omitempty"` // its session
	Main        string    `json:"main,omitempty"`        // the session that the coordinator's is below
	Branch      string    `json:"branch"`                // that work is merged into
	Worktree    string    `json:"worktree"`              // of that branch
	Command     string    `json:"check_command,omitempty"`
	Created     time.Time `json:"created"`
	Tasks       []Task    `json:"tasks"`
	Messages    []Message `json:"messages,omitempty"`
	Summary     string    `json:"summary,omitempty"` // the coordinator's last words
	Over        bool      `json:"over,omitempty"`
	CostUSD     float64   `json:"cost_usd"`
}

// Task finds a task.
func (s *State) Task(id int) (*Task, error) {
	if i := slices.IndexFunc(s.Tasks, func(t Task) bool { return t.ID == id }); i >= 0 {
		return &s.Tasks[i], nil
	}
	return nil, fmt.Errorf("there is no task %d; TaskList lists them", id)
}

// Ready lists the pending tasks whose dependencies are done.
func (s *State) Ready() (out []Task) {
	for _, t := range s.Tasks {
		blocked := slices.ContainsFunc(t.After, func(id int) bool {
			other, err := s.Task(id)
			return err == nil && other.Status != Done
		})
		if t.Status == Pending && !blocked {
			out = append(out, t)
		}
	}
	return out
}

// Working reports whether a worker is at work, in any process.
func (s *State) Working() bool {
	return slices.ContainsFunc(s.Tasks, func(t Task) bool { return t.Status == Working })
}

// Board is the board of one team on disk. It is safe for several goroutines and processes.
type Board struct{ path string }

// Boards is the folder with the boards of a project.
type Boards string

// New writes a new board.
func (b Boards) New(s State) (*Board, error) {
	if err := os.MkdirAll(string(b), 0o700); err != nil {
		return nil, err
	}
	board := &Board{filepath.Join(string(b), s.ID+".json")}
	return board, board.write(s)
}

// List lists the boards, newest first.
func (b Boards) List() ([]State, error) {
	paths, err := filepath.Glob(filepath.Join(string(b), "*.json"))
	if err != nil {
		return nil, err
	}
	var out []State
	for _, path := range paths {
		s, err := (&Board{path}).State()
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y State) int { return cmp.Or(y.Created.Compare(x.Created), strings.Compare(y.ID, x.ID)) })
	return out, nil
}

// Find finds a board by the beginning of its id; "" is the newest.
func (b Boards) Find(id string) (*Board, State, error) {
	all, err := b.List()
	if err != nil {
		return nil, State{}, err
	}
	for _, s := range all {
		if strings.HasPrefix(s.ID, id) {
			return &Board{filepath.Join(string(b), s.ID+".json")}, s, nil
		}
	}
	if id == "" {
		return nil, State{}, errors.New(`there is no team in this project; lathe team "..." starts one`)
	}
	return nil, State{}, fmt.Errorf("there is no team %q in this project; lathe team list shows them", id)
}

// State reads the board.
func (b *Board) State() (s State, err error) {
	text, err := regular.ReadFile(b.path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("the board %s cannot be read: %w", b.path, err)
	}
	return s, nil
}

// longestChange is how long a change of another process may take: an instant as a rule, and for good if it was stopped.
const longestChange = 10 * time.Second

// Change changes the board under its lock. An error of change leaves it as it was.
func (b *Board) Change(change func(*State) error) (s State, err error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), longestChange,
		fmt.Errorf("another lathe has held it for %s; end it, and try again", longestChange))
	defer cancel()
	unlock, err := b.wait(ctx, ".lock")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if s, err = b.State(); err != nil {
		return s, err
	}
	if err := change(&s); err != nil {
		return s, err
	}
	return s, b.write(s)
}

func (b *Board) write(s State) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(b.path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), b.path)
	}
	if err != nil {
		if left := os.Remove(f.Name()); left != nil && !errors.Is(left, fs.ErrNotExist) {
			err = errors.Join(err, left)
		}
	}
	return err
}

// mostTasks is the limit on the tasks of a team.
const mostTasks = 50

// Create adds a task. Tasks can depend on earlier ones only, so there is no circle.
func (b *Board) Create(t Task) (Task, error) {
	_, err := b.Change(func(s *State) error {
		if len(s.Tasks) >= mostTasks {
			return fmt.Errorf("a team has at most %d tasks", mostTasks)
		}
		for _, id := range t.After {
			if _, err := s.Task(id); err != nil {
				return err
			}
		}
		t.ID, t.Status = len(s.Tasks)+1, Pending
		s.Tasks = append(s.Tasks, t)
		return nil
	})
	return t, err
}

// Update changes one task.
func (b *Board) Update(id int, change func(*Task) error) (State, error) {
	return b.Change(func(s *State) error {
		t, err := s.Task(id)
		if err != nil {
			return err
		}
		return change(t)
	})
}

// Send keeps a message.
func (b *Board) Send(m Message) error {
	_, err := b.Change(func(s *State) error { s.Messages = append(s.Messages, m); return nil })
	return err
}

// Take returns the messages to an agent that it has not read, and marks them as read.
func (b *Board) Take(to string) (out []Message, err error) {
	s, err := b.State()
	if err != nil || !slices.ContainsFunc(s.Messages, func(m Message) bool { return m.To == to && !m.Read }) {
		return nil, err
	}
	_, err = b.Change(func(s *State) error {
		for i, m := range s.Messages {
			if m.To == to && !m.Read {
				s.Messages[i].Read = true
				out = append(out, m)
			}
		}
		return nil
	})
	return out, err
}
