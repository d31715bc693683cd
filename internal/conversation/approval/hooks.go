package approval

import (
	"context"
	"fmt"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/permission"
)

// byHook has the hooks answer a question for permission. They may refuse any call; what a guard refuses they cannot
// allow.
func (p *Approver) byHook(ctx context.Context, a agent.Approval, d permission.Decision) (permission.Decision, bool) {
	if a.Hooks.Effect == permission.Ask && a.Revised {
		return d, false
	}
	lasting := func() []hook.Update {
		q := event.Question{Outside: p.Workspace.Outside(a.Request)}
		if d.Confirm {
			return nil
		}
		_, q.Options = p.lastingOptions(a, d)
		return hook.Suggestions(q)
	}
	out, ok := p.Hooks.PermissionRequest(ctx, a, lasting)
	if !ok || d.Confirm && out.Effect != permission.Deny {
		return d, false
	}
	if out.Effect == permission.Allow {
		for _, u := range out.Updates {
			if err := p.update(u, out.Foreign); err != nil {
				p.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf("%s: a change of permissions (%s) was left out: %v",
					out.Source, u.Type, err)})
			}
		}
	}
	return out.Decision, true
}
