package tool

import (
	"context"
	_ "embed"
	"errors"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed setgoal.md
var setGoalDescription string

// SetGoalName is the tool that sets what the session works for.
const SetGoalName = "SetGoal"

type setGoalInput struct {
	Condition string `json:"condition,omitempty" jsonschema:"What must hold in the end"`
	Check     string `json:"check,omitempty" jsonschema:"A command that succeeds exactly then"`
	Clear     bool   `json:"clear,omitempty" jsonschema:"End the goal"`
}

var setGoalTool = call.Declaration{
	Name: SetGoalName, Input: schemaOf[setGoalInput](), Params: map[string]string{"condition": "goal", "check": "command"},
	Class: permission.ClassNeutral, Deferred: true, Accesses: call.Session(SetGoalName),
}

// Goal is what the session works for.
type Goal interface {
	Set(event.Goal) error
	State() (event.Goal, bool)
	Clear(reason string) (bool, error)
}

func newSetGoal(g Goal) agent.Tool {
	return newTool(setGoalTool, setGoalDescription, func(_ context.Context, _ llm.ToolCall, in setGoalInput) (
		*agent.Plan, error,
	) {
		switch {
		case g == nil:
			return nil, errors.New("an agent works for its task; only the main one has a goal")
		case !in.Clear && in.Condition == "" && in.Check == "":
			return nil, errors.New("say what must hold in the end (condition), or end the goal (clear)")
		}
		return &agent.Plan{
			Accesses: call.SessionOnly(SetGoalName), Title: "goal " + in.Condition,
			Run: func(context.Context) (*agent.Result, error) { return in.run(g) },
		}, nil
	})
}

func (in setGoalInput) run(g Goal) (*agent.Result, error) {
	if now, ok := g.State(); ok && now.State == event.GoalActive && !now.ByAgent {
		return nil, errors.New("the user set the goal, and only they change it: " + now.Condition)
	}
	if in.Clear {
		if was, err := g.Clear("the agent ended it"); err != nil || !was {
			return nil, errors.Join(err, errors.New("no goal is active"))
		}
		return told("goal", "The goal is cleared.", ""), nil
	}
	if err := g.Set(event.Goal{Condition: in.Condition, Check: in.Check, ByAgent: true}); err != nil {
		return nil, err
	}
	now, _ := g.State()
	return told("goal", "The goal is set: "+now.Condition, now.Condition), nil
}
