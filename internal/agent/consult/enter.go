package consult

import (
	"context"
	"errors"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Entering is how EnterPlanMode asks.
func (p *Plan) Entering() Dialog {
	return Dialog{
		Question: p.askEnter, Decide: decideEnter,
		Nobody: "nobody can approve a plan in this run; go on without one",
	}
}

// errPlanning is returned for entering plan mode twice.
var errPlanning = errors.New("plan mode is on already; write the plan, then call ExitPlanMode")

// MayEnter refuses to enter plan mode twice.
func (p *Plan) MayEnter() error {
	if p.Modes.Mode() == permission.Plan {
		return errPlanning
	}
	return nil
}

func (p *Plan) askEnter(a agent.Approval) (event.Question, error) {
	call := a.Call
	return event.Question{
		Agent: a.Agent, Title: "Plan first?", Consult: true, Call: &call, Free: true, Own: "No, and say why",
		Text: "lathe proposes plan mode: nothing is changed until you have approved a plan.",
		Options: []event.Option{
			{ID: event.ChoiceOnce, Label: "Yes, plan first"},
			{ID: event.ChoiceNo, Label: "No, begin"},
		},
	}, p.MayEnter()
}

func decideEnter(_ agent.Approval, ans event.Answer) permission.Decision {
	switch {
	case ans.Canceled:
		return refused("the user did not answer", ans)
	case ans.Choice == event.ChoiceOnce:
		return allowed("the user wants a plan first")
	case ans.Text == "":
		ans.Text = "Begin without a plan."
	}
	return refused("the user wants no plan", ans)
}

// Enter turns plan mode on.
func (p *Plan) Enter(context.Context) (*agent.Result, error) {
	if err := p.MayEnter(); err != nil {
		return nil, err
	}
	if err := p.Modes.Set(permission.Plan); err != nil {
		return nil, err
	}
	r := agent.TextResult("Plan mode is on. How to go on follows.")
	r.Title, r.Meta, r.View = "plan first", map[string]any{"message": "plan mode is on"},
		event.TextView{Summary: "Plan mode is on"}
	return r, nil
}
