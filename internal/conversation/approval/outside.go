package approval

import (
	"context"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Again asks a person whether a command may run once more, after the sandbox refused it something: outside of it, or
// inside as an approved command, which writes the project and sees the home folder. No rule, mode or model answers
// this, and a command that the person kept back is not asked about again. A deny rule or a guard that is new since the
// first run refuses.
func (p *Approver) Again(ctx context.Context, a agent.Approval, why string, outside bool) bool {
	text := insideAgain
	if outside {
		text = outsideAgain
	}
	if _, no := p.keptInside.Load(string(a.Input)); no || !p.Interactive || p.stayInside.Load() || !p.asksOutside() {
		return false
	}
	p.dialog.Lock() // one at a time, in order
	defer p.dialog.Unlock()
	if ctx.Err() != nil || p.stayInside.Load() || !p.asksOutside() {
		return false
	}
	a.Agent, a.Mode, a.Place = p.Chain, permission.Default, p.Workspace.Place()
	denied := func() bool { return p.Rules.Policy().Decide(a.Request).Effect == permission.Deny }
	if denied() {
		return false
	}
	ans, err := p.Ask(ctx, event.Question{
		Agent: p.Chain, Title: a.Tool + text.title, Text: a.Title, Permission: &a.Request, Preview: a.Preview,
		Call: &a.Call, Free: true,
		Reason:     "the command failed. " + why + " It would run again from its beginning, " + text.how,
		ReasonType: "sandbox",
		Options: []event.Option{
			{ID: event.ChoiceOnce, Label: text.yes},
			{ID: event.ChoiceNo, Label: "No"},
			{ID: event.ChoiceNever, Label: "No, and do not ask again in this session"},
		},
	})
	if err != nil || denied() { // by a rule that came while the question waited
		return false
	}
	d := permission.Decision{
		Effect: permission.Deny, Layer: permission.LayerAsk, Source: ByUser, By: ans.From,
		Reason: "the user refused to run it again " + text.how,
	}
	switch ans.Choice {
	// an SDK's answer may have more; it counts for this run
	case event.ChoiceOnce, event.ChoiceSession, event.ChoiceAlways:
		d.Effect, d.Reason = permission.Allow, "the user allowed one more run "+text.how
	case event.ChoiceNever:
		p.stayInside.Store(true)
	default:
		p.keptInside.Store(string(a.Input), true)
	}
	return p.note(ctx, a, d) == nil && d.Effect == permission.Allow
}

// againText are the words of a question about a second run.
type againText struct{ title, how, yes string }

var (
	outsideAgain = againText{
		" outside of the sandbox", "without the sandbox", "Yes, run it once outside of the sandbox",
	}
	insideAgain = againText{
		" again, with write access", "in the sandbox, with the project to write and your home folder to read",
		"Yes, run it once more with write access",
	}
)

// asksOutside reports whether the mode puts questions to a person.
func (p *Approver) asksOutside() bool {
	switch p.Mode() {
	case permission.DontAsk, permission.Bypass, permission.Plan:
		return false
	}
	return true
}
