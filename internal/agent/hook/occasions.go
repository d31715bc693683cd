package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
)

// Expansion is a command that becomes a prompt.
type Expansion struct {
	Type   string // slash_command or mcp_prompt
	Name   string
	Args   string
	Source string // who brought it, such as "project"
	Prompt string // the whole line
}

// Expand asks the hooks of UserPromptExpansion; a refusal is the error. The part is for the model, nil if there is
// none.
func (h *Hooks) Expand(ctx context.Context, e Expansion) (llm.Part, error) {
	const name = "UserPromptExpansion"
	if !h.Any(name) {
		return nil, nil
	}
	runs := h.fire(ctx, occasion{event: name, subject: e.Name, fields: map[string]any{
		"expansion_type": e.Type, "command_name": e.Name, "command_args": e.Args, "command_source": e.Source,
		"prompt": e.Prompt,
	}})
	if why, ok := refused(runs); ok {
		return nil, fmt.Errorf("a hook refused /%s: %s", e.Name, why)
	}
	if len(runs) > 0 && ctx.Err() != nil { // a hook that would have refused it was ended
		return nil, ctx.Err()
	}
	if parts := contexts(name, runs); len(parts) > 0 {
		return parts[0], nil
	}
	return nil, nil
}

// Task is an entry of a list of tasks that agents work on.
type Task struct {
	ID, Subject, Description string
	Teammate, Team           string // who works on it; may be empty
}

func (t Task) fields() map[string]any {
	out := map[string]any{"task_id": t.ID, "task_subject": t.Subject}
	for name, v := range map[string]string{
		"task_description": t.Description, "teammate_name": t.Teammate,
		"team_name": t.Team,
	} {
		if v != "" {
			out[name] = v
		}
	}
	return out
}

// TaskCreated asks the hooks whether a new task may be; the error is a refusal.
func (h *Hooks) TaskCreated(ctx context.Context, t Task) error {
	return h.permits(ctx, occasion{event: "TaskCreated", fields: t.fields()}, "the task was not created")
}

// TaskCompleted asks the hooks whether a task is done; the error is a refusal, and the task stays open.
func (h *Hooks) TaskCompleted(ctx context.Context, t Task) error {
	return h.permits(ctx, occasion{event: "TaskCompleted", fields: t.fields()}, "the task stays open")
}

// TeammateIdle asks the hooks about a worker that has done its work; the error is a refusal, with the reason to go on.
// A hook that ends everything (continue: false) ends the worker, whatever others say.
func (h *Hooks) TeammateIdle(ctx context.Context, teammate, team string) error {
	o := occasion{event: "TeammateIdle", fields: map[string]any{"teammate_name": teammate, "team_name": team}}
	if !h.Any(o.event) || isWithin(ctx) {
		return nil
	}
	runs := h.fire(ctx, o)
	for _, r := range runs {
		if why, ok := r.stops(); ok {
			h.note("info", "a hook ended the work of "+teammate+": "+why)
			return nil
		}
	}
	return denial(o, runs, "the work goes on")
}

// permits fires an event whose hooks may refuse it. The error has the consequence and the reason.
func (h *Hooks) permits(ctx context.Context, o occasion, consequence string) error {
	if !h.Any(o.event) || isWithin(ctx) {
		return nil
	}
	return denial(o, h.fire(ctx, o), consequence)
}

// denial is the refusal of hooks as an error, with its consequence; nil: there is none.
func denial(o occasion, runs []Run, consequence string) error {
	if why, ok := refused(runs); ok {
		return fmt.Errorf("%s: a hook of %s says: %s", consequence, o.event, why)
	}
	return nil
}

// ConfigChange asks the hooks whether changes of settings may take effect, once for each file; the error is a refusal.
// Changes of the organisation's settings cannot be refused. Only the main conversation asks.
func (h *Hooks) ConfigChange(changes []config.Change) error {
	if !h.Any("ConfigChange") || h.child() {
		return nil
	}
	var errs []error
	asked := map[string]bool{}
	for _, c := range changes {
		source := sourceOf(c.Origin.Layer)
		key := source + c.Origin.File
		if source == "" || asked[key] || c.Err != nil {
			continue
		}
		asked[key] = true
		fields := map[string]any{"source": source}
		if c.Origin.File != "" {
			fields["file_path"] = c.Origin.File
		}
		err := h.permits(h.s.Life, occasion{event: "ConfigChange", subject: source, fields: fields},
			"the changed settings do not count")
		if source != "policy_settings" {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sourceOf is a layer of the settings in Claude Code's words; "": it is no file.
func sourceOf(l config.Layer) string {
	switch l {
	case config.User:
		return "user_settings"
	case config.Project:
		return "project_settings"
	case config.Local:
		return "local_settings"
	case config.Managed, config.Organization:
		return "policy_settings"
	}
	return ""
}

// Setup has Setup fired before the first prompt of the first session; the trigger is init or maintenance.
func (m *Machine) Setup(trigger string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setup = trigger
}

// BeginNow fires the events of the beginning of a session before its first prompt, which gets their texts.
func (h *Hooks) BeginNow(ctx context.Context) { h.begin(ctx) }

// prepare fires Setup where it was asked for.
func (h *Hooks) prepare(ctx context.Context) []llm.Part {
	h.m.mu.Lock()
	trigger := h.m.setup
	h.m.setup = ""
	h.m.mu.Unlock()
	if trigger == "" {
		return nil
	}
	return contexts("Setup", h.shown(h.fire(ctx, occasion{
		event: "Setup", subject: trigger,
		fields: map[string]any{"trigger": trigger},
	})))
}

// Instructions is a file of instructions that the model got.
type Instructions struct {
	Path    string
	Type    string   // User, Project, Local or Managed
	Reason  string   // session_start, nested_traversal, path_glob_match, include or compact
	Parent  string   // the file that imports it, or empty
	Trigger string   // the file or folder whose use brought it, or empty
	Globs   []string // the patterns of the files that it is for, where they brought it
}

// InstructionsLoaded reports a file of instructions. It waits for nothing.
func (h *Hooks) InstructionsLoaded(i Instructions) {
	if !h.Any("InstructionsLoaded") {
		return
	}
	fields := map[string]any{"file_path": i.Path, "memory_type": i.Type, "load_reason": i.Reason}
	for name, v := range map[string]string{"parent_file_path": i.Parent, "trigger_file_path": i.Trigger} {
		if v != "" {
			fields[name] = v
		}
	}
	if len(i.Globs) > 0 {
		fields["globs"] = i.Globs
	}
	h.running.Go(func() { h.fire(h.s.Life, occasion{event: "InstructionsLoaded", subject: i.Reason, fields: fields}) })
}

// DirChanged reports that the shell works in another folder now.
func (h *Hooks) DirChanged(before, now string) {
	if before != now && h.Any("CwdChanged") {
		h.watch(h.shown(h.fire(h.s.Life, occasion{event: "CwdChanged", fields: map[string]any{
			"old_cwd": before,
			"new_cwd": now,
		}})))
	}
}

// DirectoryAdded reports one more folder of the session; the source is command, flag or settings.
func (h *Hooks) DirectoryAdded(dir, source string) {
	if h != nil {
		h.shown(h.fire(h.s.Life, occasion{event: "DirectoryAdded", subject: source, fields: map[string]any{
			"directory": dir, "source": source,
		}}))
	}
}

// shown tells the user what hooks that decide nothing print when they exit with 2.
func (h *Hooks) shown(runs []Run) []Run {
	for _, r := range runs {
		if r.Exit == 2 && r.Err == nil {
			h.warn(cmp.Or(r.Stderr, "the hook "+r.Handler.name("")+" ended with exit code 2"))
		}
	}
	return runs
}

// Elicit asks the hooks to answer a question of an MCP server in the user's place: accept, decline or cancel, and with
// accept the content; ok is false where none does. The fields are message, mode, url, elicitation_id and
// requested_schema, as far as the question has them.
func (h *Hooks) Elicit(ctx context.Context, server string, fields map[string]any) (action string,
	content json.RawMessage, ok bool,
) {
	return h.elicitation(ctx, "Elicitation", server, fields)
}

// ElicitResult lets the hooks replace the user's answer before the server gets it; ok is false where none does.
func (h *Hooks) ElicitResult(ctx context.Context, server string, fields map[string]any) (action string,
	content json.RawMessage, ok bool,
) {
	return h.elicitation(ctx, "ElicitationResult", server, fields)
}

func (h *Hooks) elicitation(ctx context.Context, name, server string, fields map[string]any) (action string,
	content json.RawMessage, ok bool,
) {
	if !h.Any(name) || isWithin(ctx) {
		return "", nil, false
	}
	in := map[string]any{"mcp_server_name": server}
	maps.Copy(in, fields)
	strict := map[string]int{"accept": 1, "cancel": 2, "decline": 3}
	for _, r := range h.fire(ctx, occasion{event: name, subject: server, fields: in}) {
		a, c := r.Output.Specific.Action, r.Output.Specific.Content
		if _, bad := r.blocked(); bad {
			a, c = "decline", nil
		}
		if strict[a] > strict[action] {
			action, content, ok = a, c, true
		}
	}
	return action, content, ok
}
