package approval

import (
	"context"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/consult"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// consult has a person decide on a call that is a question to them. No rule, mode or hook answers for them, and nothing
// but their answer becomes the input.
func (p *Approver) consult(ctx context.Context, a agent.Approval, dialog consult.Dialog) (permission.Decision, error) {
	switch {
	case a.Revised:
		return permission.Decision{
			Effect: permission.Allow, Layer: permission.LayerAsk, Source: ByUser,
			Reason: "the user answered",
		}, nil
	case !p.Interactive:
		return permission.Decision{Effect: permission.Deny, Layer: permission.LayerAsk, Reason: dialog.Nobody}, nil
	case p.Mode() == permission.DontAsk:
		return permission.Decision{
			Effect: permission.Deny, Layer: permission.LayerMode,
			Reason: "the mode is dontAsk, and " + dialog.Nobody,
		}, nil
	}
	p.dialog.Lock() // one at a time, in order
	defer p.dialog.Unlock()
	if err := ctx.Err(); err != nil {
		return permission.Decision{}, err
	}
	q, err := dialog.Question(a)
	if err != nil {
		return permission.Decision{Effect: permission.Deny, Layer: permission.LayerAsk, Reason: err.Error()}, nil
	}
	ans, err := p.Ask(ctx, q)
	if err != nil {
		return permission.Decision{}, err
	}
	d := dialog.Decide(withInput(a, q), ans)
	d.By = ans.From
	if d.Effect == permission.Allow && d.Input == nil {
		d.Input = q.Call.Input
	}
	return d, nil
}

// withInput is a call with the input that was shown.
func withInput(a agent.Approval, q event.Question) agent.Approval {
	a.Call.Input = q.Call.Input
	return a
}
