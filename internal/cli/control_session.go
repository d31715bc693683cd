package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/agent/hook"
	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/tool"
)

// sessionRequests are the control requests about the session, its settings and its files.
var sessionRequests = map[string]func(*local, context.Context, controlRequest) (any, error){
	"set_max_thinking_tokens": (*local).setThinking,
	"get_context_usage":       (*local).contextUsage,
	"apply_flag_settings":     (*local).applySettings,
	"update_settings":         (*local).updateSettings,
	"stop_task":               (*local).stopTask,
	"background_tasks":        (*local).toBackground,
	"get_task_output":         (*local).taskOutput,
	"seed_read_state":         (*local).seedRead,
	"read_file":               (*local).readFile,
	"rewind_files":            (*local).rewindFiles,
	"rename_session":          (*local).rename,
	"generate_session_title":  (*local).makeTitle,
	"get_usage":               (*local).usage,
	"get_settings":            (*local).settings,
	"get_status":              (*local).status,
	"list_models":             (*local).models,
	"list_permission_rules":   (*local).permissionRules,
	"set_cwd":                 (*local).setDir,
	"reload_plugins":          (*local).reloadPlugins,
	"reload_skills":           (*local).reloadSkills,
	"reload_output_styles":    (*local).reloadStyles,
	"get_binary_version":      (*local).version,
}

// Control serves a control request.
func (l *local) Control(ctx context.Context, r controlRequest) (any, error) {
	return sessionRequests[r.Subtype](l, ctx, r)
}

// setThinking sets the budget for thinking: 0 turns it off, null gives the settings their say again.
func (l *local) setThinking(_ context.Context, r controlRequest) (any, error) {
	value := []byte("null")
	if r.MaxThinking != nil {
		if *r.MaxThinking < 0 {
			return nil, fmt.Errorf("max_thinking_tokens: %d is less than 0", *r.MaxThinking)
		}
		value = fmt.Append(nil, *r.MaxThinking)
	}
	_, err := l.inst.Amend(json.RawMessage(`{"maxThinkingTokens":` + string(value) + `}`))
	return nil, err
}

// applySettings puts settings in force for this process; the model and the effort count for the next request.
func (l *local) applySettings(ctx context.Context, r controlRequest) (any, error) {
	var set map[string]json.RawMessage
	if err := json.Unmarshal(r.Settings, &set); err != nil {
		return nil, fmt.Errorf("apply_flag_settings: the settings are not an object: %w", err)
	}
	var model, effort *string
	for key, into := range map[string]**string{"model": &model, "effortLevel": &effort} {
		if raw, ok := set[key]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return nil, fmt.Errorf("apply_flag_settings: %s is not a text: %w", key, err)
			}
			delete(set, key)
			if *into == nil {
				*into = new(string)
			}
		}
	}
	if raw, ok := set["sandbox"]; ok && !isEmptyJSON(raw) {
		return nil, errors.New("apply_flag_settings: sandbox: it is chosen when lathe starts; use --sandbox or --settings")
	}
	rest, err := json.Marshal(set)
	if err == nil {
		_, err = l.inst.Amend(rest)
	}
	if err == nil && model != nil {
		err = l.front().SetModel(ctx, *model)
	}
	if err == nil && effort != nil {
		l.front().SetEffort(llm.Effort(*effort))
	}
	return nil, err
}

func (l *local) stopTask(ctx context.Context, r controlRequest) (any, error) {
	_, err := l.front().Env().Agents.Tasks.Stop(ctx, r.TaskID)
	if errors.Is(err, subagent.ErrNoTask) {
		_, err = l.front().Env().Background.Kill(ctx, r.TaskID)
	}
	if errors.Is(err, tool.ErrNoShell) { // it has ended, which is what the host wants
		err = nil
	}
	return nil, err
}

// toBackground lets the commands and agents that calls wait for go on while the turn does.
func (l *local) toBackground(_ context.Context, r controlRequest) (any, error) {
	wanted := []string{r.ToolUseID}
	if r.ToolUseID == "" {
		wanted = l.front().Env().InFront()
	}
	moved := r.ToolUseID == "" // all that run, even where nothing does
	for _, id := range wanted {
		moved = l.front().Env().Detach(id) || moved
	}
	return map[string]any{"backgrounded": moved}, nil
}

// outputLimit is how much of a task's output or a file one answer carries.
const outputLimit = 1 << 20

func (l *local) taskOutput(_ context.Context, r controlRequest) (any, error) {
	if now, err := l.front().Env().Agents.Tasks.Get(r.TaskID); err == nil {
		text := now.Answer
		if now.Working() {
			text = strings.Join(tool.AgentCalls(l.front().Env().Agents.Tasks.Messages(now.ID), 20), "\n")
		}
		return map[string]any{"output": text, "total_bytes": len(text), "truncated": false}, nil
	}
	for _, t := range l.front().Env().Background.List() {
		if t.ID != r.TaskID {
			continue
		}
		if t.Output == "" {
			return nil, fmt.Errorf("get_task_output: %s still runs; its output is there when it has ended", t.ID)
		}
		data, _, more, err := l.front().ReadFile(t.Output, outputLimit)
		text, _ := plainText(string(data))
		return map[string]any{"output": text, "total_bytes": t.Size, "truncated": more}, err
	}
	return nil, fmt.Errorf("get_task_output: there is no task %q", r.TaskID)
}

func (l *local) seedRead(_ context.Context, r controlRequest) (any, error) {
	seeded, err := l.front().Seed(r.Path, time.UnixMilli(int64(r.Mtime)))
	return map[string]any{"seeded": seeded}, err
}

func (l *local) readFile(_ context.Context, r controlRequest) (any, error) {
	limit := cmp.Or(min(r.MaxBytes, 16*outputLimit), outputLimit)
	data, real, more, err := l.front().ReadFile(r.Path, max(1, limit))
	if err != nil {
		return nil, fmt.Errorf("read_file: %w", err)
	}
	out := map[string]any{"absPath": real}
	if more {
		out["truncated"] = true
	}
	if r.Encoding == "base64" {
		out["contents"], out["encoding"] = base64.StdEncoding.EncodeToString(data), "base64"
		return out, nil
	}
	if !utf8.Valid(data) {
		out["lossy"] = true
	}
	out["contents"], _ = plainText(string(data))
	return out, nil
}

func (l *local) rename(ctx context.Context, r controlRequest) (any, error) {
	log := l.front().Log()
	if r.Title == "" || log == nil {
		return nil, errors.New("rename_session: there is no title, or no session to name")
	}
	return nil, log.SetTitle(ctx, r.Title)
}

// makeTitle asks the small model for a title, and keeps it unless the host does not want that.
func (l *local) makeTitle(ctx context.Context, r controlRequest) (any, error) {
	title, err := l.commands.Title(ctx, r.Description, r.Persist == nil || *r.Persist)
	if err != nil {
		return nil, fmt.Errorf("generate_session_title: %w", err)
	}
	return map[string]any{"title": title}, nil
}

func (l *local) settings(context.Context, controlRequest) (any, error) {
	s, cfg := l.front(), l.inst.Config()
	sources := []map[string]any{}
	for _, f := range cfg.Files() {
		if f.Found {
			sources = append(sources, map[string]any{"source": f.Layer.String(), "path": f.Path})
		}
	}
	return map[string]any{
		"effective": json.RawMessage(cfg.JSON()), "sources": sources,
		"applied": map[string]any{"model": s.Model().ID, "effort": s.Effort(), "permissionMode": s.Mode()},
	}, nil
}

func (l *local) status(context.Context, controlRequest) (any, error) { return l.commands.Status(), nil }

func (l *local) models(context.Context, controlRequest) (any, error) {
	return map[string]any{"models": modelList(l.About())}, nil
}

type ruleEntry struct {
	Behavior string          `json:"behavior"`
	Source   string          `json:"source"`
	Rule     hook.UpdateRule `json:"rule"`
}

func (l *local) permissionRules(context.Context, controlRequest) (any, error) {
	s, rules := l.front(), []ruleEntry{}
	for _, r := range s.Rules() {
		rules = append(rules, ruleEntry{string(r.Effect), r.Source.Name, hook.RuleOf(r.Text)})
	}
	dirs := []map[string]any{}
	for _, d := range s.Dirs() {
		dirs = append(dirs, map[string]any{"path": d})
	}
	return map[string]any{"state": map[string]any{
		"rules": rules, "workspaceDirectories": dirs, "originalCwd": l.inst.Dir(), "managedOnly": false,
	}}, nil
}

func (l *local) setDir(_ context.Context, r controlRequest) (any, error) {
	dir, err := l.front().SetDir(cmp.Or(r.Dir, r.Path))
	if err != nil {
		return nil, fmt.Errorf("set_cwd: %w", err)
	}
	return map[string]any{"cwd": dir}, nil
}

// reloadPlugins reads the settings and the plugins again.
func (l *local) reloadPlugins(context.Context, controlRequest) (any, error) {
	if _, err := l.inst.Reload(); err != nil {
		return nil, err
	}
	l.inst.Extensions().Plugins.Reload()
	a := l.parts(l.front())
	return map[string]any{
		"commands": described(a.Commands), "agents": describedAgents(a.Agents), "plugins": a.Plugins,
		"mcpServers": orEmpty(a.Servers), "error_count": len(l.inst.Extensions().Plugins.Notes()),
	}, nil
}

func (l *local) reloadSkills(context.Context, controlRequest) (any, error) {
	_, err := l.inst.Reload()
	return map[string]any{"skills": described(fileCommands(l.inst.Extensions().Skills.Catalog().All()))}, err
}

func (l *local) reloadStyles(context.Context, controlRequest) (any, error) {
	_, err := l.inst.Reload()
	return map[string]any{"available_output_styles": l.styleNames()}, err
}

func (l *local) version(context.Context, controlRequest) (any, error) {
	return map[string]any{"version": first(currentVersion())}, nil
}
