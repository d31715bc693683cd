package cli

import (
	"cmp"
	"errors"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/extend/style"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/session"
	"github.com/lathe-dev/lathe/internal/store/transcript"
)

// printer shows a conversation in one of the output formats.
type printer interface {
	begin(a About) error // before each turn
	event(e event.Event) error
	finish(t *resultStats, o *outcome) error // after each turn
	close() error
}

// streamPrinter prints stream-json, or with only set the result alone (json).
type streamPrinter struct {
	w       *lineWriter
	only    bool // the result line and nothing else
	partial *partials
	replay  bool
	hooks   bool // print the runs of hooks
	about   About
	notices []string             // warnings from before the first turn
	turn    bool                 // the turn began; earlier changes are in the first line
	mode    permission.Mode      // as last printed
	usage   map[string]llm.Usage // of a reply, by its id: "Started" knows it first
	ready   []event.PartReady    // whole, and nothing came after them
	shown   map[partID]bool      // parts that were printed before their PartDone
	working *toolProgress
	agents  agentRuns
	now     func() time.Time
}

// partID is a part of a reply.
type partID struct {
	message string
	index   int
}

func newStreamPrinter(w *lineWriter, o *Options, warnings []string) *streamPrinter {
	p := &streamPrinter{
		w: w, replay: o.Replay, hooks: o.HookEvents, notices: warnings, usage: map[string]llm.Usage{},
		shown: map[partID]bool{}, now: time.Now,
	}
	p.working = newToolProgress(w, toolProgressEvery)
	if o.OutputFormat == "json" {
		p.only = !o.Verbose
		w.array = o.Verbose
	}
	if o.Partial {
		p.partial = &partials{write: func(v any, ttft *int64) error {
			return w.write(&streamLine{Type: "stream_event", Event: v, TTFT: ttft})
		}}
	}
	return p
}

func (p *streamPrinter) begin(a About) error {
	p.about, p.w.session = a, a.Session
	p.turn, p.mode = false, a.Mode
	if p.only {
		return nil
	}
	parts := a.parts()
	err := p.w.write(&initLine{
		Type: "system", Subtype: "init", Dir: a.Dir, Tools: orEmpty(parts.Tools), MCPServers: orEmpty(parts.Servers),
		Model: a.Model, PermissionMode: string(a.Mode), SlashCommands: names(parts.Commands), APIKeySource: a.KeySource,
		Version:     protocolVersion,
		OutputStyle: cmp.Or(a.Style, style.Default), Agents: names(parts.Agents), Skills: orEmpty(parts.Skills),
		Plugins: orEmpty(parts.Plugins), Capabilities: capabilities,
		Held:  a.Held,
		Betas: a.Betas,
	})
	for _, text := range p.notices {
		err = joinErrors(err, p.w.write(&informationalLine{
			Type: "system", Subtype: "informational", Content: text,
			Level: "warning",
		}))
	}
	p.notices = nil
	return err
}

func (p *streamPrinter) close() error { return p.w.end() }

func (p *streamPrinter) finish(t *resultStats, o *outcome) error {
	p.working.stop()
	if p.partial != nil {
		if err := p.partial.abandon(); err != nil {
			return err
		}
	}
	if o.api != nil && !p.only {
		if err := p.apiError(o.api); err != nil {
			return err
		}
	}
	clear(p.usage)
	clear(p.shown)
	p.ready = nil
	if text := interruption(o, t.streaming); text != "" && !p.only {
		if err := p.w.write(&userLine{Type: "user", Message: wireUser{"user", []any{textBlock{"text", text}}}}); err != nil {
			return err
		}
	}
	return p.w.write(t.result(o))
}

// interruption is the conversation's text at an interrupt or refusal by the user; "" without one.
func interruption(o *outcome, streaming bool) string {
	switch {
	case o.end.Reason == event.EndRefused, o.end.Reason == event.EndInterrupted && !streaming:
		return "[Request interrupted by user for tool use]"
	case o.end.Reason == event.EndInterrupted:
		return "[Request interrupted by user]"
	}
	return ""
}

// apiError is the message that represents the reply that never came.
func (p *streamPrinter) apiError(e *llm.Error) error {
	stop := "stop_sequence"
	return p.w.write(&assistantLine{Type: "assistant", Error: errorName(e.Kind), Message: wireMessage{
		ID: "msg_" + p.w.uuid(), Type: "message", Role: "assistant", Model: "<synthetic>", StopReason: &stop,
		Content: []any{textBlock{"text", "API Error: " + e.Error()}},
	}})
}

func (p *streamPrinter) event(e event.Event) error {
	if p.only {
		return nil
	}
	if p.partial != nil && len(e.Agent) == 0 {
		if err := p.partial.event(e); err != nil {
			return err
		}
	}
	parent := parentOf(e.Agent)
	if err := p.agent(e); err != nil {
		return err
	}
	switch b := e.Body.(type) {
	case event.Delta:
		switch d := b.Delta.(type) {
		case llm.Started:
			p.usage[b.MessageID] = d.Usage
		case llm.ToolDelta:
			return p.early(parent)
		}
	case event.PartReady:
		p.ready = append(p.ready, b)
	case event.PartDone:
		p.ready = nil
		if p.shown[partID{b.MessageID, b.Index}] {
			return nil
		}
		return p.part(b, parent)
	case event.StepStart:
		return p.requesting(e)
	case event.ToolStart:
		p.working.begin(b.Call, parent)
	case event.ToolEnd:
		p.working.end(b.Call.ID)
		l := toolResultLine(e, b, parent)
		l.agentFields = p.agents.fields(parent)
		return p.w.write(l)
	case event.UserMessage:
		return p.user(b, parent)
	case event.Retry:
		p.ready = nil
		return p.retry(b)
	case event.Denied:
		return p.w.write(&deniedLine{
			Type: "system", Subtype: "permission_denied", Tool: b.Call.Name, ToolUseID: b.Call.ID,
			AgentID:    cmp.Or(p.agents.fields(parent).ID, event.CallOf(e.Agent)),
			ReasonType: reasonType(b), Reason: b.Decision.Rule, Message: b.Decision.Reason,
		})
	case event.HookStart, event.HookRun:
		return p.hook(b)
	case event.Notice:
		return p.w.write(&informationalLine{Type: "system", Subtype: "informational", Content: b.Text, Level: level(b.Level)})
	case event.Compacting:
		status := "compacting"
		return p.w.write(&statusLine{Type: "system", Subtype: "status", Status: &status})
	case event.Compacted:
		return p.compacted(b)
	case event.Background:
		return p.background(b)
	case event.EvalStart:
		return p.w.write(&evalLine{Type: "system", Subtype: "eval_start", Parent: parent, Eval: b})
	case event.EvalVerdict:
		return p.w.write(&evalLine{Type: "system", Subtype: "eval_judge_verdict", Parent: parent, Eval: b})
	case event.EvalComplete:
		return p.w.write(&evalLine{Type: "system", Subtype: "eval_complete", Parent: parent, Eval: b})
	case event.Goal:
		return p.goal(b)
	case event.ModelFallback:
		return p.w.write(&fallbackLine{Type: "system", Subtype: "model_fallback", From: b.From, To: b.To, Reason: b.Reason})
	case event.TurnStart:
		p.turn = p.turn || len(e.Agent) == 0
	case event.TurnEnd:
		p.turn = p.turn && len(e.Agent) > 0
	case event.ModeChanged:
		return p.modeChanged(b.Mode)
	}
	return nil
}

// compacted marks the place from which the model has less before it.
func (p *streamPrinter) compacted(b event.Compacted) error {
	if err := p.w.write(&statusLine{Type: "system", Subtype: "status"}); err != nil || b.Level == 0 {
		return err
	}
	return p.w.write(&compactLine{
		Type: "system", Subtype: "compact_boundary",
		Metadata: compactMetadata{Trigger: b.Trigger, Before: b.Before, After: b.After, Level: b.Level},
	})
}

// modeChanged reports a mode that changes while a turn runs.
func (p *streamPrinter) modeChanged(m permission.Mode) error {
	if !p.turn || m == p.mode {
		return nil
	}
	p.mode = m
	return p.w.write(&statusLine{Type: "system", Subtype: "status", PermissionMode: string(m)})
}

// early prints parts that are whole when a call begins to stream, which may take long. Until the reply is whole, or
// its first call, a retry can still make them void.
func (p *streamPrinter) early(parent *string) error {
	var err error
	for _, b := range p.ready {
		p.shown[partID{b.MessageID, b.Index}] = true
		err = joinErrors(err, p.part(event.PartDone(b), parent))
	}
	p.ready = nil
	return err
}

// requesting reports a request to readers of partial messages.
func (p *streamPrinter) requesting(e event.Event) error {
	if p.partial == nil || len(e.Agent) > 0 {
		return nil
	}
	status := "requesting"
	return p.w.write(&statusLine{Type: "system", Subtype: "status", Status: &status})
}

// part prints a complete part as its own message; parts of one reply share its id.
func (p *streamPrinter) part(b event.PartDone, parent *string) error {
	block := blockOf(b.Part)
	if block == nil {
		return nil
	}
	u := b.Usage
	if u == (llm.Usage{}) {
		u = p.usage[b.MessageID]
	}
	return p.w.write(&assistantLine{
		Type: "assistant", Parent: parent, agentFields: p.agents.fields(parent),
		stamped: stamped{UUID: transcript.LineID(b.MessageID, b.Index)}, Message: wireMessage{
			ID: b.MessageID, Type: "message", Role: "assistant", Model: b.Model, Content: []any{block}, Usage: usageOf(u),
		},
	})
}

// user prints messages that lathe wrote for the user, and with replay the user's own.
func (p *streamPrinter) user(b event.UserMessage, parent *string) error {
	if !b.Synthetic && !p.replay && parent == nil { // an agent's task is shown always
		return nil
	}
	typed := b.Message
	if !b.Synthetic {
		typed = session.StripContext(b.Message)
	}
	l := &userLine{
		Type: "user", Parent: parent, Synthetic: b.Synthetic, Replay: !b.Synthetic && parent == nil,
		agentFields: p.agents.fields(parent),
		Message:     wireUser{"user", contentOf(typed.Parts)},
	}
	if !b.Synthetic {
		l.UUID = b.Message.ID
	}
	return p.w.write(l)
}

func (p *streamPrinter) retry(b event.Retry) error {
	l := &retryLine{
		Type: "system", Subtype: "api_retry", Attempt: b.Attempt, Max: b.Max, Delay: ms(b.Delay),
		Error: errorName(statusKind(b.Status)),
	}
	if b.Status != 0 {
		l.Status = &b.Status
	}
	return p.w.write(l)
}

// statusKind is the kind of failure that an HTTP status represents.
func statusKind(status int) llm.ErrorKind {
	switch {
	case status == 429:
		return llm.KindRateLimit
	case status == 529:
		return llm.KindOverloaded
	case status >= 500:
		return llm.KindServer
	}
	return llm.KindNetwork
}

func reasonType(b event.Denied) string {
	switch {
	case b.Decision.Rule != "":
		return "rule"
	case b.Decision.Guidance != "" || b.Decision.Interrupt:
		return "permissionPromptTool"
	}
	return "mode"
}

// level is a notice's level in Claude Code's words.
func level(s string) string {
	if s == "warning" || s == "error" {
		return "warning"
	}
	return "info"
}

func parentOf(agent []string) *string {
	id := event.CallOf(agent)
	if id == "" {
		return nil
	}
	return &id
}

func names(ds []Described) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d.Name
	}
	return out
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// joinErrors keeps the first failure of a printer over later ones, and repeats none.
func joinErrors(errs ...error) error {
	var all []error
	for _, e := range errs {
		switch {
		case e == nil:
		case errors.Is(e, errBrokenPipe):
			return e
		case !errors.Is(errors.Join(all...), e):
			all = append(all, e)
		}
	}
	return errors.Join(all...)
}

// capabilities are the parts of the protocol that hosts may ask for.
var capabilities = []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1", "mcp_read_resource_v1"}
