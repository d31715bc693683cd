package approval

import (
	"context"
	"fmt"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Considered is a call as policy sees it, without running it.
type Considered struct {
	Request  permission.Request
	Decision permission.Decision
	Propose  []string // the rules that would allow it
}

// Consider prepares a call and decides on it; nothing is run, asked or kept.
func (p *Approver) Consider(ctx context.Context, tools []agent.Tool, c llm.ToolCall) (Considered, error) {
	for _, t := range tools {
		if t.Spec().Name != c.Name {
			continue
		}
		plan, err := t.Prepare(ctx, c)
		if err != nil {
			return Considered{}, err
		}
		if plan.Close != nil {
			defer plan.Close()
		}
		out := Considered{Request: permission.Request{
			CallID: c.ID, Tool: c.Name, Input: c.Input, Accesses: plan.Accesses, Mode: p.Mode(), Dir: p.Workspace.Dir(),
			Place: p.Workspace.Place(),
		}}
		out.Decision = p.Rules.Policy().Decide(out.Request)
		if out.Decision.Effect == permission.Ask {
			out.Propose = p.Rules.Policy().Propose(out.Request)
		}
		return out, nil
	}
	return Considered{}, fmt.Errorf("the tool %s is not there; a rule or flag took it away", c.Name)
}
