package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

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

// Expand asks the hooks of UserPromptExpansion; a refusal is the error. The part is for the model, nil if there is none.
func (h *Hooks) Expand(ctx context.Context, e Expansion) (llm.Part, error) {
	const name = "UserPromptExpansion"
	if !h.Any(name) {
		return nil, nil
	}
	runs := h.fire(ctx, occasion{event: name, subject: e.Name, fields: map[string]any{
		"expansion_type": e.Type, "command_name": e.Name, "command_args": e.Args, "command_source": e.Source, "prompt": e.Prompt,
	}})
	if why, ok := refused(runs); ok {
		return nil, fmt.Errorf("a hook refused /%s: %s", e.Name, why)
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
	for name, v := range map[string]string{"task_description": t.Description, "teammate_name": t.Teammate, "team_name": t.Team} {
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

// TeammateIdle asks the hooks about a worker that has nothing left to do; the error is why it works on.
func (h *Hooks) TeammateIdle(ctx context.Context, teammate, team string) error {
	return h.permits(ctx, occasion{event: "TeammateIdle", fields: map[string]any{"teammate_name": teammate, "team_name": team}}, "go on")
}

// permits fires an event whose hooks may refuse it. The error has the consequence and the reason.
func (h *Hooks) permits(ctx context.Context, o occasion, consequence string) error {
	if !h.Any(o.event) || isWithin(ctx) {
		return nil
	}
	if why, ok := refused(h.fire(ctx, o)); ok {
		return fmt.Errorf("%s: a hook of %s says: %s", consequence, o.event, why)
	}
	return nil
}

// ConfigChange asks the hooks whether changes of settings may take effect, once for each file; the error is a refusal. Changes of
// the organisation's settings cannot be refused. Only the main conversation asks.
func (h *Hooks) ConfigChange(changes []config.Change) error {
	if !h.Any("ConfigChange") || h.child() {
		return nil
	}
	var errs []error
	asked := map[string]bool{}
	for _, c := range changes {
		source := sourceOf(c.Origin.Layer)
		if key := source + c.Origin.File; source == "" || asked[key] || c.Err != nil {
			continue
		} else {
			asked[key] = true
		}
		fields := map[string]any{"source": source}
		if c.Origin.File != "" {
			fields["file_path"] = c.Origin.File
		}
		err := h.permits(h.s.Life, occasion{event: "ConfigChange", subject: source, fields: fields}, "the changed settings do not count")
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

// BeginNow fires the events of the beginning of a session without a prompt. Their texts for the model are lost.
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
	return contexts("Setup", h.shown(h.fire(ctx, occasion{event: "Setup", subject: trigger, fields: map[string]any{"trigger": trigger}})))
}

// InstructionsLoaded reports a file of instructions that the model gets: User, Project, Local or Managed, and session_start,
// nested_traversal, path_glob_match, include or compact as the reason. It waits for nothing.
func (h *Hooks) InstructionsLoaded(path, kind, reason string) {
	if h.Any("InstructionsLoaded") {
		h.running.Go(func() {
			h.fire(h.s.Life, occasion{event: "InstructionsLoaded", subject: reason, fields: map[string]any{
				"file_path": path, "memory_type": kind, "load_reason": reason,
			}})
		})
	}
}

// CreateWorktree has the hooks of WorktreeCreate make a worktree in the place of git. ok is false where there are none.
func (h *Hooks) CreateWorktree(ctx context.Context, name string) (path string, ok bool, err error) {
	if !h.Any("WorktreeCreate") {
		return "", false, nil
	}
	for _, r := range h.fire(ctx, occasion{event: "WorktreeCreate", fields: map[string]any{"name": name}}) {
		if r.Err != nil || r.Exit != 0 {
			why := cmp.Or(r.Stderr, "it gave no reason")
			if r.Err != nil {
				why = r.Err.Error()
			}
			return "", true, fmt.Errorf("the hook %s made no worktree: %s", r.Handler.Text(), why)
		}
		path = cmp.Or(path, r.Output.Specific.WorktreePath, lastLine(r.Text))
	}
	if path == "" {
		return "", true, errors.New("the hooks of WorktreeCreate printed no path; the last line of their output must be the folder that they made")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.s.Dir(), path)
	}
	return path, true, nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// WorktreeRemoved reports a worktree that is no longer used; true: hooks take care of it.
func (h *Hooks) WorktreeRemoved(ctx context.Context, path string) bool {
	if !h.Any("WorktreeRemove") {
		return false
	}
	h.shown(h.fire(ctx, occasion{event: "WorktreeRemove", fields: map[string]any{"worktree_path": path}}))
	return true
}

// DirChanged reports that the shell works in another folder now.
func (h *Hooks) DirChanged(before, now string) {
	if before != now && h.Any("CwdChanged") {
		h.watch(h.shown(h.fire(h.s.Life, occasion{event: "CwdChanged", fields: map[string]any{"old_cwd": before, "new_cwd": now}})))
	}
}

// DirectoryAdded reports one more folder of the session; the source is command, flag or settings.
func (h *Hooks) DirectoryAdded(dir, source string) {
	if h.Any("DirectoryAdded") {
		h.shown(h.fire(h.s.Life, occasion{event: "DirectoryAdded", subject: source, fields: map[string]any{"directory": dir, "source": source}}))
	}
}

// FileChanged reports a change of a file: change, add or unlink.
func (h *Hooks) FileChanged(ctx context.Context, path, how string) {
	if h.Any("FileChanged") {
		h.watch(h.shown(h.fire(ctx, occasion{event: "FileChanged", subject: path, fields: map[string]any{"file_path": path, "event": how}})))
	}
}

// Watched lists the files that hooks want to hear about: the names that their matchers have, in the working folder, and absolute paths.
func (h *Hooks) Watched() (names []string) {
	if h == nil {
		return nil
	}
	for _, handler := range h.handlers("FileChanged") {
		for name := range strings.FieldsFuncSeq(handler.Matcher, func(r rune) bool { return r == '|' || r == ',' }) {
			names = append(names, strings.TrimSpace(name))
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	names = append(names, h.watched...)
	slices.Sort(names)
	return slices.Compact(names)
}

// watch keeps the files that hooks ask to be watched.
func (h *Hooks) watch(runs []Run) {
	for _, r := range runs {
		for _, p := range r.Output.Specific.WatchPaths {
			if filepath.IsAbs(p) {
				h.mu.Lock()
				h.watched = append(h.watched, filepath.Clean(p))
				h.mu.Unlock()
			}
		}
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

// Elicited is the answer to a question of a server.
type Elicited struct {
	Action  string // accept, decline or cancel
	Content json.RawMessage
}

// Elicit asks the hooks to answer a question of an MCP server in the user's place; ok is false where none does. The fields are message,
// mode, url, elicitation_id and requested_schema, as far as the question has them.
func (h *Hooks) Elicit(ctx context.Context, server string, fields map[string]any) (Elicited, bool) {
	return h.elicitation(ctx, "Elicitation", server, fields)
}

// ElicitResult lets the hooks replace the user's answer before the server gets it; ok is false where none does.
func (h *Hooks) ElicitResult(ctx context.Context, server string, fields map[string]any) (Elicited, bool) {
	return h.elicitation(ctx, "ElicitationResult", server, fields)
}

func (h *Hooks) elicitation(ctx context.Context, name, server string, fields map[string]any) (out Elicited, ok bool) {
	if !h.Any(name) || isWithin(ctx) {
		return out, false
	}
	in := map[string]any{"mcp_server_name": server}
	maps.Copy(in, fields)
	strict := map[string]int{"accept": 1, "cancel": 2, "decline": 3}
	for _, r := range h.fire(ctx, occasion{event: name, subject: server, fields: in}) {
		answer := Elicited{Action: r.Output.Specific.Action, Content: r.Output.Specific.Content}
		if _, bad := r.blocked(); bad || r.Exit == 2 {
			answer = Elicited{Action: "decline"}
		}
		if strict[answer.Action] > strict[out.Action] {
			out, ok = answer, true
		}
	}
	return out, ok
}
