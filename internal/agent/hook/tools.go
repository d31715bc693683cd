package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
)

// Install adds the hooks of tool calls, prompts and the end of turns to the configuration of a loop.
func (h *Hooks) Install(cfg *agent.Config) {
	if h == nil {
		return
	}
	cfg.BeforeTool = append(cfg.BeforeTool, agent.BeforeTool{Name: "PreToolUse", Run: h.beforeTool})
	cfg.AfterTool = append(cfg.AfterTool, agent.AfterTool{Name: "PostToolUse", Run: h.afterTool})
	cfg.BeforeStop = append(cfg.BeforeStop, agent.BeforeStop{Name: "Stop", Run: h.beforeStop})
	cfg.BeforeStep = append(cfg.BeforeStep, agent.BeforeStep{Name: "hooks", Run: h.beforeStep})
	cfg.Admit = h.admit
	cfg.Display = h.display
	if attach := cfg.Attach; attach != nil && h.s.Expand != nil {
		cfg.Attach = func(ctx context.Context, m llm.Message) llm.Message { return h.attach(ctx, m, attach) }
	}
}

// beforeTool has the hooks of PreToolUse judge a call.
func (h *Hooks) beforeTool(ctx context.Context, call llm.ToolCall) (agent.Verdict, error) {
	if !h.Any("PreToolUse") || isWithin(ctx) {
		return agent.Verdict{}, nil
	}
	runs := h.fire(ctx, occasion{event: "PreToolUse", subject: call.Name, fields: h.callFields(call), call: &call})
	names, verdicts := make([]string, len(runs)), make([]agent.Verdict, len(runs))
	for i, r := range runs {
		names[i], verdicts[i] = r.Handler.Text(), r.before()
	}
	h.deferred(call, runs, verdicts)
	merged, err := agent.MergeVerdicts(names, verdicts)
	if err != nil { // two that change the input
		return agent.Verdict{Effect: permission.Deny, Reason: err.Error()}, nil
	}
	out := agent.Verdict{Effect: merged.Effect, Reason: merged.Reason, Input: merged.Input}
	var texts []string
	for _, v := range verdicts {
		if v.Context != "" {
			texts = append(texts, v.Context)
		}
		out.Stop = cmp.Or(out.Stop, v.Stop)
	}
	out.Context = strings.Join(texts, "\n")
	return out, nil
}

// before is the verdict of one handler on a call that has not run.
func (r Run) before() agent.Verdict {
	s := r.Output.Specific
	v := agent.Verdict{Input: s.UpdatedInput, Context: s.AdditionalContext, Reason: s.PermissionReason}
	switch s.PermissionDecision {
	case "allow":
		v.Effect = permission.Allow
	case "ask", "defer":
		v.Effect = permission.Ask
	case "deny":
		v.Effect = permission.Deny
	default:
		if d := r.Output.Decision; d == "approve" || d == "allow" {
			v.Effect, v.Reason = permission.Allow, r.Output.Reason
		}
	}
	if why, ok := r.blocked(); ok {
		v.Effect, v.Reason = permission.Deny, cmp.Or(s.PermissionReason, why)
	}
	if why, ok := r.stops(); ok {
		v.Effect, v.Reason, v.Stop = permission.Deny, why, why
	}
	return v
}

// afterTool hands the result of a call to the hooks of PostToolUse, or of PostToolUseFailure.
func (h *Hooks) afterTool(ctx context.Context, call llm.ToolCall, res *agent.Result) (agent.Verdict, error) {
	o := occasion{event: "PostToolUse", subject: call.Name, call: &call}
	if res.IsError {
		o.event = "PostToolUseFailure"
	}
	if isWithin(ctx) {
		return agent.Verdict{}, nil
	}
	if h.Any("PostToolBatch") {
		defer h.keep(call, res)
	}
	if !h.Any(o.event) {
		return agent.Verdict{}, nil
	}
	o.fields = h.callFields(call)
	o.fields["duration_ms"] = res.Took.Milliseconds()
	if res.IsError {
		o.fields["error"], o.fields["is_interrupt"] = textOf(res), ctx.Err() != nil
	} else {
		o.fields["tool_response"] = textOf(res)
		if len(res.Meta) > 0 { // the tool's own object
			o.fields["tool_response"] = res.Meta
		}
	}
	var v agent.Verdict
	var texts []string
	for _, r := range h.fire(context.WithoutCancel(ctx), o) {
		if why, ok := r.blocked(); ok {
			texts = append(texts, why)
		}
		texts = append(texts, r.context())
		if why, ok := r.stops(); ok {
			v.Stop = cmp.Or(v.Stop, why)
		}
		h.replace(ctx, res, r.Output.Specific)
		h.advise(r)
	}
	v.Context = joined(texts)
	return v, nil
}

// mostAdvice is how many texts for the model that judges permissions are kept; the newest count.
const mostAdvice = 10

// advise keeps a text for the model that judges permissions. One of a project or a plugin has none, since it could
// loosen the judgement.
func (h *Hooks) advise(r Run) {
	text := r.Output.Specific.ClassifierContext
	if text == "" || r.Handler.place.Foreign {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advice = append(h.advice, text)
	h.advice = h.advice[max(0, len(h.advice)-mostAdvice):]
}

// Advice is the text of the user's hooks for the model that judges permissions.
func (h *Hooks) Advice() string {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.advice, "\n")
}

// keep adds a call to those that PostToolBatch hears of.
func (h *Hooks) keep(call llm.ToolCall, res *agent.Result) {
	fields := h.callFields(call)
	fields["tool_response"] = textOf(res)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.batch = append(h.batch, fields)
}

// textOf is the text of a result.
func textOf(res *agent.Result) string {
	var b strings.Builder
	for _, p := range res.Parts {
		if t, ok := p.(llm.Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// replace puts another output in the place of a result's, for the model.
func (h *Hooks) replace(ctx context.Context, res *agent.Result, s Specific) {
	raw := s.UpdatedOutput
	if raw == nil {
		raw = s.UpdatedMCPOutput
	}
	if raw == nil {
		return
	}
	text := string(raw)
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		text = plain
	}
	res.Parts = []llm.Part{llm.Text{Text: h.kept(ctx, text), Origin: llm.OriginHook}}
	var meta map[string]any
	if json.Unmarshal(raw, &meta) == nil {
		res.Meta = meta
	}
}

func joined(texts []string) string {
	var out []string
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" {
			out = append(out, t)
		}
	}
	return strings.Join(out, "\n")
}
