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

// excluded reports whether a command runs outside of the sandbox: by the settings, or because it needs that.
func (e *Commands) excluded(in bashInput) bool {
	accesses, _ := bashAccesses(in, call.Place{World: e.Machine(), Dir: e.here().dir, Resolve: e.look})
	return permission.RunsOutside(accesses)
}

// unheld finds out whether a command runs outside of the sandbox, and which of its parts then need approval though they
// are read-only: a program that nothing confines must not be the project's.
func (e *Files) unheld(in bashInput, dir string, m *Machine, accesses []permission.Access) {
	command := accesses[0].Command
	hold(e.Boundary, in, e.lineOf(in, m, dir, accesses), linePlace{dir: dir, roots: m.roots}, command)
	command.Held = command.Held && e.hides()
	if !command.Outside && e.Boundary.Holds() {
		return
	}
	for i := range command.Parts {
		part := &command.Parts[i]
		switch {
		case !part.Class.ReadOnly():
		case part.Path != "" && standIn(part.Path):
			part.Asks, part.Reason = true, part.Program+" may run a program that the project chooses, and no sandbox confines it"
		case part.Whole && !(e.Boundary.Holds() && !command.Outside):
			part.Asks, part.Reason = true, part.Program+" reads whole folders, and no sandbox hides the secret files in them"
		case command.Outside && !slices.Contains(boundary.Plain, part.Program):
			part.Asks, part.Reason = true, part.Program+" runs outside of the sandbox here, where nothing confines it"
		}
	}
}

// hold finds out whether a command runs outside of a sandbox, and whether the full one holds it.
func hold(box *boundary.Boundary, in bashInput, line boundary.Line, at linePlace, command *permission.Command) {
	command.Outside = box.Outside(line, at.dir, at.roots)
	command.Held = box.Holds() && !box.AsksFirst() && !command.Outside && !in.Leave && !in.Background &&
		len(command.Trees) == 0
}

// Hold is what a sandbox holds of a call of Bash on a machine that need not be there: see hold.
func Hold(box *boundary.Boundary, home string, roots []string, req permission.Request) {
	var in bashInput
	if req.Tool != BashName || len(req.Accesses) == 0 || req.Accesses[0].Command == nil ||
		json.Unmarshal(req.Input, &in) != nil {
		return
	}
	at := linePlace{
		home: home, dir: req.Dir, roots: roots, foreign: func(string, string) bool { return false },
	}
	hold(box, in, newLine(in, at, req.Accesses), at, req.Accesses[0].Command)
}

// line is that of a call that was analysed.
func (c *bashCall) line() boundary.Line {
	return c.env.lineOf(c.in, c.env.Machine(), c.dir, c.accesses)
}

// lineOf is a command whose accesses are known.
func (e *Files) lineOf(in bashInput, m *Machine, dir string, accesses []permission.Access) boundary.Line {
	return newLine(in, linePlace{m.Home(), dir, m.roots, m.foreign}, accesses)
}

// linePlace is where a line runs. foreign reports whether a program lies in a folder of the project.
type linePlace struct {
	home, dir string
	roots     []string
	foreign   func(program, dir string) bool
}

func newLine(in bashInput, at linePlace, accesses []permission.Access) (line boundary.Line) {
	line.Covered = func([]string) bool { return false }
	line.Excluded = line.Covered
	// the words may mean something else in a named shell
	if in.Shell != "" || len(accesses) == 0 || accesses[0].Command == nil {
		return line
	}
	line.ReadOnly = accesses[0].Command.Class.ReadOnly()
	for _, part := range accesses[0].Command.Parts {
		if part.Class != permission.ClassNeutral && !saysVersion(part) {
			line.Programs = append(line.Programs, part.Program)
		}
	}
	line.Foreign = func() bool {
		return slices.ContainsFunc(accesses[0].Command.Parts,
			func(p permission.Part) bool { return at.foreign(p.Program, at.dir) })
	}
	for _, a := range accesses {
		if a.Kind == permission.Write {
			line.Writes = append(line.Writes, a.Target)
		}
	}
	// where files lie is for the permissions to judge, but for guarded ones
	anywhere := at
	anywhere.roots = []string{filepath.VolumeName(at.dir) + string(filepath.Separator)}
	line.Covered = func(patterns []string) bool { return anywhere.covers(patterns, in.Command, accesses) }
	line.Excluded = func(patterns []string) bool { return at.covers(patterns, in.Command, accesses) }
	return line
}

// saysVersion reports whether a part has a program say what it is, which it does inside.
func saysVersion(part permission.Part) bool {
	flag := strings.TrimPrefix(part.Text, part.Program+" ")
	return part.Exact && slices.Contains([]string{"--version", "-V", "-v", "version", "--help", "-h", "help"}, flag)
}

// bashRules is the tool Bash as far as rules on commands need it.
var bashRules = call.Declaration{Name: BashName, Subject: permission.SubjectCommand, SubjectIn: []string{"command"}}

// covers reports whether patterns of commands cover every part of a line that is not read-only, and that writes in the
// roots only.
func (at linePlace) covers(patterns []string, command string, accesses []permission.Access) bool {
	var rules []permission.Rule
	known := call.NewCatalogue(bashRules)
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, " *:") { // a program, with any arguments
			pattern += ":*"
		}
		rule, err := permission.ParseRule(known, BashName+"("+pattern+")", permission.Allow,
			permission.Source{Name: "sandbox.excludedCommands"})
		if err == nil {
			rules = append(rules, rule)
		}
	}
	accesses = slices.Clone(accesses)
	own := *accesses[0].Command
	own.Parts = slices.Clone(own.Parts)
	for i := range own.Parts {
		own.Parts[i].Beyond = false // the boundary looks at the paths itself
	}
	accesses[0].Command = &own
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return false
	}
	return permission.NewPolicy(known, at.home, at.roots, rules).CoversEveryPart(permission.Request{
		Tool: BashName, Input: input, Accesses: accesses, Dir: at.dir,
	})
}

// RunsUnasked reports whether a call needs no approval because the sandbox confines it: a command, with the setting for
// that, in the full sandbox.
func (e *Commands) RunsUnasked(r permission.Request) bool {
	var in bashInput
	if r.Tool != BashName || !e.Boundary.RunsUnasked() || json.Unmarshal(r.Input, &in) != nil {
		return false
	}
	return !in.Leave && !e.excluded(in) && len(linked(r.Accesses).Made) == 0
}

// mayLeave asks whether the command may run once more, outside of the sandbox. The model has no say in it.
func (c *bashCall) mayLeave(ctx context.Context) bool {
	return c.env.Boundary.MayLeave() && c.mayRunAgain(ctx, outsideInput(c.input), true)
}

// mayWrite asks whether an unapproved command may run once more, as an approved one.
func (c *bashCall) mayWrite(ctx context.Context) bool {
	return (c.reach == permission.ReachView || c.reach == permission.ReachRead) && c.mayRunAgain(ctx, c.input, false)
}

func (c *bashCall) mayRunAgain(ctx context.Context, input json.RawMessage, outside bool) bool {
	if c.env.Again == nil || c.detached || ctx.Err() != nil {
		return false
	}
	return c.env.Again(ctx, agent.Approval{
		Request: permission.Request{
			CallID: c.id, Tool: BashName, Input: input, Accesses: slices.Clone(c.accesses),
			Dir: c.dir,
		},
		Call:    llm.ToolCall{ID: c.id, Name: BashName, Input: input},
		Title:   bashTitle(c.in),
		Preview: event.Command{Command: c.in.Command, Dir: c.dir, Warning: c.warnings(ctx, c.accesses)},
	}, c.refusal, outside)
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
