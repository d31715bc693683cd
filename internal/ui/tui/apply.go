package tui

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/tui/dialog"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// apply changes the state by an event.
func (m *model) apply(e event.Event) {
	if len(e.Agent) > 0 && ofTurn(e.Body) {
		return // the call of the subagent shows its work
	}
	switch b := e.Body.(type) {
	case event.Opened:
		m.opened(b)
	case event.Status:
		if b.Cache.Expires != m.state.Cache.Expires {
			m.awaitCache(b.Cache)
		}
		m.state = b
		m.bypass.confirmed = m.bypass.confirmed || b.Mode == permission.Bypass
	case event.State:
		if m.turn.id = b.Turn; b.Turn == "" {
			m.stopped()
			break
		}
		m.startSpin()
	case event.TurnStart:
		if m.turn.sent == "" {
			m.turn.began = m.now()
		}
		m.turn.active, m.turn.sent, m.turn.stopping, m.turn.silent = true, "", time.Time{}, true
		m.taken(b.Prompt.ID)
		m.startSpin()
	case event.Returned:
		m.taken(b.Message.ID)
		m.giveBack(b.Message)
	case event.TurnEnd:
		waited := m.turn.retry.Max > 0
		m.turn.active, m.turn.retry = false, retry{}
		m.endTurn(b)
		if waited && b.Reason == event.EndInterrupted {
			m.tell("info", "/retry goes on with the turn")
		}
		if b.Duration >= longTurn {
			m.notify("lathe is done after " + short(b.Duration))
		}
		m.stopped()
	case event.Retry:
		m.retry(e, b)
	case event.Asked:
		m.asked(e.Session, b)
	case event.Answered:
		m.answered(b)
	case event.ModeChanged:
		m.state.Mode = b.Mode
	default:
		m.show(e, false)
	}
}

// ofTurn reports an event that begins or ends a turn, or is a message in it.
func ofTurn(b event.Body) bool {
	switch b.(type) {
	case event.TurnStart, event.TurnEnd, event.UserMessage, event.Returned, event.Compacted:
		return true
	}
	return false
}

// show adds an event to the transcript. Old is set for the history of a resumed session.
func (m *model) show(e event.Event, old bool) {
	agent := event.CallOf(e.Agent)
	switch b := e.Body.(type) {
	case event.UserMessage:
		m.userMessage(b)
	case event.Request:
		if agent == "" {
			m.turn.heard = m.now()
		}
	case event.Response:
		if agent == "" {
			m.turn.heard = time.Time{}
		}
	case event.Delta:
		m.delta(agent, b.ForPeople())
	case event.PartDone:
		m.partDone(agent, b.ForPeople())
	case event.ToolStart:
		m.toolStart(agent, b)
	case event.ToolOutput:
		m.toolOutput(agent, b)
	case event.ToolEnd:
		m.toolEnd(agent, b)
	case event.Denied:
		m.denied(agent, b)
	case event.Notice:
		m.tell(b.Level, b.Text)
	case event.Terminal:
		if !old {
			m.extra = append(m.extra, b.Sequence...)
		}
	case event.Compacted:
		m.tell("info", b.String())
		if b.Summary != "" {
			m.told("the summary", b.Summary)
		}
	case event.EvalComplete:
		m.tell(b.Level(), b.String())
	case event.Goal:
		m.tell(b.Level(), b.String())
	case event.TurnEnd:
		if old {
			m.endTurn(b)
		}
	}
}

// mostReplayed is how many items of an earlier conversation are printed into an inline terminal.
const mostReplayed = 200

// opened starts with another session.
func (m *model) opened(b event.Opened) {
	same := b.Session == m.front.Session
	m.front, m.more = b, b.More
	m.log = newTranscript()
	m.parts, m.agents = map[string]*item{}, map[string]string{}
	m.pick, m.find = pick{}, find{}
	m.done, m.printed, m.blocks = 0, 0, 0
	if m.options.Inline && m.opens > 0 {
		m.log.add(&item{kind: endItem, look: &m.look, text: "── " + cmp.Or(b.Title, "new session") + " ──"})
	}
	if m.opens++; m.opens == 1 {
		close(m.there)
	}
	m.dialogs.Clear()
	m.turn = turn{sent: m.turn.sent, spinning: m.turn.spinning, began: m.turn.began}
	for _, body := range b.History {
		m.show(event.Event{Session: b.Session, Body: body}, true)
	}
	m.front.History = nil
	if name := movedBy(m.moved); m.moved != nil && (same || isFork(name)) {
		m.showOutput(dialog.Command{Name: name}, m.moved.out)
	}
	m.moved = nil
	if m.opens == 1 {
		m.tellMisbound()
		m.tell("info", m.options.Note)
	}
	m.openWith()
	m.loadSessions()
	if m.options.Inline {
		m.done = max(len(m.log.items)-mostReplayed, 0)
	}
}

// openWith runs the command of the options in the first session, whose opening takes earlier dialogs away. The first
// prompt waits in the editor, since the command may put another session in front.
func (m *model) openWith() {
	if m.opens != 1 || m.options.Command == "" {
		return
	}
	if len(m.options.Initial.Parts) > 0 {
		m.edit.SetMessage(m.options.Initial)
	}
	m.commandLine(m.options.Command)
}

func (m *model) userMessage(b event.UserMessage) {
	m.taken(b.Message.ID)
	defer m.told("told the model", b.Told...)
	if b.Synthetic {
		return
	}
	text := b.Message.PlainText()
	for _, p := range b.Message.Parts {
		if media, ok := p.(llm.Media); ok {
			text += "\n[" + media.MIME + "]"
		}
	}
	m.turn.silent = true
	m.log.add(&item{
		kind: userItem, look: &m.look, text: strings.TrimSpace(text), short: m.short[b.Message.PlainText()],
		advice: strings.Join(b.Attached, ", "),
	})
}

// told adds texts that the model got and the user did not write, each folded to a line.
func (m *model) told(what string, texts ...string) {
	for _, text := range texts {
		m.log.add(&item{kind: toldItem, look: &m.look, level: what, text: text})
	}
}

func partKey(agent, message string, index int) string {
	return agent + "/" + message + "/" + strconv.Itoa(index)
}

// part is the item of a part of a reply, made when its first piece comes.
func (m *model) part(agent, message string, index int, k kind) *item {
	key := partKey(agent, message, index)
	if it := m.parts[key]; it != nil {
		return it
	}
	it := &item{kind: k, key: key, look: &m.look, child: agent}
	if k == replyItem {
		it.stream = m.look.newReply()
	}
	m.parts[key] = it
	return m.log.add(it)
}

func (m *model) delta(agent string, b event.Delta) {
	if agent != "" {
		return // a subagent's words are shown when it is done
	}
	m.turn.retry = retry{}
	if t, ok := b.Delta.(llm.TextDelta); !ok || t.Text != "" {
		m.turn.heard = m.now()
	}
	switch d := b.Delta.(type) {
	case llm.TextDelta:
		it := m.part(agent, b.MessageID, d.Index, replyItem)
		it.stream.append(d.Text)
		it.touch()
	case llm.ReasoningDelta:
		it := m.part(agent, b.MessageID, d.Index, reasoningItem)
		it.text += d.Text
		it.thinking = true
		it.touch()
	case llm.ToolDelta:
		if d.Name != "" && agent == "" {
			m.coming(agent, b.MessageID, d)
		}
	}
}

// coming shows a call whose input still streams.
func (m *model) coming(agent, message string, d llm.ToolDelta) {
	if d.ID == "" || m.parts[d.ID] != nil {
		return
	}
	it := &item{
		kind: toolItem, key: d.ID, look: &m.look, child: agent,
		tool: &call{call: llm.ToolCall{ID: d.ID, Name: d.Name}, state: theme.Waiting},
	}
	m.parts[d.ID] = it
	m.log.add(it)
}

func (m *model) partDone(agent string, b event.PartDone) {
	if agent != "" {
		return
	}
	key := partKey(agent, b.MessageID, b.Index)
	switch p := b.Part.(type) {
	case llm.Text:
		m.turn.silent = m.turn.silent && strings.TrimSpace(p.Text) == ""
		if strings.TrimSpace(p.Text) == "" {
			if it := m.parts[key]; it != nil {
				m.log.remove(it)
			}
			break
		}
		if it := m.parts[key]; it != nil && it.stream != nil && it.stream.raw.Len() > 0 {
			it.endReply()
			break
		}
		it := m.part(agent, b.MessageID, b.Index, replyItem)
		it.stream, it.text = nil, p.Text
		it.touch()
	case llm.Reasoning:
		if strings.TrimSpace(p.Text) == "" {
			break
		}
		it := m.part(agent, b.MessageID, b.Index, reasoningItem)
		it.text, it.thinking = p.Text, false
		it.touch()
	}
	delete(m.parts, key)
}

// tool is the item of a call, made if there is none.
func (m *model) tool(c llm.ToolCall) *item {
	it := m.parts[c.ID]
	if it == nil {
		it = &item{kind: toolItem, key: c.ID, look: &m.look, tool: &call{state: theme.Waiting}}
		m.parts[c.ID] = it
		m.log.add(it)
	}
	it.tool.call = c
	it.touch()
	return it
}

func (m *model) toolStart(agent string, b event.ToolStart) {
	if root := m.root(agent); root != nil {
		m.agents[b.Call.ID] = root.key
		root.tool.addChild(child{b.Call.ID, b.Call.Name, b.Title, theme.Running})
		root.touch()
	}
	if agent != "" {
		return
	}
	m.turn.silent = true
	it := m.tool(b.Call)
	it.tool.title, it.tool.preview, it.tool.state, it.tool.began = b.Title, b.Preview, theme.Running, m.now()
	m.startSpin()
}

// root is the item of the call that a subagent belongs to, at the end of the line of those that started
// each other; nil for the main agent and for unknown ones.
func (m *model) root(agent string) *item {
	for range 16 {
		if agent == "" {
			return nil
		}
		if it := m.parts[agent]; it != nil {
			return it
		}
		agent = m.agents[agent]
	}
	return nil
}

func (m *model) toolOutput(agent string, b event.ToolOutput) {
	if it := m.parts[b.CallID]; agent == "" && it != nil && it.tool != nil {
		it.tool.print(b.Text)
		it.touch()
	}
}

func (m *model) toolEnd(agent string, b event.ToolEnd) {
	state := theme.Done
	switch {
	case b.Denied:
		state = theme.Denied
	case b.Result.IsError:
		state = theme.Failed
	}
	if agent != "" {
		if root := m.root(agent); root != nil {
			if ch := root.tool.child(b.Call.ID); ch != nil {
				ch.state = state
			} else {
				root.tool.addChild(child{b.Call.ID, b.Call.Name, b.Title, state})
			}
			root.touch()
		}
		delete(m.agents, b.Call.ID)
		return
	}
	it := m.tool(b.Call)
	c := it.tool
	if c.title = cmp.Or(b.Title, c.title); c.title == "" { // it failed before it had one
		c.title = m.relative(event.CallTitle(b.Call))
	}
	c.view, c.took, c.tail, c.preview, c.state = b.View, b.Duration, "", nil, state
	if b.View == nil {
		c.text = b.ForPeople()
	}
	c.call.Input = nil
	m.log.limitMemory(it)
	delete(m.parts, b.Call.ID)
	m.stopped()
}

// movedBy is the name of the command that opened the conversation again, or "".
func movedBy(msg *outputMsg) string {
	if msg == nil {
		return ""
	}
	name, _, _ := strings.Cut(msg.command.Name, " ")
	return name
}

func (m *model) denied(agent string, b event.Denied) {
	if agent != "" {
		return // its end follows
	}
	m.tool(b.Call).tool.state = theme.Denied
}

// retry drops the output of the request that failed.
func (m *model) retry(e event.Event, b event.Retry) {
	m.turn.retry = retry{b, m.now().Add(b.Delay)}
	for key, it := range m.parts {
		if it.child == event.CallOf(e.Agent) && (it.tool == nil || it.tool.state == theme.Waiting) {
			m.log.remove(it)
			delete(m.parts, key)
		}
	}
}

// endTurn closes the open items, and says how the turn ended unless it just completed.
func (m *model) endTurn(b event.TurnEnd) {
	for key, it := range m.parts {
		it.endReply()
		if it.tool != nil && it.tool.state <= theme.Running {
			it.tool.state = theme.Failed
		}
		it.thinking = false
		it.touch()
		delete(m.parts, key)
	}
	switch {
	case b.Reason == event.EndCompleted && m.turn.silent && b.Steps > 0:
		m.log.add(&item{kind: endItem, look: &m.look, text: "the reply is empty"})
	case failed(b):
		m.log.add(&item{kind: noticeItem, look: &m.look, level: "error", text: ending(b), advice: "/retry sends it again"})
	case ending(b) != "":
		m.log.add(&item{kind: endItem, look: &m.look, text: ending(b)})
	}
}

// failed reports a turn that ended by an error.
func failed(b event.TurnEnd) bool {
	switch b.Reason {
	case event.EndCompleted, event.EndRefused, event.EndInterrupted, event.EndMaxSteps, event.EndBudget,
		event.EndDoomLoop, event.EndStopped:
		return false
	}
	return true
}

// ending says how a turn ended, where that is not plain.
func ending(b event.TurnEnd) string {
	switch b.Reason {
	case event.EndCompleted, event.EndRefused:
		return ""
	case event.EndInterrupted:
		return "interrupted"
	case event.EndMaxSteps:
		return "stopped: the limit of steps is reached"
	case event.EndBudget:
		return "stopped: the budget is used up"
	case event.EndDoomLoop:
		return "stopped: the same calls came again and again"
	case event.EndStopped:
		return "stopped by a hook"
	}
	return strings.TrimSuffix("The turn failed: "+b.Err, ": ")
}

// ended handles the end of the events.
func (m *model) ended(err error) {
	if err != nil {
		m.tell("error", "the session does not answer any more: "+err.Error())
	}
}
