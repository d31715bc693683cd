package tool

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// excluded reports whether the settings have a command run outside of the sandbox: a pattern must cover every part of it
// that is not read-only, as an allow rule would.
func (e *Env) excluded(command string) bool {
	patterns := e.Boundary.Excluded()
	if len(patterns) == 0 || !e.Boundary.Confined() {
		return false
	}
	var rules []permission.Rule
	known := call.NewCatalogue(bashTool)
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, " *:") { // a program, with any arguments
			pattern += ":*"
		}
		rule, err := permission.ParseRule(known, BashName+"("+pattern+")", permission.Allow, permission.Source{Name: "sandbox.excludedCommands"})
		if err == nil {
			rules = append(rules, rule)
		}
	}
	m, at := e.Machine(), e.here()
	accesses, err := bashAccesses(bashInput{Command: command}, call.Place{World: m, Dir: at.dir, Resolve: e.look})
	if err != nil {
		return false
	}
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return false
	}
	var roots []string
	for _, r := range e.Roots.List() {
		roots = append(roots, r.Path)
	}
	return permission.NewPolicy(known, m.Home(), roots, rules).CoversEveryPart(permission.Request{
		Tool: BashName, Input: input, Accesses: accesses, Dir: at.dir,
	})
}

// RunsUnasked reports whether a call needs no approval because the sandbox confines it: a command, with the setting for that,
// in the full sandbox.
func (e *Env) RunsUnasked(r permission.Request) bool {
	var in bashInput
	if r.Tool != BashName || !e.Boundary.RunsUnasked() || json.Unmarshal(r.Input, &in) != nil {
		return false
	}
	return !in.Leave && !e.excluded(in.Command)
}

// mayLeave asks whether the command may run once more, outside of the sandbox. The model has no say in it.
func (c *bashCall) mayLeave(ctx context.Context) bool {
	if c.env.Unconfined == nil || !c.env.Boundary.MayLeave() || ctx.Err() != nil {
		return false
	}
	input := outsideInput(c.input)
	return c.env.Unconfined(ctx, agent.Approval{
		Request: permission.Request{CallID: c.id, Tool: BashName, Input: input, Accesses: slices.Clone(c.accesses), Dir: c.dir},
		Call:    llm.ToolCall{ID: c.id, Name: BashName, Input: input},
		Title:   bashTitle(c.in),
		Preview: event.Command{Command: c.in.Command, Dir: c.dir, Warning: c.warnings(ctx, c.accesses)},
	}, c.refusal)
}

// outsideInput marks the input the way Claude Code does, for programs that answer.
func outsideInput(input json.RawMessage) json.RawMessage {
	fields := map[string]any{}
	if json.Unmarshal(input, &fields) != nil {
		return input
	}
	fields["dangerouslyDisableSandbox"] = true
	marked, err := json.Marshal(fields)
	if err != nil {
		return input
	}
	return marked
}

// sandboxName is where the command ran: the boundary's name, "outside" of it, or "" without one.
func (c *bashCall) sandboxName() string {
	if c.outside && c.env.Boundary.Confined() {
		return "outside"
	}
	return c.env.Boundary.Name()
}
