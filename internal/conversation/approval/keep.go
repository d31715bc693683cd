package approval

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// KeepChanges asks a person what becomes of the changes that a command made in its private view of the project:
// accesses of a are the files that would be written. Refused are those that a rule or a guard denies; the others are
// dropped where nobody can be asked, and in the mode that asks nothing.
func (p *Approver) KeepChanges(ctx context.Context, a agent.Approval) (refused map[string]string,
	d permission.Decision,
) {
	a.Agent, a.Place = p.Chain, p.Workspace.Place()
	refused, risks := p.keepable(a)
	d = permission.Decision{
		Effect: permission.Deny, Layer: permission.LayerAsk,
		Reason: "nobody can be asked in this run about the changes of the command",
	}
	if len(refused) < len(a.Accesses) && p.Interactive && p.Mode() != permission.DontAsk {
		d = p.askKeep(ctx, a, risks)
	}
	if err := p.note(ctx, a, d); err != nil {
		d = permission.Decision{Effect: permission.Deny, Reason: err.Error()}
	}
	return refused, d
}

// keepable holds each file against rules and guards.
func (p *Approver) keepable(a agent.Approval) (refused map[string]string, risks []string) {
	refused = map[string]string{}
	for _, access := range a.Accesses {
		one := a.Request
		one.Mode, one.Accesses = permission.AcceptEdits, []permission.Access{access}
		switch d := p.Rules.Policy().Decide(one); {
		case d.Effect == permission.Deny:
			refused[access.Target] = d.Reason
		case d.Effect == permission.Ask && d.Layer == permission.LayerGuards:
			risks = append(risks, access.Target+": "+d.Reason)
		}
	}
	return refused, risks
}

func (p *Approver) askKeep(ctx context.Context, a agent.Approval, risks []string) permission.Decision {
	p.dialog.Lock() // one at a time, in order
	defer p.dialog.Unlock()
	no := permission.Decision{
		Effect: permission.Deny, Layer: permission.LayerAsk, Source: ByUser, Reason: "the user dropped the changes",
	}
	reason := fmt.Sprintf("the command ran in a private view of the project and changed %d of its files and folders. "+
		"Nothing is real yet", len(a.Accesses))
	if len(risks) > 0 {
		reason += ". Other programs run or obey some of them: " + strings.Join(risks[:min(len(risks), 3)], "; ")
	}
	a.Mode = p.Mode()
	options := []event.Option{{ID: event.ChoiceOnce, Label: "Yes, keep the changes"}}
	if a.Mode == permission.Default && len(risks) == 0 {
		options = append(options, event.Option{ID: event.ChoiceEdits, Label: "Yes, and accept edits from now on"})
	}
	ans, err := p.Ask(ctx, event.Question{
		Agent: p.Chain, Title: "Keep what the command changed?", Text: a.Title, Permission: &a.Request, Preview: a.Preview,
		Call: &a.Call, Free: true, Reason: reason, ReasonType: "sandbox",
		Options: append(options, event.Option{ID: event.ChoiceNo, Label: "No, drop them"}),
	})
	if err != nil {
		return no
	}
	no.By = ans.From
	switch ans.Choice {
	case event.ChoiceEdits:
		p.acceptEdits()
	case event.ChoiceOnce, event.ChoiceSession, event.ChoiceAlways: // an SDK may answer with more
	default:
		no.Guidance = strings.TrimSpace(ans.Text)
		return no
	}
	return permission.Decision{
		Effect: permission.Allow, Layer: permission.LayerAsk, Source: ByUser, By: ans.From,
		Reason: "the user kept the changes",
	}
}
