package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/agent/subagent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// resultLines is how many lines of a call's result the transcript of an agent shows.
const resultLines = 5

// idLength is that of a session's id.
const idLength = 36

// agentPage is the transcript of an agent, by its id or by that of the call that started it; false: there is none. It
// changes while the agent works.
func agentPage(h *Host, id, back string) (event.Output, bool) {
	list := h.Session().Env().Agents.Tasks.List()
	at := slices.IndexFunc(list, func(s subagent.State) bool { return s.ID == id || s.Call == id })
	now := subagent.State{ID: id, Status: subagent.Completed}
	messages := h.Session().Env().Agents.Tasks.Messages(id)
	if at >= 0 {
		now = list[at]
		messages = h.Session().Env().Agents.Tasks.Messages(now.ID)
	}
	if messages == nil {
		if messages = agentLog(h, now.ID); messages == nil && at < 0 {
			return event.Output{}, false
		}
	}
	p := &event.Page{Title: "Agent " + strings.TrimPrefix(now.Kind+": "+now.Title, ": "), Back: back}
	var b strings.Builder
	if at >= 0 {
		fmt.Fprintf(&b, "%s\n\n", now)
	}
	writeAgent(&b, messages)
	if now.Problem != "" {
		fmt.Fprintf(&b, "\n**It did not finish**: %s\n", code(now.Problem))
	}
	p.Text = b.String()
	if now.Working() {
		p.Live, p.Tell = "tasks watch "+now.ID, "tasks tell "+now.ID
	}
	return event.Output{Page: p}, true
}

// agentLog reads the conversation of an agent from its session, nil where that is not one of this session's agents.
func agentLog(h *Host, id string) []llm.Message {
	if len(id) < idLength {
		return nil
	}
	for info, err := range h.Instance.Store().Children("") {
		if err != nil || info.ID != id {
			continue
		}
		log, err := h.Instance.Store().OpenReadOnly(id)
		if err != nil {
			return nil
		}
		defer log.Close()
		return log.Messages()
	}
	return nil
}

// writeAgent writes a conversation in Markdown: the prompt, what the agent says, and its calls with the beginning of
// their results.
func writeAgent(b *strings.Builder, messages []llm.Message) {
	results := map[string]llm.ToolResult{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.ToolResult); ok {
				results[r.CallID] = r
			}
		}
	}
	for _, m := range messages {
		if m.Role == llm.User {
			if text := session.StripContext(m).PlainText(); text != "" {
				b.WriteString("> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n\n")
			}
			continue
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				b.WriteString(strings.TrimSpace(p.Text) + "\n\n")
			case llm.ToolCall:
				writeCall(b, p, results)
			}
		}
	}
}

func writeCall(b *strings.Builder, c llm.ToolCall, results map[string]llm.ToolResult) {
	fmt.Fprintf(b, "**%s** %s\n\n", c.Name, code(event.CallTitle(c)))
	r, ok := results[c.ID]
	text := strings.TrimRight(r.PlainText(), "\n")
	if !ok || text == "" {
		return
	}
	lines := strings.Split(text, "\n")
	if n := len(lines) - resultLines; n > 0 {
		lines = append(lines[:resultLines], fmt.Sprintf("… %s", plural(n, "more line")))
	}
	b.WriteString(fenced("", strings.Join(lines, "\n")) + "\n\n")
}
