package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
)

// Team is the team of agents that works beside the conversation.
type Team interface {
	// Begin starts a team for a goal or, without one, goes on with the team of an id; "" is the newest.
	Begin(ctx context.Context, goal, id string, l TeamLimits) error
	Stop() error             // ends the work; it can go on later
	Now() (TeamState, error) // the team that works, or the newest
	End(worker string) error // ends a worker, or cancels its task
	Tell(ctx context.Context, worker, text string) error
}

// TeamLimits are the limits of a team; zero fields have none, or the default.
type TeamLimits struct {
	Workers int
	Time    time.Duration
	Check   string // the check command
}

// TeamState is a team at one moment.
type TeamState struct {
	ID, Goal, Branch string
	Works, Over      bool
	Summary          string
	Rows             []TeamRow
}

// TeamRow is the coordinator or a worker.
type TeamRow struct {
	Name   string // "coordinator", "worker-1"
	Title  string
	State  string // in words, with steps and cost
	Works  bool
	Detail string // its last calls, its report or its problem
}

func teamCommand() Command {
	return Command{
		Name: "team", Group: groupLathe, Args: "[goal | resume [id] | stop | tell worker message | end worker]",
		Help: "Have a coordinator and workers reach a goal beside the conversation",
		Doc: "Without arguments: a row for the coordinator and for each worker, with its state; Ctrl+D ends one, Ctrl+T " +
			"sends it a message. `--workers N`, `--time 30m` and `--check COMMAND` (in quotes) before the goal set limits " +
			"and the check. The questions of workers appear here. docs/teams.md has more.",
		Complete: func(_ context.Context, _ Host, typed string) []event.Candidate {
			return choices(typed, words("resume", "stop"))
		},
		Run: runTeam,
	}
}

func runTeam(ctx context.Context, h Host, args string) (event.Output, error) {
	t := h.Workspace().Team()
	verb, rest := cutWord(args)
	switch verb {
	case "":
		s, err := t.Now()
		if err != nil {
			return event.Output{}, err
		}
		return event.Output{Pick: teamPick(s)}, nil
	case "stop":
		if err := t.Stop(); err != nil {
			return event.Output{}, err
		}
		return text("The team stops. `/team resume` goes on with it."), nil
	case "resume":
		if err := t.Begin(ctx, "", rest, TeamLimits{}); err != nil {
			return event.Output{}, err
		}
		return text("The team goes on. `/team` shows it."), nil
	case "end":
		if err := t.End(rest); err != nil {
			return event.Output{}, err
		}
		return text("%s is ended.", code(rest)), nil
	case "tell":
		worker, message := cutWord(rest)
		if message == "" {
			return event.Output{Insert: "/team tell " + worker + " "}, nil
		}
		if err := t.Tell(ctx, worker, message); err != nil {
			return event.Output{}, err
		}
		return text("%s gets the message at its next step.", code(worker)), nil
	}
	if s, err := t.Now(); err == nil && rest == "" {
		for _, r := range s.Rows {
			if r.Name == verb {
				return event.Output{Text: fmt.Sprintf("%s: %s, %s.\n\n%s", r.Name, code(r.Title), r.State, fenced("", r.Detail))},
					nil
			}
		}
	}
	l, goal, err := teamLimits(args)
	if err != nil {
		return event.Output{}, err
	}
	if goal == "" {
		return event.Output{}, errors.New("give the goal: /team GOAL")
	}
	if err := t.Begin(ctx, goal, "", l); err != nil {
		return event.Output{}, err
	}
	return text("The team begins. `/team` shows it, and its end is announced here."), nil
}

// teamLimits reads the options before the goal.
func teamLimits(args string) (l TeamLimits, goal string, err error) {
	for {
		name, rest := cutWord(args)
		if !strings.HasPrefix(name, "--") {
			return l, args, nil
		}
		value, after := cutWord(rest)
		if q := strings.TrimLeft(rest, " "); q != "" && (q[0] == '"' || q[0] == '\'') {
			end := strings.IndexByte(q[1:], q[0])
			if end < 0 {
				return l, "", fmt.Errorf("%s: the quote is not closed", name)
			}
			value, after = q[1:1+end], strings.TrimSpace(q[end+2:])
		}
		switch name {
		case "--workers":
			l.Workers, err = strconv.Atoi(value)
			if err != nil || l.Workers < 1 {
				return l, "", fmt.Errorf("--workers: %q is no number of workers", value)
			}
		case "--time":
			l.Time, err = time.ParseDuration(value)
			if err != nil || l.Time <= 0 {
				return l, "", fmt.Errorf("--time: %q is no duration, such as 30m", value)
			}
		case "--check":
			l.Check = value
		default:
			return l, "", fmt.Errorf("there is no option %s; there are --workers, --time and --check", name)
		}
		args = after
	}
}

func teamPick(s TeamState) *event.Pick {
	state := "stopped"
	switch {
	case s.Works:
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
	for _, r := range s.Rows {
		p.Items = append(p.Items, event.PickItem{
			ID: r.Name, Label: r.Name + "  " + short(r.Title, 60), Detail: r.State,
			Current: r.Works, Preview: fenced("", r.Title+"\n"+r.Detail),
		})
	}
	return p
}
