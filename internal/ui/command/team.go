package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/conversation/team"
	"github.com/lathe-dev/lathe/internal/conversation/team/start"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// teamRow is the coordinator or a worker.
type teamRow struct {
	name   string // "coordinator", "worker-1"
	title  string
	state  string // in words, with steps and cost
	works  bool
	detail string // its last calls, its report or its problem
}

func teamCommand() Command {
	return Command{
		Name: "team", Group: groupLathe, Args: "[goal | resume [id] | stop | tell worker message | end worker]",
		Help: "Have a coordinator and workers reach a goal beside the conversation",
		Doc: "Without arguments: a row for the coordinator and for each worker, with its state; Ctrl+D ends one, Ctrl+T " +
			"sends it a message. `--workers N`, `--time 30m` and `--check COMMAND` (in quotes) before the goal set limits " +
			"and the check. The questions of workers appear here. docs/teams.md has more.",
		Complete: oneOf("resume", "stop"),
		Run:      runTeam,
	}
}

func runTeam(ctx context.Context, h *Host, args string) (event.Output, error) {
	verb, rest := cutWord(args)
	switch verb {
	case "":
		s, rows, err := h.teamNow()
		if err != nil {
			return event.Output{}, err
		}
		return event.Output{Pick: h.teamPick(s, rows)}, nil
	case "stop":
		return done(h.stopTeam(), "The team stops. `/team resume` goes on with it.")
	case "resume":
		return done(h.beginTeam(ctx, "", rest, start.Options{}, 0), "The team goes on. `/team` shows it.")
	case "end":
		return done(h.endWorker(rest), "%s is ended.", code(rest))
	case "tell":
		worker, message := cutWord(rest)
		if message == "" {
			return event.Output{Insert: "/team tell " + worker + " "}, nil
		}
		return done(h.tellWorker(ctx, worker, message), "%s gets the message at its next step.", code(worker))
	}
	if _, rows, err := h.teamNow(); err == nil && rest == "" {
		for _, r := range rows {
			if r.name == verb {
				return text("%s: %s, %s.\n\n%s", r.name, code(r.title), r.state, fenced("", r.detail)), nil
			}
		}
	}
	o, limit, goal, err := teamLimits(args)
	if err != nil {
		return event.Output{}, err
	}
	if goal == "" {
		return event.Output{}, errors.New("give the goal: /team GOAL")
	}
	return done(h.beginTeam(ctx, goal, "", o, limit), "The team begins. `/team` shows it, and its end is announced here.")
}

// teamLimits reads the options before the goal.
func teamLimits(args string) (o start.Options, limit time.Duration, goal string, err error) {
	for {
		name, rest := cutWord(args)
		if !strings.HasPrefix(name, "--") {
			return o, limit, args, nil
		}
		value, after := cutWord(rest)
		if q := strings.TrimLeft(rest, " "); q != "" && (q[0] == '"' || q[0] == '\'') {
			end := strings.IndexByte(q[1:], q[0])
			if end < 0 {
				return o, 0, "", fmt.Errorf("%s: the quote is not closed", name)
			}
			value, after = q[1:1+end], strings.TrimSpace(q[end+2:])
		}
		switch name {
		case "--workers":
			o.Workers, err = strconv.Atoi(value)
			if err != nil || o.Workers < 1 {
				return o, 0, "", fmt.Errorf("--workers: %q is no number of workers", value)
			}
		case "--time":
			limit, err = time.ParseDuration(value)
			if err != nil || limit <= 0 {
				return o, 0, "", fmt.Errorf("--time: %q is no duration, such as 30m", value)
			}
		case "--check":
			o.Check = value
		default:
			return o, 0, "", fmt.Errorf("there is no option %s; there are --workers, --time and --check", name)
		}
		args = after
	}
}

func (h *Host) teamPick(s team.State, rows []teamRow) *event.Pick {
	state := "stopped"
	switch {
	case h.team.works():
		state = "works"
	case s.Over:
		state = "has ended"
	}
	p := &event.Pick{
		Title: fmt.Sprintf("Team (%s): %s", state, short(s.Goal, 60)), Command: "team", Empty: "No task yet.", Live: "team",
		Actions: []event.PickAction{
			{Key: "ctrl+d", Label: "end", Command: "team end", Refresh: "team"},
			{Key: "ctrl+t", Label: "message", Command: "team tell", Ask: "Message to the worker"},
		},
	}
	for _, r := range rows {
		p.Items = append(p.Items, event.PickItem{
			ID: r.name, Label: r.name + "  " + short(r.title, 60), Detail: r.state,
			Current: r.works, Preview: fenced("", r.title+"\n"+r.detail),
		})
	}
	return p
}

// teamwork is the team that works beside the conversation in front.
type teamwork struct {
	mu    sync.Mutex
	board *team.Board // of the team that works or worked last; nil: none yet
	on    *conversation.Session
	stop  context.CancelCauseFunc // nil: none works
	done  chan struct{}           // closed when it has ended
}

var errTeamStopped = errors.New("the team was stopped")

// works reports whether a team works.
func (t *teamwork) works() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stop != nil
}

// leave ends the work of the team in a session that is about to close, and waits for it. It can go on later.
func (t *teamwork) leave(s *conversation.Session) {
	t.mu.Lock()
	stop, done := t.stop, t.done
	here := t.on == s
	t.mu.Unlock()
	if stop != nil && here {
		stop(errTeamStopped)
		<-done
	}
}

func (h *Host) beginTeam(ctx context.Context, goal, id string, o start.Options, limit time.Duration) error {
	if h.team.works() {
		return errors.New("a team works already; /team shows it, and /team stop ends its work")
	}
	board, err := h.openTeam(ctx, goal, id)
	if err != nil {
		return err
	}
	o.Report = func(n team.News) {
		h.Notice("info", "team: %s", n.Text)
		h.Touch()
	}
	s := h.Session()
	h.team.mu.Lock()
	defer h.team.mu.Unlock()
	r, err := start.Runner(h.Instance, s, board, o)
	if err != nil {
		return err
	}
	work, stop := context.WithCancelCause(h.Context)
	done := make(chan struct{})
	h.team.board, h.team.on, h.team.stop, h.team.done = board, s, stop, done
	h.Go(func() {
		defer close(done)
		defer stop(nil)
		limited, end := start.Limited(work, limit)
		defer end()
		h.teamEnded(r.Run(limited))
	})
	return nil
}

func (h *Host) openTeam(ctx context.Context, goal, id string) (board *team.Board, err error) {
	if goal == "" {
		board, _, err = start.Boards(h.Instance).Find(id)
	} else {
		board, _, err = start.New(ctx, h.Instance, goal, time.Now())
	}
	return board, err
}

// teamEnded announces the end of the team.
func (h *Host) teamEnded(err error) {
	h.team.mu.Lock()
	board := h.team.board
	h.team.stop = nil
	h.team.mu.Unlock()
	h.Touch()
	s, failed := board.State()
	switch err = errors.Join(err, failed); {
	case err != nil:
		h.Notice("warning", "the team has ended: %v; /team shows it, /team resume goes on", err)
	default:
		h.Notice("info", "the team has reached its goal: %s\nThe work is on the branch %s: git merge %s takes it over.",
			s.Summary, s.Branch, s.Branch)
	}
}

func (h *Host) stopTeam() error {
	h.team.mu.Lock()
	defer h.team.mu.Unlock()
	if h.team.stop == nil {
		return errors.New("no team works")
	}
	h.team.stop(errTeamStopped)
	return nil
}

// presentTeam is the team that works or, if none does, the newest; with the agents of its session.
func (h *Host) presentTeam() (*team.Board, team.State, *subagent.Tasks, error) {
	h.team.mu.Lock()
	board, on := h.team.board, h.team.on
	h.team.mu.Unlock()
	if board == nil {
		b, s, err := start.Boards(h.Instance).Find("")
		if err != nil {
			err = errors.New("there is no team yet; /team GOAL starts one")
		}
		return b, s, h.Session().Env().Agents.Tasks, err
	}
	s, err := board.State()
	return board, s, on.Env().Agents.Tasks, err
}

// teamNow is the present team, with a row for each of its agents.
func (h *Host) teamNow() (s team.State, rows []teamRow, err error) {
	_, s, tasks, err := h.presentTeam()
	if err != nil {
		return s, nil, err
	}
	row := func(r teamRow, session string) {
		if now, err := tasks.Get(session); err == nil && now.Working() {
			r.state, r.works = now.String(), true
			r.detail = strings.Join(tool.AgentCalls(tasks.Messages(now.ID), 20), "\n")
		}
		rows = append(rows, r)
	}
	row(teamRow{name: team.Coordinator, title: s.Goal, state: "waits", detail: s.Summary}, s.Coordinator)
	for _, task := range s.Tasks {
		state := string(task.Status)
		if task.Steps > 0 {
			state += fmt.Sprintf(", %d steps, $%.4f", task.Steps, task.CostUSD)
		}
		row(teamRow{
			name: task.Worker(), title: task.Title, state: state, detail: cmp.Or(task.Note, task.Prompt),
		}, task.Session)
	}
	return s, rows, nil
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

func (h *Host) endWorker(name string) error {
	board, s, tasks, err := h.presentTeam()
	if err != nil {
		return err
	}
	id, session, err := worker(s, name)
	if err != nil {
		return err
	}
	if now, err := tasks.Get(session); err == nil && now.Working() {
		_, err := tasks.Stop(h.Context, session)
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

func (h *Host) tellWorker(ctx context.Context, name, text string) error {
	board, s, tasks, err := h.presentTeam()
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
