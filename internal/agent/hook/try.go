package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Try runs the hooks of an event as if it had happened, with these fields as input, and returns their results.
func (h *Hooks) Try(ctx context.Context, name string, fields map[string]any) ([]Run, error) {
	if !Fires(name) {
		return nil, fmt.Errorf("there is no event %q for hooks; the events are %s", name, strings.Join(Names(), ", "))
	}
	o := occasion{event: name, fields: fields}
	o.subject, _ = fields[events()[name].subject].(string)
	if tool, ok := fields["tool_name"].(string); ok {
		input, err := json.Marshal(fields["tool_input"])
		if err != nil {
			return nil, err
		}
		id, _ := fields["tool_use_id"].(string)
		o.call = &llm.ToolCall{ID: id, Name: tool, Input: input}
	}
	return h.fire(ctx, o), ctx.Err()
}

// Verdict says in a word and a reason what a run decides; "" is nothing.
func (r Run) Verdict() (word, reason string) {
	if why, ok := r.stops(); ok {
		return "stop", why
	}
	if r.Handler.Event == "PreToolUse" {
		if v := r.before(); v.Effect != "" {
			return string(v.Effect), v.Reason
		}
	}
	if a := r.Output.Specific.Decision; a != nil {
		return a.Behavior, a.Message
	}
	if why, ok := r.blocked(); ok {
		return "block", why
	}
	return "", ""
}

// Context is the text that a run gives to the model.
func (r Run) Context() string {
	if r.Exit == 0 && r.Err == nil && events()[r.Handler.Event].plain {
		return joined([]string{r.context(), r.Text})
	}
	return r.context()
}

// SwitchOff keeps the hooks of the settings from running until lathe ends, or lets them run again. Those of the
// machine's policy and of a host program always run.
func (m *Machine) SwitchOff(off bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off, m.table = off, nil
}

// Off reports whether the hooks of the settings are switched off.
func (m *Machine) Off() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.off
}

// without drops the hooks that can be switched off.
func without(groups []config.HookGroup) []config.HookGroup {
	return slices.DeleteFunc(groups, func(g config.HookGroup) bool { return g.Origin.Layer != config.Managed })
}
