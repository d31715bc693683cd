package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/conversation/team"
	"github.com/lathe-dev/lathe/internal/conversation/team/start"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
	"github.com/lathe-dev/lathe/internal/ui/command"
)

// teamwork is the team that works beside the conversation in front.
type teamwork struct {
	mu    sync.Mutex
	seats map[*conversation.Session]*start.Seat
	board *team.Board // of the team that works or worked last; nil: none yet
	on    *conversation.Session
	stop  context.CancelCauseFunc // nil: none works
	done  chan struct{}           // closed when it has ended
}

var errTeamStopped = errors.New("the team was stopped")

// seat gives a session a seat, before anything runs in it.
func (t *teamwork) seat(s *conversation.Session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.seats == nil {
		t.seats = map[*conversation.Session]*start.Seat{}
	}
	if t.seats[s] == nil {
		t.seats[s] = &start.Seat{}
		t.seats[s].Take(s)
	}
}

// works reports whether a team works.
func (t *teamwork) works() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop != nil
}

// leave ends the work of the team in a session that is about to close, and waits for it. It can go on later.
func (t *teamwork) leave(s *conversation.Session) {
	t.mu.Lock()
	delete(t.seats, s)
	stop, done := t.stop, t.done
	here := t.on == s
	t.mu.Unlock()
	if stop != nil && here {
		stop(errTeamStopped)
		<-done
	}
}

// teams implements command.Team.
type teams struct{ c *Console }

func (w workspace) Team() command.Team { return teams(w) }

func (t teams) Begin(ctx context.Context, goal, id string, l command.TeamLimits) error {
	c := t.c
	if c.team.works() {
		return errors.New("a team works already; /team shows it, and /team stop ends its work")
	}
	board, _, err := t.open(ctx, goal, id)
	if err != nil {
		return err
	}
	s := c.session()
	c.team.mu.Lock()
	defer c.team.mu.Unlock()
	r, err := c.team.seats[s].Runner(c.inst, s, board, start.Options{
		Workers: l.Workers, Check: l.Check,
		Report: func(n team.News) {
			c.notice("info", "team: %s", n.Text)
			c.touch()
		},
	})
	if err != nil {
		return err
	}
	work, stop := context.WithCancelCause(c.ctx)
	done := make(chan struct{})
	c.team.board, c.team.on, c.team.stop, c.team.done = board, s, stop, done
	c.works.Go(func() {
		defer close(done)
		defer stop(nil)
		limited, end := start.Limited(work, l.Time)
		defer end()
		t.ended(r.Run(limited))
	})
	return nil
}

func (t teams) open(ctx context.Context, goal, id string) (*team.Board, team.State, error) {
	if goal == "" {
		return start.Boards(t.c.inst).Find(id)
	}
	return start.New(ctx, t.c.inst, goal, time.Now())
}

// ended announces the end of the team.
func (t teams) ended(err error) {
	t.c.team.mu.Lock()
	board := t.c.team.board
	t.c.team.stop = nil
	t.c.team.mu.Unlock()
	t.c.touch()
	s, failed := board.State()
	switch err = errors.Join(err, failed); {
	case err != nil:
		t.c.notice("warning", "the team has ended: %v; /team shows it, /team resume goes on", err)
	default:
		t.c.notice("info", "the team has reached its goal: %s\nThe work is on the branch %s: git merge %s takes it over.",
			s.Summary, s.Branch, s.Branch)
	}
}

func (t teams) Stop() error {
	t.c.team.mu.Lock()
	defer t.c.team.mu.Unlock()
	if t.c.team.stop == nil {
		return errors.New("no team works")
	}
	t.c.team.stop(errTeamStopped)
	return nil
}

// present is the team that works or, if none does, the newest; with the agents of its session.
func (t teams) present() (*team.Board, team.State, *subagent.Tasks, error) {
	t.c.team.mu.Lock()
	board, on := t.c.team.board, t.c.team.on
	t.c.team.mu.Unlock()
	if board == nil {
		b, s, err := start.Boards(t.c.inst).Find("")
		if err != nil {
			err = errors.New("there is no team yet; /team GOAL starts one")
		}
		return b, s, t.c.session().Env().Agents.Tasks, err
	}
	s, err := board.State()
	return board, s, on.Env().Agents.Tasks, err
}

func (t teams) Now() (command.TeamState, error) {
	_, s, tasks, err := t.present()
	if err != nil {
		return command.TeamState{}, err
	}
	out := command.TeamState{
		ID: s.ID, Goal: s.Goal, Branch: s.Branch, Over: s.Over, Works: t.c.team.works(),
		Summary: s.Summary,
	}
	row := func(name, title, session, state, detail string) {
		r := command.TeamRow{Name: name, Title: title, State: state, Detail: detail}
		if now, err := tasks.Get(session); err == nil && now.Working() {
			r.State, r.Works = now.String(), true
			r.Detail = strings.Join(tool.AgentCalls(tasks.Messages(now.ID), 20), "\n")
		}
		out.Rows = append(out.Rows, r)
	}
	row(team.Coordinator, s.Goal, s.Coordinator, "waits", s.Summary)
	for _, task := range s.Tasks {
		state := string(task.Status)
		if task.Steps > 0 {
			state += fmt.Sprintf(", %d steps, $%.4f", task.Steps, task.CostUSD)
		}
		row(task.Worker(), task.Title, task.Session, state, cmp.Or(task.Note, task.Prompt))
	}
	return out, nil
}

// worker finds the session of an agent of the team, and its task; 0 is the coordinator.
func worker(s team.State, name string) (id int, session string, err error) {
	if name == team.Coordinator {
		return 0, s.Coordinator, nil
	}
	for _, t := range s.Tasks {
		if t.Worker() == name {
			return t.ID, t.Session, nil
		}
	}
	return 0, "", fmt.Errorf("there is no agent %q in this team; /team lists them", name)
}

func (t teams) End(name string) error {
	board, s, tasks, err := t.present()
	if err != nil {
		return err
	}
	id, session, err := worker(s, name)
	if err != nil {
		return err
	}
	if now, err := tasks.Get(session); err == nil && now.Working() {
		_, err := tasks.Stop(t.c.ctx, session)
		return err
	}
	if id == 0 {
		return errors.New("the coordinator is not at work; /team stop ends the team")
	}
	_, err = board.Update(id, func(on *team.Task) error {
		if on.Status == team.Done || on.Status == team.Working {
			return fmt.Errorf("%s is %s", name, on.Status)
		}
		on.Status = team.Canceled
		return nil
	})
	return err
}

func (t teams) Tell(ctx context.Context, name, text string) error {
	board, s, tasks, err := t.present()
	if err != nil {
		return err
	}
	_, session, err := worker(s, name)
	if err != nil {
		return err
	}
	if err := tasks.Steer(ctx, session, llm.UserText(text)); err == nil {
		return nil
	}
	return board.Send(team.Message{From: "user", To: name, Text: text, Time: time.Now().Round(time.Second)})
}
