// Package workflow runs scripts that start agents: loops, branches and results in variables, without a model in
// between.
//
// The words: a workflow is a script in Starlark; a phase is a part of it with a name for people.
//
// Promises: a script reaches nothing but agents: no file, no network, no clock. It ends with its context, with its
// limits of agents and time, and with a bound on its own steps. A failed agent ends it, unless the script takes None.
package workflow

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// Task is the work for one agent.
type Task struct {
	Kind, Model, Title, Prompt string
}

// Host starts agents.
type Host struct {
	Agent func(context.Context, Task) (answer string, err error)
	Tell  func(line string) // progress
}

// Limits of one run; all are required.
type Limits struct {
	Agents int
	Time   time.Duration
}

// mostSteps bounds the computation of a script itself.
const mostSteps = 50_000_000

var phaseCall = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bphase\(\s*["']([^"'\n]+)["']`) })

// Phases names the phases of a script, for the one who approves it.
func Phases(script string) (out []string) {
	for _, m := range phaseCall().FindAllStringSubmatch(script, -1) {
		out = append(out, m[1])
	}
	return out
}

// dialect lets a script use loops at its top level.
var dialect = &syntax.FileOptions{While: true, TopLevelControl: true, GlobalReassign: true}

// Check says where a script is wrong.
func Check(script string) error {
	_, _, err := starlark.SourceProgramOptions(dialect, "workflow", script, func(name string) bool {
		return name == "agent" || name == "agents" || name == "phase" || name == "log" || name == "json"
	})
	return err
}

// run is one run of a script.
type run struct {
	Host
	limits Limits
	ctx    context.Context
	phase  string
	used   int
}

// Run runs a script. The result is what its variable result is in the end.
func Run(ctx context.Context, script string, h Host, l Limits) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, l.Time, fmt.Errorf("the workflow took longer than %s", l.Time))
	defer cancel()
	r := &run{Host: h, limits: l, ctx: ctx}
	thread := &starlark.Thread{Name: "workflow", Print: func(_ *starlark.Thread, text string) { r.Tell(text) }}
	thread.SetMaxExecutionSteps(mostSteps)
	defer context.AfterFunc(ctx, func() { thread.Cancel(context.Cause(ctx).Error()) })()
	names := starlark.StringDict{
		"agent": starlark.NewBuiltin("agent", r.one), "agents": starlark.NewBuiltin("agents", r.many),
		"phase": starlark.NewBuiltin("phase", r.begin), "log": starlark.NewBuiltin("log", r.log), "json": json.Module,
	}
	globals, err := starlark.ExecFileOptions(dialect, thread, "workflow", script, names)
	if e, ok := errors.AsType[*starlark.EvalError](err); ok {
		err = fmt.Errorf("%s\n%s", e.Msg, e.CallStack)
	}
	if err != nil {
		return "", err
	}
	switch v := globals["result"].(type) {
	case nil:
		return "", nil
	case starlark.String:
		return string(v), nil
	default:
		return v.String(), nil
	}
}

func (r *run) begin(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (
	starlark.Value, error,
) {
	if err := starlark.UnpackArgs(b.Name(), args, kw, "name", &r.phase); err != nil {
		return nil, err
	}
	r.Tell("phase " + r.phase)
	return starlark.None, nil
}

func (r *run) log(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (
	starlark.Value, error,
) {
	var text string
	if err := starlark.UnpackArgs(b.Name(), args, kw, "text", &text); err != nil {
		return nil, err
	}
	r.Tell(text)
	return starlark.None, nil
}

// one is agent(prompt, kind, model, title, optional): an answer, or None for an optional one that failed.
func (r *run) one(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (
	starlark.Value, error,
) {
	var t Task
	optional := false
	if err := starlark.UnpackArgs(b.Name(), args, kw, "prompt", &t.Prompt, "kind?", &t.Kind, "model?", &t.Model, "title?",
		&t.Title, "optional?", &optional); err != nil {
		return nil, err
	}
	out, err := r.start([]Task{t})
	if err != nil {
		return nil, err
	}
	return out[0].value(optional)
}

// many is agents(prompts, kind, model, title, optional): the answers of agents that work side by side.
func (r *run) many(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kw []starlark.Tuple) (
	starlark.Value, error,
) {
	var t Task
	var prompts starlark.Iterable
	optional := false
	if err := starlark.UnpackArgs(b.Name(), args, kw, "prompts", &prompts, "kind?", &t.Kind, "model?", &t.Model, "title?",
		&t.Title, "optional?", &optional); err != nil {
		return nil, err
	}
	var tasks []Task
	for v := range starlark.Elements(prompts) {
		text, ok := starlark.AsString(v)
		if !ok {
			return nil, fmt.Errorf("agents: a prompt is a string, not %s", v.Type())
		}
		next := t
		next.Prompt = text
		tasks = append(tasks, next)
	}
	out, err := r.start(tasks)
	if err != nil {
		return nil, err
	}
	var list []starlark.Value
	for _, o := range out {
		v, err := o.value(optional)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return starlark.NewList(list), nil
}

type outcome struct {
	answer string
	err    error
}

func (o outcome) value(optional bool) (starlark.Value, error) {
	switch {
	case o.err == nil:
		return starlark.String(o.answer), nil
	case optional:
		return starlark.None, nil
	}
	return nil, o.err
}

// start has agents work side by side; the error is a limit.
func (r *run) start(tasks []Task) ([]outcome, error) {
	if r.used += len(tasks); r.used > r.limits.Agents {
		return nil, fmt.Errorf("the workflow may start %d agents, and this would be %d", r.limits.Agents, r.used)
	}
	out := make([]outcome, len(tasks))
	var wg sync.WaitGroup
	for i, t := range tasks {
		if t.Title == "" {
			t.Title, _, _ = strings.Cut(strings.TrimSpace(t.Prompt), "\n")
		}
		if r.phase != "" {
			t.Title = r.phase + ": " + t.Title
		}
		wg.Go(func() {
			out[i].answer, out[i].err = r.Agent(r.ctx, t)
			if out[i].err != nil {
				r.Tell("failed: " + t.Title + ": " + out[i].err.Error())
			}
		})
	}
	wg.Wait()
	return out, context.Cause(r.ctx)
}
