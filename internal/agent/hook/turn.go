package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// mostBlocks is how many times in a row Stop hooks continue a turn.
const mostBlocks = 8

// reminder is a message of hooks for the model.
func reminder(text string) llm.Text {
	return llm.Text{Text: "<system-reminder>\n" + text + "\n</system-reminder>", Origin: llm.OriginHook}
}

// admit hands a prompt to the hooks, before it is recorded: those of the beginning of the session, then
// UserPromptSubmit. The error is an *agent.Blocked when one refuses it, else the end of ctx: a hook that would have
// refused it was ended.
func (h *Hooks) admit(ctx context.Context, m llm.Message, steered bool) (llm.Message, error) {
	h.mu.Lock()
	h.prompt, h.principal = uuid.NewString(), m.From
	if !steered {
		h.blocks = 0
	}
	h.mu.Unlock()
	if err := h.useAgent(ctx); err != nil {
		return m, &agent.Blocked{Reason: err.Error()}
	}
	parts := h.begin(ctx)
	if !steered {
		more, err := h.goOn(ctx)
		if err != nil {
			return m, err
		}
		parts = append(parts, more...)
	}
	if part, err := h.expanded(); err != nil && ctx.Err() != nil {
		return m, ctx.Err()
	} else if err != nil {
		return m, &agent.Blocked{Reason: err.Error()}
	} else if part != nil {
		parts = append(parts, part)
	}
	if !h.child() && h.Any("UserPromptSubmit") {
		runs := h.fire(ctx, occasion{event: "UserPromptSubmit", fields: map[string]any{"prompt": authored(m)}})
		if why, ok := refused(runs); ok {
			return m, &agent.Blocked{Reason: why, Secret: slices.ContainsFunc(runs,
				func(r Run) bool { return r.Output.Specific.SuppressPrompt })}
		}
		if len(runs) > 0 && ctx.Err() != nil {
			return m, ctx.Err()
		}
		h.name(ctx, runs)
		parts = append(parts, contexts("UserPromptSubmit", runs)...)
	}
	h.mu.Lock()
	h.opening = nil
	h.mu.Unlock()
	if len(parts) > 0 {
		m.Parts = append(parts, m.Parts...)
	}
	return m, nil
}

// attach asks the hooks of UserPromptExpansion before a command becomes its text.
func (h *Hooks) attach(ctx context.Context, m llm.Message,
	next func(context.Context, llm.Message) llm.Message,
) llm.Message {
	h.mu.Lock()
	h.expansion, h.refusal = nil, nil
	h.mu.Unlock()
	if !h.Any("UserPromptExpansion") {
		return next(ctx, m)
	}
	name, args, source, line, ok := h.s.Expand(m)
	if !ok {
		return next(ctx, m)
	}
	kind := "slash_command"
	if source == "mcp" {
		kind = "mcp_prompt"
	}
	part, err := h.Expand(ctx, Expansion{Type: kind, Name: name, Args: args, Source: source, Prompt: line})
	h.mu.Lock()
	h.expansion, h.refusal = part, err
	h.mu.Unlock()
	if err != nil { // admit drops the message
		return m
	}
	return next(ctx, m)
}

// expanded is the result of the hooks of UserPromptExpansion for the present message.
func (h *Hooks) expanded() (llm.Part, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.expansion, h.refusal
}

// refused reports a run that refuses the prompt, or ends everything.
func refused(runs []Run) (string, bool) {
	for _, r := range runs {
		if why, ok := r.stops(); ok {
			return why, true
		}
		if why, ok := r.blocked(); ok {
			return why, true
		}
	}
	return "", false
}

// contexts are the texts of runs for the model: of their JSON, and for some events their plain output.
func contexts(name string, runs []Run) []llm.Part {
	text := joined(gather(runs))
	if text == "" {
		return nil
	}
	return []llm.Part{reminder(name + " hook: " + text)}
}

// authored is the text that somebody wrote.
func authored(m llm.Message) string {
	var texts []string
	for _, p := range m.Parts {
		if t, ok := p.(llm.Text); ok && t.Origin == llm.OriginAuthor {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Begin says how the session began: startup, resume, clear, fork or compact. The hooks run before the next prompt.
func (h *Hooks) Begin(source string) {
	if h != nil {
		h.mu.Lock()
		h.source, h.begun = source, false
		h.mu.Unlock()
	}
}

// begin fires SessionStart, or for a subagent SubagentStart, before its first prompt. Their texts are for the first
// prompt that is not refused.
func (h *Hooks) begin(ctx context.Context) []llm.Part {
	select { // a prompt waits for hooks that run since before it
	case h.beginning <- struct{}{}:
		defer func() { <-h.beginning }()
	case <-ctx.Done():
		return nil
	}
	h.mu.Lock()
	begun, opening := h.begun, slices.Clone(h.opening)
	h.begun = true
	source := cmp.Or(h.source, "startup")
	h.mu.Unlock()
	if begun {
		return opening
	}
	first := h.prepare(ctx)
	o := occasion{event: "SessionStart", subject: source, fields: map[string]any{"source": source}}
	if h.child() {
		o = occasion{event: "SubagentStart", subject: h.s.Agent}
	} else {
		o.fields["model"] = h.s.Model().ID
		if log := h.s.Log(); log != nil && log.Info().Title != "" {
			o.fields["session_title"] = log.Info().Title
		}
	}
	runs := h.fire(ctx, o)
	h.name(ctx, runs)
	h.watch(runs)
	for _, r := range runs {
		if r.Exit == 2 && r.Err == nil {
			h.warn(cmp.Or(r.Stderr, "the hook "+r.Handler.name(source)+" ended with exit code 2"))
		}
	}
	first = append(first, contexts(o.event, runs)...)
	for _, r := range runs {
		if t := r.Output.Specific.FirstMessage; t != "" && !h.s.Interactive && !h.child() {
			first = append(first, llm.Text{Text: t, Origin: llm.OriginHook})
		}
	}
	h.mu.Lock()
	h.opening = slices.Clone(first)
	h.mu.Unlock()
	return first
}

// name gives the session the title that hooks ask for.
func (h *Hooks) name(ctx context.Context, runs []Run) {
	for _, r := range runs {
		if t := r.Output.Specific.SessionTitle; t != "" && h.s.Log() != nil {
			_ = h.s.Log().SetTitle(context.WithoutCancel(ctx), t) // what cannot be written, the journal reports
		}
	}
}

// beforeStep fires PostToolBatch for the calls of the step before, and delivers the texts of asynchronous handlers.
func (h *Hooks) beforeStep(ctx context.Context) ([]llm.Message, error) {
	texts, err := h.afterBatch(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	text := joined(append(texts, h.later...))
	h.later = nil
	if text == "" {
		return nil, nil
	}
	return []llm.Message{{Role: llm.User, Parts: []llm.Part{reminder("Hook: " + text)}}}, nil
}

// afterBatch fires PostToolBatch; one that blocks ends the turn.
func (h *Hooks) afterBatch(ctx context.Context) ([]string, error) {
	h.mu.Lock()
	batch := h.batch
	h.batch = nil
	h.mu.Unlock()
	if len(batch) == 0 || !h.Any("PostToolBatch") {
		return nil, nil
	}
	runs := h.fire(ctx, occasion{event: "PostToolBatch", fields: map[string]any{"tool_calls": batch}})
	if why, ok := refused(runs); ok {
		return nil, &agent.Blocked{Reason: why, Begun: true}
	}
	return gather(runs), nil
}

// gather lists the texts of runs for the model.
func gather(runs []Run) (texts []string) {
	for _, r := range runs {
		texts = append(texts, r.Context())
	}
	return texts
}

func (h *Hooks) crons() []Cron {
	if h.s.Crons == nil {
		return []Cron{}
	}
	return h.s.Crons()
}

// beforeStop lets the hooks of Stop, or for a subagent those of SubagentStop, continue the turn.
func (h *Hooks) beforeStop(ctx context.Context, reply llm.Message) ([]llm.Message, error) {
	o := occasion{event: "Stop"}
	if h.child() {
		o = occasion{event: "SubagentStop", subject: h.s.Agent}
	}
	if !h.Any(o.event) || isWithin(ctx) {
		return nil, nil
	}
	h.mu.Lock()
	active := h.blocks > 0
	h.mu.Unlock()
	o.fields = map[string]any{
		"stop_hook_active": active, "last_assistant_message": reply.PlainText(),
		"background_tasks": h.background(), "session_crons": h.crons(),
	}
	if h.child() {
		o.fields["agent_transcript_path"] = h.Transcript()
	}
	runs := h.fire(ctx, o)
	var texts []string
	for _, r := range runs {
		if why, ok := r.stops(); ok {
			h.note("info", "a hook ended the turn: "+why)
			return nil, nil
		}
		if why, ok := r.blocked(); ok {
			texts = append(texts, why)
		}
		texts = append(texts, r.context())
	}
	text := joined(texts)
	if text == "" || ctx.Err() != nil {
		return nil, nil
	}
	most := h.number("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", mostBlocks)
	h.mu.Lock()
	h.blocks++
	over := h.blocks > most
	h.mu.Unlock()
	if over {
		h.warn(fmt.Sprintf("hooks of %s continued the turn %d times in a row; it ends now", o.event, most))
		return nil, nil
	}
	return []llm.Message{{Role: llm.User, Parts: []llm.Part{reminder(o.event + " hook feedback: " + text)}}}, nil
}

// Watch reads the events of the session: it notifies of questions that nobody answers and of turns that fail.
func (h *Hooks) Watch(b event.Body) {
	if h == nil {
		return
	}
	switch b := b.(type) {
	case event.Asked:
		if h.Any("Notification") {
			word, text := "permission_prompt", "lathe needs your permission to use "+b.Question.Title
			if h.detached() {
				word, text = "agent_needs_input", "the agent "+h.s.Agent+" needs your permission to use "+b.Question.Title
			}
			h.notifyLater(b.ID, 6*time.Second, word, text)
		}
	case event.Answered:
		h.quiet(b.ID)
	case event.Response:
		h.mu.Lock()
		h.reply = b.Message.PlainText()
		h.mu.Unlock()
	case event.TurnStart:
		h.quiet("idle")
	case event.TurnEnd:
		if h.Any("Notification") && !h.child() && h.s.Interactive {
			h.notifyLater("idle", time.Minute, "idle_prompt", "lathe is waiting for your input")
		}
	}
}

// Failed fires StopFailure for the error that ended a turn. It waits for the hooks, at most until ctx ends.
func (h *Hooks) Failed(ctx context.Context, err error) {
	if err == nil || !h.Any("StopFailure") {
		return
	}
	word := "unknown"
	if e := llm.AsError(err); e != nil {
		switch e.Kind {
		case llm.KindRateLimit, llm.KindOverloaded, llm.KindAuth, llm.KindBilling, llm.KindInvalid, llm.KindNotFound,
			llm.KindServer, "max_output_tokens":
			word = string(e.Kind)
		case llm.KindTooLarge, llm.KindImage:
			word = string(llm.KindInvalid)
		}
	}
	fields := map[string]any{"error": word, "error_details": err.Error()}
	h.mu.Lock()
	if h.reply != "" {
		fields["last_assistant_message"] = h.reply
	}
	h.mu.Unlock()
	h.fire(ctx, occasion{event: "StopFailure", subject: word, fields: fields})
}

// notifyLater fires Notification unless quiet is called before.
func (h *Hooks) notifyLater(key string, wait time.Duration, word, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timers[key] = time.AfterFunc(wait, func() {
		if h.s.Life.Err() == nil {
			h.Notify(h.s.Life, word, text)
		}
	})
}

func (h *Hooks) quiet(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.timers[key]; t != nil {
		t.Stop()
		delete(h.timers, key)
	}
}

// BeforeCompact asks the hooks of PreCompact; a refusal is the error.
func (h *Hooks) BeforeCompact(ctx context.Context, trigger, instructions string) error {
	runs := h.fire(ctx, occasion{event: "PreCompact", subject: trigger, fields: map[string]any{
		"trigger":             trigger,
		"custom_instructions": instructions,
	}})
	if why, ok := refused(runs); ok {
		return errors.New("a hook refused the compaction: " + why)
	}
	return nil
}

// AfterCompact fires PostCompact, and SessionStart before the next prompt.
func (h *Hooks) AfterCompact(ctx context.Context, trigger, summary string) {
	h.fire(ctx, occasion{event: "PostCompact", subject: trigger, fields: map[string]any{
		"trigger": trigger, "compact_summary": summary,
	}})
	if h != nil && !h.child() {
		h.Begin("compact")
	}
}

// Ends says why the session will end: clear, resume, logout or prompt_input_exit; without it: other.
func (h *Hooks) Ends(reason string) {
	if h != nil {
		h.mu.Lock()
		h.reason = reason
		h.mu.Unlock()
	}
}

// lastGrace is how long handlers that still run at the end of a session get: as long as those of SessionEnd.
const lastGrace = 1500 * time.Millisecond

// Close fires SessionEnd, and ends handlers that still run after lastGrace.
func (h *Hooks) Close() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	for _, t := range h.timers {
		t.Stop()
	}
	begun, reason := h.begun, cmp.Or(h.reason, "other")
	h.mu.Unlock()
	if begun && !h.child() && h.Any("SessionEnd") {
		h.fire(context.Background(), occasion{event: "SessionEnd", subject: reason, fields: map[string]any{"reason": reason}})
	}
	defer h.end()
	defer time.AfterFunc(lastGrace, h.end).Stop()
	h.running.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.env == "" {
		return nil
	}
	return os.Remove(h.env)
}
