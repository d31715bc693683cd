package acp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// shower turns the events of a session into updates.
type shower struct {
	s         *openSession
	replaying bool
	stop      llm.StopReason // of the last step
	ended     *outcome       // of the turn that has just ended

	calls map[string]*shown           // calls that run, by id
	said  map[string]*strings.Builder // what was sent of the reply that streams, by message and kind of part
	seen  event.Status                // the newest that was shown

	compaction string // the id of the one that runs
}

// shown is a call that the client knows.
type shown struct {
	output strings.Builder // the live output, its end
	told   time.Time       // when that was sent
	below  []string        // the calls of the agent that it runs
	agent  string          // the session of that agent
	title  string
}

// event shows an event.
func (v *shower) event(e event.Event) {
	if len(e.Agent) > 0 {
		v.below(e)
		return
	}
	switch b := e.Body.(type) {
	case event.UserMessage:
		v.userMessage(b)
	case event.Delta:
		v.delta(b.ForPeople())
	case event.PartDone:
		v.part(b.ForPeople())
	case event.Retry:
		clear(v.said)
	case event.ToolStart:
		v.start(b)
	case event.ToolOutput:
		v.output(b)
	case event.ToolEnd:
		v.end(b)
	case event.Status:
		v.status(b)
	case event.Notice:
		v.notice(b)
	case event.Compacting:
		v.compaction = uuid.NewString()
		v.compacted("in_progress", event.Compacted{})
	case event.Compacted:
		status := "completed"
		if b.Err != "" {
			status = "failed"
		}
		v.compacted(status, b)
	}
}

func (v *shower) chunk(kind, id, s string) {
	if s != "" {
		v.s.update(chunk{Update: kind, Content: text(s), MessageID: id})
	}
}

// say shows a message that is no model's. It may be called from any goroutine.
func (v *shower) say(s string) { v.chunk("agent_message_chunk", uuid.NewString(), s) }

// userMessage shows a message that another face sent, or that the client sent before.
func (v *shower) userMessage(m event.UserMessage) {
	if m.Synthetic {
		return
	}
	for _, p := range m.Message.Parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Origin == "" {
				v.chunk("user_message_chunk", m.Message.ID, p.Text)
			}
		case llm.Media:
			v.s.update(chunk{Update: "user_message_chunk", Content: mediaContent(p), MessageID: m.Message.ID})
		}
	}
}

const (
	messageChunk = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
)

func (v *shower) delta(d event.Delta) {
	switch p := d.Delta.(type) {
	case llm.TextDelta:
		v.piece(messageChunk, d.MessageID, p.Text)
	case llm.ReasoningDelta:
		v.piece(thoughtChunk, d.MessageID, p.Text)
	}
}

func (v *shower) piece(kind, id, s string) {
	b := v.said[kind+id]
	if b == nil {
		b = &strings.Builder{}
		v.said[kind+id] = b
	}
	b.WriteString(s)
	v.chunk(kind, id, s)
}

// part completes a part: what did not come in pieces is sent now. A text that differs from its pieces, whose reply was
// cut and written once more, is a message of its own.
func (v *shower) part(p event.PartDone) {
	kind, whole := "", ""
	switch part := p.Part.(type) {
	case llm.Text:
		kind, whole = messageChunk, part.Text
	case llm.Reasoning:
		kind, whole = thoughtChunk, part.Text
	default:
		return
	}
	sent := ""
	if b := v.said[kind+p.MessageID]; b != nil {
		sent = b.String()
	}
	delete(v.said, kind+p.MessageID)
	if rest, ok := strings.CutPrefix(whole, sent); ok {
		v.chunk(kind, p.MessageID, rest)
	} else if strings.TrimSpace(whole) != strings.TrimSpace(sent) {
		v.chunk(kind, uuid.NewString(), whole)
	}
}

// announce shows a call that waits for its run.
func (v *shower) announce(call llm.ToolCall, title string) *shown {
	if c := v.calls[call.ID]; c != nil {
		return c
	}
	u := v.describe(call, title)
	c := &shown{title: u.Title}
	v.calls[call.ID] = c
	u.Update, u.Status = "tool_call", "pending"
	v.s.update(u)
	return c
}

// describe is a call as the client is told of it.
func (v *shower) describe(call llm.ToolCall, title string) toolCall {
	if strings.TrimSpace(title) == "" {
		title = event.CallTitle(call)
	}
	if title != call.Name && call.Name != "Bash" {
		title = call.Name + " " + title
	}
	return toolCall{
		ID: call.ID, Title: title, Name: call.Name, Kind: kindOf(call.Name), RawInput: rawInput(call),
		Locations: v.locations(call),
	}
}

func rawInput(call llm.ToolCall) json.RawMessage {
	if !json.Valid(call.Input) {
		return nil
	}
	return call.Input
}

// kinds of tool calls, by the names of tools.
var kinds = map[string]string{
	"Read": "read", "Write": "edit", "Edit": "edit", "MultiEdit": "edit", "ApplyPatch": "edit", "NotebookEdit": "edit",
	"Grep": "search", "Glob": "search", "LSP": "search", "ToolSearch": "search", "Bash": "execute", "BashOutput": "execute",
	"KillShell": "execute", "Monitor": "execute", "WebFetch": "fetch", "WebSearch": "fetch", "TodoWrite": "think",
	"AskUserQuestion": "think", "EnterPlanMode": "switch_mode", "ExitPlanMode": "switch_mode",
}

func kindOf(tool string) string {
	if k := kinds[tool]; k != "" {
		return k
	}
	return "other"
}

// locations are the files that a call names.
func (v *shower) locations(call llm.ToolCall) []location {
	var in struct {
		File     string `json:"file_path"`
		Path     string `json:"path"`
		Notebook string `json:"notebook_path"`
		Offset   int    `json:"offset"`
	}
	if json.Unmarshal(call.Input, &in) != nil {
		return nil
	}
	for _, name := range []string{in.File, in.Notebook, in.Path} {
		if name != "" && kindOf(call.Name) != "execute" {
			return []location{{Path: v.absolute(name), Line: max(0, in.Offset)}}
		}
	}
	return nil
}

func (v *shower) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(v.s.state().Dir, path)
}

func (v *shower) start(b event.ToolStart) {
	v.announce(b.Call, b.Title)
	u := v.describe(b.Call, b.Title)
	u.Update, u.Status, u.Content = "tool_call_update", "in_progress", v.content(b.Preview)
	v.s.update(u)
}

// content is a view with absolute paths.
func (v *shower) content(view event.View) []toolContent { return viewContent(view, v.s.state().Dir) }

// Bounds of live output: its end is sent so often.
const (
	mostOutput  = 16 << 10
	outputEvery = 200 * time.Millisecond
)

func (v *shower) output(b event.ToolOutput) {
	c := v.calls[b.CallID]
	if c == nil {
		return
	}
	if c.output.WriteString(b.Text); c.output.Len() > 2*mostOutput {
		end := c.output.String()[c.output.Len()-mostOutput:]
		c.output.Reset()
		c.output.WriteString(end)
	}
	if time.Since(c.told) < outputEvery {
		return
	}
	c.told = time.Now()
	v.s.update(toolCall{Update: "tool_call_update", ID: b.CallID, Content: contents(fenced(c.output.String(), ""))})
}

func (v *shower) end(b event.ToolEnd) {
	status := "completed"
	if b.Result.IsError || b.Denied {
		status = "failed"
	}
	u := v.describe(b.Call, b.Title)
	u.Update, u.Status = "tool_call_update", status
	if c := v.calls[b.Call.ID]; c == nil {
		u.Update = "tool_call"
	} else if c.agent != "" {
		v.subagent(c, "idle")
	}
	delete(v.calls, b.Call.ID)
	u.Content = v.content(b.View)
	if status == "failed" || len(u.Content) == 0 {
		u.Content = append(u.Content, contents(b.ForPeople())...)
	}
	for _, p := range b.Result.Parts {
		if m, ok := p.(llm.Media); ok {
			u.Content = append(u.Content, toolContent{Type: "content", Content: mediaContent(m)})
		}
	}
	for _, c := range u.Content {
		if c.Type == "diff" && len(u.Locations) == 0 {
			u.Locations = append(u.Locations, location{Path: c.Path})
		}
	}
	u.RawOutput = strings.ToValidUTF8(clip(b.Result.PlainText()), "")
	v.s.update(u)
	if t, ok := b.View.(event.Todo); ok && v.replaying {
		v.plan(t.Items)
	}
}

// below shows what an agent does within the call that runs it.
func (v *shower) below(e event.Event) {
	id := event.CallOf(e.Agent)
	start, ok := e.Body.(event.ToolStart)
	c := v.calls[id]
	if c != nil && c.agent == "" && e.Session != "" && e.Session != v.s.id {
		c.agent = e.Session
		v.subagent(c, "running")
	}
	if !ok || c == nil {
		return
	}
	if c.below = append(c.below, "- "+v.describe(start.Call, start.Title).Title); len(c.below) > mostBelow {
		c.below = c.below[1:]
	}
	v.s.update(toolCall{Update: "tool_call_update", ID: id, Content: contents(strings.Join(c.below, "\n"))})
}

// subagent shows what an agent does, where the client has a place for that.
func (v *shower) subagent(c *shown, state string) {
	if v.s.a.can().Subagents == nil {
		return
	}
	does := subagentDoes{State: state}
	if state == "idle" {
		does.Stop = "end_turn"
	}
	v.s.update(subagentUpdate{"subagent_update", c.agent, c.title, does})
}

// mostBelow is how many calls of an agent are shown.
const mostBelow = 20

// status shows what of a status differs from the one before.
func (v *shower) status(b event.Status) {
	was := v.seen
	v.seen = b
	if was.Session == "" { // the answer that opened the session had it
		was = event.Status{Mode: b.Mode, Model: b.Model, Effort: b.Effort}
	}
	if b.Mode != was.Mode {
		v.s.update(modeUpdate{"current_mode_update", string(b.Mode)})
	}
	if b.Mode != was.Mode || b.Model != was.Model || b.Effort != was.Effort {
		v.s.update(optionsUpdate{"config_option_update", v.s.options(v.s.ctx)})
	}
	if b.Title != was.Title && b.Title != "" {
		v.s.update(infoUpdate{"session_info_update", b.Title})
	}
	if b.ContextUsed != was.ContextUsed || b.CostUSD != was.CostUSD || b.ContextWindow != was.ContextWindow {
		v.s.update(usageUpdate{
			Update: "usage_update", Used: b.ContextUsed, Size: b.ContextWindow, Cost: &cost{b.CostUSD, "USD"},
		})
	}
	if !slices.Equal(b.Todos, was.Todos) {
		v.plan(b.Todos)
	}
}

func (v *shower) plan(items []event.TodoItem) {
	u := planUpdate{"plan", []planEntry{}}
	for _, i := range items {
		status := "pending"
		if i.Status == "in_progress" || i.Status == "completed" {
			status = i.Status
		}
		u.Entries = append(u.Entries, planEntry{i.Content, "medium", status})
	}
	v.s.update(u)
}

// listed lines of a plan, at the top level.
var planLine = regexp.MustCompile(`(?m)^(?:[-*+]|\d+[.)])\s+(.+)$`)

// proposed shows the plan of plan mode, by the lines of its lists.
func (v *shower) proposed(markdown string) {
	var items []event.TodoItem
	for _, m := range planLine.FindAllStringSubmatch(markdown, -1) {
		items = append(items, event.TodoItem{Content: m[1]})
	}
	if len(items) > 0 {
		v.plan(items)
	}
}

func (v *shower) notice(b event.Notice) {
	switch {
	case v.replaying || b.Text == "":
	case v.s.a.can().Session.Notices != nil:
		level := b.Level
		if level != "warning" && level != "error" {
			level = "info"
		}
		v.s.update(noticeUpdate{"notice", level, b.Text})
	case b.Level == "warning" || b.Level == "error":
		v.say(b.Level + ": " + b.Text + "\n\n")
	}
}

func (v *shower) compacted(status string, b event.Compacted) {
	if v.replaying || v.s.a.can().Session.Compaction == nil {
		return
	}
	if v.compaction == "" {
		v.compaction = uuid.NewString()
	}
	u := compactionUpdate{Update: "compaction_update", ID: v.compaction, Status: status, Error: b.Err}
	if status != "in_progress" {
		v.compaction = ""
		if b.Summary != "" {
			u.Summary = []content{*text(b.Summary)}
		}
	}
	v.s.update(u)
}

// commands tells the client which slash commands there are.
func (v *shower) commands() {
	ctx, cancel := context.WithTimeout(v.s.ctx, 5*time.Second)
	defer cancel()
	all, err := v.s.port.Complete(ctx, event.Query{Kind: event.QueryCommand})
	if err != nil {
		return
	}
	u := commandsUpdate{"available_commands_update", []availableCommand{}}
	for _, c := range all {
		if slices.Contains(elsewhere, c.Text) {
			continue
		}
		one := availableCommand{Name: c.Text, Description: c.Help}
		if c.Hint != "" {
			one.Input = &commandInput{c.Hint}
		}
		u.Commands = append(u.Commands, one)
	}
	v.s.update(u)
}
