package process

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/customtool"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/permission/call"
)

// Bounds of declarations and answers.
const (
	mostParts  = 32      // tools, commands, parts of the system prompt, sections: of each
	maxSystem  = 4_000   // bytes of a part of the system prompt, and of a section
	maxAppend  = 16_000  // bytes of an added text
	maxResult  = 1 << 20 // bytes of a tool's result
	maxPreview = 50_000  // bytes of a result that people see
)

// about is a process's answer to initialize, checked.
type about struct {
	tools    []customtool.Description
	system   []string
	calls    map[string]bool
	match    []string
	events   map[string]bool
	commands []Command
	context  []string
}

var partName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`) })

// read checks the answer to initialize. What cannot be used is left out, with a note.
func read(r InitializeResult) (a *about, notes []string) {
	a = &about{calls: map[string]bool{}, events: map[string]bool{}, match: r.Match}
	for _, t := range first(r.Tools) {
		if err := t.Check(); err != nil {
			notes = append(notes, "a tool is left out: "+err.Error())
			continue
		}
		a.tools = append(a.tools, t)
	}
	for _, text := range first(r.System) {
		a.system = append(a.system, cut(text, maxSystem))
	}
	for _, m := range r.Calls {
		switch m {
		case MethodBefore, MethodAfter, MethodMessage, MethodStep, MethodRequest:
			a.calls[m] = true
		default:
			notes = append(notes, fmt.Sprintf("lathe has no method %q to call; lathe plugin schema lists them", m))
		}
	}
	for _, kind := range r.Events {
		a.events[kind] = true
	}
	for _, c := range first(r.Commands) {
		if !partName().MatchString(c.Name) {
			notes = append(notes, fmt.Sprintf("the command %q is left out: its name is not letters, digits, _ and -", c.Name))
			continue
		}
		a.commands = append(a.commands, Command{c.Name, cut(firstLine(c.Description), 200), cut(firstLine(c.Arguments), 100)})
	}
	for _, name := range first(r.Context) {
		if partName().MatchString(name) {
			a.context = append(a.context, name)
		}
	}
	if n := max(len(r.Tools), len(r.System), len(r.Commands), len(r.Context)); n > mostParts {
		notes = append(notes, fmt.Sprintf("it declares %d parts of a kind; the first %d count", n, mostParts))
	}
	return a, notes
}

func first[T any](list []T) []T { return list[:min(len(list), mostParts)] }

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// declare adds the tools of a process to the catalogue. One whose name is taken is left out.
func (s *Set) declare(p *Process, a *about) {
	a.tools = slices.DeleteFunc(a.tools, func(t customtool.Description) bool {
		s.mu.Lock()
		by, ours := s.declared[t.Name]
		s.mu.Unlock()
		if by == p.spec.Name {
			return false
		}
		err := fmt.Errorf("the process %s has the name already", by)
		if !ours {
			err = s.o.Tools.Add(call.Declaration{Name: t.Name, Deferred: !t.AlwaysLoad, Accesses: s.accesses(t.Name)})
		}
		if err != nil {
			s.note(fmt.Sprintf("the tool %s of the process %s is left out: %v", t.Name, p.spec.Name, err))
			return true
		}
		s.mu.Lock()
		s.declared[t.Name] = p.spec.Name
		s.mu.Unlock()
		return false
	})
}

// accesses is the function of the declaration of a name, for the process that has the tool at the time of the call.
func (s *Set) accesses(name string) func(json.RawMessage, call.Place) ([]permission.Access, error) {
	return func(in json.RawMessage, at call.Place) ([]permission.Access, error) {
		if _, t := s.find(name); t != nil {
			return t.Touches(in, at)
		}
		return nil, nil
	}
}

func (s *Set) find(name string) (*Process, *customtool.Description) {
	for _, p := range s.All() {
		if a := p.about(); a != nil {
			if i := slices.IndexFunc(a.tools, func(t customtool.Description) bool { return t.Name == name }); i >= 0 {
				return p, &a.tools[i]
			}
		}
	}
	return nil, nil
}

// Tool is a tool of a process for one session.
type Tool struct {
	agent.Tool
	Origin string
	Always bool // each request has its schema
}

// Tools makes the tools of the processes that are up, and starts those that are not.
func (s *Set) Tools(ctx context.Context, seat customtool.Seat) (out []Tool) {
	for _, p := range s.Up(ctx) {
		a := p.about()
		if a == nil {
			continue
		}
		for _, t := range a.tools {
			spec := llm.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.InputSchema}
			made := agent.NewTool(spec, func(_ context.Context, c llm.ToolCall, in json.RawMessage) (*agent.Plan, error) {
				return s.plan(p, &t, seat, c, in)
			})
			out = append(out, Tool{Tool: made, Origin: p.spec.Origin, Always: t.AlwaysLoad})
		}
	}
	return out
}

func (s *Set) plan(p *Process, t *customtool.Description, seat customtool.Seat, c llm.ToolCall, in json.RawMessage) (
	*agent.Plan, error,
) {
	at := seat.Place()
	accesses, err := t.Touches(in, at)
	if err != nil {
		return nil, err
	}
	var preview bytes.Buffer
	if json.Indent(&preview, in, "", "  ") != nil {
		preview.Write(in)
	}
	return &agent.Plan{
		Accesses: accesses, Title: t.Name, Preview: event.TextView{Text: preview.String(), Language: "json"},
		Parallel: t.Parallel,
		Run:      func(ctx context.Context) (*agent.Result, error) { return p.run(ctx, t, seat.Session, at.Dir, c, in) },
	}, nil
}

// run has the process run a call.
func (p *Process) run(ctx context.Context, t *customtool.Description, session, dir string, c llm.ToolCall,
	in json.RawMessage,
) (*agent.Result, error) {
	p.outputs.Store(c.ID, func(text string) { agent.Output(ctx, cut(text, maxPreview)) })
	defer p.outputs.Delete(c.ID)
	var res ToolResult
	err := p.Call(ctx, MethodTool, ToolParams{
		Session: Session{SessionID: session}, CallID: c.ID, Name: t.Name, Input: in,
		Cwd: dir,
	}, &res, t.Limit())
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, fmt.Errorf("The tool %s failed: %w", t.Name, err)
	}
	if res.Text == "" {
		res.Text = "(the result is empty)"
	}
	r := agent.TextResult(cut(res.Text, maxResult))
	r.Title, r.IsError, r.View = t.Name, res.IsError, event.TextView{Text: cut(res.Text, maxPreview)}
	return r, nil
}

// Commands lists the slash commands of the processes that are up, by name: PROCESS:NAME. None is started.
func (s *Set) Commands() (out []Command) {
	if s == nil {
		return nil
	}
	for _, p := range s.All() {
		if a := p.about(); a != nil {
			for _, c := range a.commands {
				c.Name = p.spec.Name + ":" + c.Name
				out = append(out, c)
			}
		}
	}
	return out
}

// Run runs a slash command; ok is false where no process has one of this name.
func (s *Set) Run(ctx context.Context, session, name, args string) (res CommandResult, ok bool, err error) {
	process, command, found := strings.Cut(name, ":")
	if s == nil || !found {
		return res, false, nil
	}
	for _, p := range s.All() {
		if p.spec.Name != process {
			continue
		}
		s.Up(ctx)
		a := p.about()
		if a == nil {
			return res, true, fmt.Errorf("the process %s is %s", process, p.State())
		}
		if !slices.ContainsFunc(a.commands, func(c Command) bool { return c.Name == command }) {
			return res, false, nil
		}
		err := p.Call(ctx, MethodCommand, CommandParams{
			Session: Session{SessionID: session}, Name: command,
			Arguments: args,
		}, &res, 0)
		res.Text, res.Prompt = cut(res.Text, maxPreview), cut(res.Prompt, maxPreview)
		return res, true, err
	}
	return res, false, nil
}
