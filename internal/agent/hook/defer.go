package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// putOff begins the result of a call that a hook deferred.
const putOff = "a hook put the call off: it has not run, and is made again when the session is resumed"

// defers reports a handler that puts a call off.
func (r Run) defers() bool {
	_, blocked := r.blocked()
	_, stops := r.stops()
	return r.Output.Specific.PermissionDecision == "defer" && !blocked && !stops
}

// deferred makes the verdicts of handlers that put a call off end the turn, in a run without a person, unless another
// handler refuses the call. With a person, or in a subagent, they ask.
func (h *Hooks) deferred(call llm.ToolCall, runs []Run, verdicts []agent.Verdict) {
	if h.s.Interactive || h.child() || !slices.ContainsFunc(runs, Run.defers) {
		return
	}
	if slices.ContainsFunc(verdicts, func(v agent.Verdict) bool { return v.Effect == permission.Deny }) {
		return
	}
	for i, r := range runs {
		if !r.defers() {
			verdicts[i].Effect = ""
			continue
		}
		verdicts[i].Effect, verdicts[i].Input = permission.Deny, nil
		verdicts[i].Reason = strings.TrimSuffix(putOff+": "+verdicts[i].Reason, ": ")
		verdicts[i].Stop = "the call of " + call.Name + " waits for an answer from outside; resume the session to go on"
	}
	h.s.Publish(event.Deferred{Call: call})
}

// goOn makes the calls again that hooks put off at the end of the last turn; the hooks judge them anew. The parts are
// their results. One that is put off again is an error.
func (h *Hooks) goOn(ctx context.Context) (parts []llm.Part, err error) {
	for _, call := range h.waiting() {
		res := h.s.Invoke(ctx, []llm.ToolCall{call})[0]
		text := res.PlainText()
		if res.IsError && strings.Contains(text, putOff) {
			return nil, &agent.Blocked{Reason: "a hook put the call of " + call.Name + " off again"}
		}
		parts = append(parts, reminder(fmt.Sprintf(
			"The call of %s that a hook had put off (%s) was made now. Its result: %s", call.Name, call.ID,
			cmp.Or(text, "(none)"))))
		for _, p := range res.Parts {
			if _, ok := p.(llm.Text); !ok {
				parts = append(parts, p)
			}
		}
	}
	return parts, nil
}

// waiting lists the calls of the last message that hooks put off. The text of a result alone is no proof of it: the log
// has the run.
func (h *Hooks) waiting() (out []llm.ToolCall) {
	if h.child() || h.s.Log() == nil || h.s.Invoke == nil {
		return nil
	}
	msgs := h.s.Messages()
	if len(msgs) < 2 {
		return nil
	}
	var ids []string
	for _, p := range msgs[len(msgs)-1].Parts {
		if r, ok := p.(llm.ToolResult); ok && r.IsError && strings.Contains(r.PlainText(), putOff) {
			ids = append(ids, r.CallID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return !h.loggedDefer(id) })
	for _, p := range msgs[len(msgs)-2].Parts {
		if c, ok := p.(llm.ToolCall); ok && slices.Contains(ids, c.ID) {
			out = append(out, c)
		}
	}
	return out
}

// loggedDefer reports a call that a hook put off, as the log has it.
func (h *Hooks) loggedDefer(id string) bool {
	for e := range h.s.Log().Entries() {
		run, ok := e.Body.(session.HookRun)
		if !ok || run.CallID != id || run.Err != "" {
			continue
		}
		var out Output
		if json.Unmarshal([]byte(run.Output), &out) == nil && out.Specific.PermissionDecision == "defer" {
			return true
		}
	}
	return false
}
