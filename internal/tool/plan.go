package tool

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

//go:embed enterplan.md
var enterPlanDescription string

//go:embed exitplan.md
var exitPlanDescription string

const exitPlanSchema = `{"type":"object","properties":{"plan":{"type":"string","description":"The plan as Markdown; leave it out when it is in the plan file"},` +
	`"planFilePath":{"type":"string","description":"Filled in by lathe"}}}`

var enterPlanTool = call.Declaration{
	Name: consult.EnterPlanName, Schema: json.RawMessage(`{"type":"object","properties":{}}`),
	Class: permission.ClassNeutral, Deferred: true, Accesses: call.Session(consult.EnterPlanName),
}

var exitPlanTool = call.Declaration{
	Name: consult.ExitPlanName, Aliases: []string{"plan_exit"}, Schema: json.RawMessage(exitPlanSchema),
	Ignored: "allowed_prompts",
	Class:   permission.ClassNeutral, Accesses: call.Session(consult.ExitPlanName),
}

// errNoPlan is returned where plan mode is not the agent's to enter or leave.
var errNoPlan = errors.New("only the main agent enters and leaves plan mode; report the plan as your answer")

func newEnterPlan(plan *consult.Plan) agent.Tool {
	return newTool(enterPlanTool, enterPlanDescription, func(context.Context, llm.ToolCall, struct{}) (*agent.Plan,
		error,
	) {
		if plan == nil {
			return nil, errNoPlan
		}
		return &agent.Plan{Accesses: call.SessionOnly(consult.EnterPlanName), Title: "plan first", Run: plan.Enter}, nil
	})
}

func newExitPlan(plan *consult.Plan) agent.Tool {
	return newTool(exitPlanTool, exitPlanDescription, func(_ context.Context, c llm.ToolCall, in consult.Exit) (
		*agent.Plan, error,
	) {
		if plan == nil {
			return nil, errNoPlan
		}
		text, err := plan.Draft(in)
		if err != nil {
			return nil, err
		}
		return &agent.Plan{
			Accesses: call.SessionOnly(consult.ExitPlanName), Title: consult.Heading(text),
			Preview: event.TextView{Text: text, Path: consult.FileName, Language: "markdown"},
			Run:     func(context.Context) (*agent.Result, error) { return plan.Approve(c.ID, text) },
		}, nil
	})
}
