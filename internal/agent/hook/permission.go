package hook

import (
	"cmp"
	"context"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Answered is the answer of hooks to a question for permission.
type Answered struct {
	permission.Decision
	Updates []Update
	Foreign bool // the hook is of a project or a plugin
}

// PermissionRequest asks the hooks about a call that would be a question to the user, with the lasting answers that the
// user would be offered; ok is false when none answers. A refusal counts before an approval.
func (h *Hooks) PermissionRequest(ctx context.Context, a agent.Approval, lasting func() []Update) (out Answered,
	ok bool,
) {
	if !h.Any("PermissionRequest") || isWithin(ctx) {
		return out, false
	}
	fields := h.callFields(a.Call)
	delete(fields, "tool_use_id")
	if l := lasting(); len(l) > 0 {
		fields["permission_suggestions"] = l
	}
	for _, r := range h.fire(ctx, occasion{event: "PermissionRequest", subject: a.Tool, fields: fields, call: &a.Call}) {
		ans := r.Output.Specific.Decision
		if why, ok := r.unanswered(); ok {
			ans = &answer{Behavior: "deny", Message: why}
		}
		if ans == nil || ok && (out.Effect == permission.Deny || ans.Behavior == "allow") {
			continue
		}
		ok = true
		out = Answered{Decision: permission.Decision{Layer: permission.LayerAsk, Source: "hook " + r.Handler.Text()}}
		if ans.Behavior == "deny" {
			out.Effect, out.Reason, out.Interrupt = permission.Deny, cmp.Or(ans.Message, "a hook refused it"), ans.Interrupt
			continue
		}
		out.Effect, out.Reason, out.Input, out.Updates = permission.Allow, "a hook allowed it", ans.Input, ans.Updates
		out.Foreign = r.Handler.place.Foreign
	}
	return out, ok
}

// PermissionDenied reports a call that the model for permissions refused; true: the model may try again.
func (h *Hooks) PermissionDenied(ctx context.Context, a agent.Approval, reason string) (retry bool) {
	if !h.Any("PermissionDenied") || isWithin(ctx) {
		return false
	}
	fields := h.callFields(a.Call)
	fields["reason"] = reason
	for _, r := range h.fire(ctx, occasion{event: "PermissionDenied", subject: a.Tool, fields: fields, call: &a.Call}) {
		retry = retry || r.Output.Specific.Retry
	}
	return retry
}
