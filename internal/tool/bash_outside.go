package tool

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// excluded reports whether a command runs outside of the sandbox: by the settings, or because it needs that. A pattern must cover every
// part of it that is not read-only, as an allow rule would.
func (e *Env) excluded(in bashInput) bool {
	if !e.Boundary.Confined() {
		return false
	}
	line, dir, folders := e.line(in)
	return e.Boundary.Outside(line, dir, folders)
}

// line is a command as the boundary looks at it, with the working folder and those that it may write.
func (e *Env) line(in bashInput) (line boundary.Line, dir string, folders []string) {
	m, at := e.Machine(), e.here()
	var accesses []permission.Access
	if in.Shell == "" {
		accesses, _ = bashAccesses(in, call.Place{World: m, Dir: at.dir, Resolve: e.look}) // without accesses nothing covers it
	}
	return e.lineOf(in, m, accesses), at.dir, m.roots
}

// line is that of a call that was analysed.
func (c *bashCall) line() boundary.Line { return c.env.lineOf(c.in, c.env.Machine(), c.accesses) }

// lineOf is a command whose accesses are known.
func (e *Env) lineOf(in bashInput, m *Machine, accesses []permission.Access) (line boundary.Line) {
	line.Covered = func([]string) bool { return false }
	line.Excluded = line.Covered
	if in.Shell != "" || len(accesses) == 0 || accesses[0].Command == nil { // the words may mean something else in a named shell
		return line
	}
	for _, part := range accesses[0].Command.Parts {
		line.Programs = append(line.Programs, part.Program)
	}
	for _, a := range accesses {
		if a.Kind == permission.Write {
			line.Writes = append(line.Writes, a.Target)
		}
	}
	root := e.Roots.First()
	anywhere := []string{filepath.VolumeName(root) + string(filepath.Separator)} // where files lie is for the permissions to judge, but for guarded ones
	line.Covered = func(patterns []string) bool { return e.covers(patterns, in.Command, accesses, anywhere) }
	line.Excluded = func(patterns []string) bool { return e.covers(patterns, in.Command, accesses, m.roots) }
	return line
}

// covers reports whether patterns of commands cover every part of a line that is not read-only, and that writes in the roots only.
func (e *Env) covers(patterns []string, command string, accesses []permission.Access, roots []string) bool {
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
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return false
	}
	return permission.NewPolicy(known, e.Machine().Home(), roots, rules).CoversEveryPart(permission.Request{
		Tool: BashName, Input: input, Accesses: accesses, Dir: e.here().dir,
	})
}

// RunsUnasked reports whether a call needs no approval because the sandbox confines it: a command, with the setting for that,
// in the full sandbox.
func (e *Env) RunsUnasked(r permission.Request) bool {
	var in bashInput
	if r.Tool != BashName || !e.Boundary.RunsUnasked() || json.Unmarshal(r.Input, &in) != nil {
		return false
	}
	return !in.Leave && !e.excluded(in)
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
	return c.env.Boundary.Enforced()
}
