package approval

import (
	"context"
	"fmt"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/hook"
	"github.com/lathe-dev/lathe/internal/permission"
)

// byHook has the hooks answer a question for permission. They may refuse any call; what a guard refuses they cannot allow.
func (p *Approver) byHook(ctx context.Context, a agent.Approval, d permission.Decision) (permission.Decision, bool) {
	if a.Hooks.Effect == permission.Ask && a.Revised {
		return d, false
	}
	out, ok := p.Hooks.PermissionRequest(ctx, a)
	if !ok || d.Confirm && out.Effect != permission.Deny {
		return d, false
	}
	if out.Effect == permission.Allow {
		for _, u := range out.Updates {
			p.update(u)
		}
	}
	return out.Decision, true
}

// update makes a change of rules or of the mode that a hook asked for.
func (p *Approver) update(u hook.Update) {
	keep := u.Destination != "" && u.Destination != "session"
	switch u.Type {
	case "addRules":
		effect := permission.Effect(u.Behavior)
		if effect != permission.Allow && effect != permission.Ask && effect != permission.Deny {
			break
		}
		for _, r := range u.Rules {
			p.grant([]string{hook.Rule(r.Tool, r.Content)}, effect, keep)
		}
		return
	case "setMode":
		if err := p.Set(permission.Mode(u.Mode)); err != nil {
			p.Publish(event.Notice{Level: "warning", Text: "a hook could not change the mode: " + err.Error()})
		}
		return
	}
	p.Publish(event.Notice{Level: "warning", Text: fmt.Sprintf("a change of permissions by a hook was left out: lathe has no %s %s", u.Type, u.Behavior)})
}
