package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/lathe-dev/lathe/internal/agent/eval"
	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/store/cost"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// replayed is the result of replaying a session's log: the events that a reader would have seen, and the
// state after them.
type replayed struct {
	bodies       []event.Body
	statusValues statusValues
	model        string     // the last choice, on any branch
	mode         string     // likewise
	pending      []llm.Part // output of user commands since the last message
	notes        []string
}

// statusKinds are the entries that the state after a log depends on.
var statusKinds = []string{"user", "reply", "call_end", "invoke_end", "compaction", userShellKind}

// replay reads the branch of the head. Without bodies it decodes only the entries that make up the state.
func replay(log *session.Session, bodies bool) *replayed {
	out := &replayed{}
	if log == nil {
		return out
	}
	b := log.Branch()
	if !bodies {
		b = b.Only(statusKinds...).Texts()
	}
	p := &player{state: !bodies, publish: func(t logged) {
		if bodies {
			out.bodies = append(out.bodies, t.body)
		}
		out.statusValues.take(event.Event{Body: t.body})
	}}
	p.play(b, 0, b.Len())
	out.pending, out.model, out.mode = p.pending, log.Model(), log.Mode()
	info := log.Info()
	if log.Everything().Only("head").Len() > 0 {
		out.statusValues.changed = changedFiles(log)
	}
	out.statusValues.request(p.usage)
	out.statusValues.used = p.used
	out.statusValues.cache, out.statusValues.model = p.cache, p.model
	out.statusValues.costUSD, out.statusValues.usage = info.CostUSD, info.Usage
	return out
}

// replay reads the log of a session, and the cost of its agents from theirs.
func (c *Console) replay(s *conversation.Session, bodies bool) *replayed {
	out := replay(s.Log(), bodies)
	if s.Log() != nil && len(s.Messages()) > 0 {
		below, _ := c.inst.Store().CostOfChildren(s.ID()) // lathe session verify reports those that cannot be read
		out.statusValues.costUSD += below
	}
	return out
}

// changedFiles sums up the edits of all branches: going back leaves files unchanged.
func changedFiles(log *session.Session) []event.ChangedFile {
	var t statusValues
	ends := log.Everything().Only("call_end", "invoke_end").Texts()
	for _, e := range ends.Entries(0, ends.Len()) {
		if end, ok := e.Body.(session.CallEnd); ok {
			if v, err := event.UnmarshalView(end.View); err == nil {
				t.view(event.ToolEnd{Result: end.Result, Denied: end.Denied, View: v})
			}
		}
	}
	return t.changed
}

// logged is an event from a log: the n-th (from 1) of the events of the entry at a place of the branch.
type logged struct {
	at    int
	n, of int
	time  time.Time
	body  event.Body
}

// player turns the entries of a branch into events.
type player struct {
	publish func(logged)
	whole   bool // include starts of calls, the structured output of results, and requests beside the conversation
	state   bool // only views that change the status are wanted

	at      int // place of the current entry
	time    time.Time
	open    []openPart // of the reply that is still open
	calls   map[string]llm.ToolCall
	last    map[string]permission.Decision
	pending []llm.Part
	usage   llm.Usage // of the last request
	used    int       // tokens of the conversation
	cache   cost.Cache
	model   string // of the last request
}

// openPart is an event that waits for the end of its reply, which names it.
type openPart struct {
	index int // of the part; -1: of a call
	logged
}

// unclosed replaces the missing end of a reply.
var unclosed = session.Reply{Parts: 1 << 30}

// play reads entries of a branch.
func (p *player) play(b session.Branch, from, to int) {
	p.begin()
	p.read(b, from, to)
	p.close(unclosed)
}

func (p *player) begin() {
	p.calls, p.last = map[string]llm.ToolCall{}, map[string]permission.Decision{}
}

func (p *player) read(b session.Branch, from, to int) {
	for at, e := range b.Entries(from, to) {
		p.at, p.time = at, e.Time
		p.take(e)
	}
}

func (p *player) take(e session.Entry) {
	switch b := e.Body.(type) {
	case session.User:
		p.close(unclosed)
		p.pending = nil
		p.add(event.UserMessage{
			Message: session.StripContext(b.Message), Steered: b.Steered, Synthetic: b.Synthetic,
			Attached: session.Attached(b.Message), Told: session.Told(b.Message),
		})
	case session.Part:
		p.part(b)
	case session.CallStart:
		if b.Call != nil { // not as in the reply, or in no reply
			p.calls[b.CallID] = *b.Call
		}
		if call, ok := p.calls[b.CallID]; ok && p.whole {
			p.add(event.ToolStart{Call: call, Parent: b.Parent, Title: event.CallTitle(call), Preview: callView(call)})
		}
	case session.CallEnd:
		p.callEnd(b)
	case session.Decision:
		var d permission.Decision
		if json.Unmarshal(b.Decision, &d) == nil {
			p.last[b.CallID] = d
		}
	case session.Reply:
		if b.MessageID == "" {
			b.MessageID = e.ID
		}
		p.close(b)
	case session.TurnEnd:
		p.close(unclosed)
		p.add(event.TurnEnd{
			Reason: event.EndReason(b.Reason), Err: b.Err, Steps: b.Steps, Usage: b.Usage, CostUSD: b.CostUSD,
			Duration: b.Duration,
		})
	case session.Compaction:
		p.close(unclosed)
		p.cache = cost.Cache{}
		if b.Level == 0 { // only media
			p.add(event.Notice{Level: "warning", Text: "the provider refused an image; the model gets a note instead of it"})
			return
		}
		p.used = b.TokensAfter
		p.add(event.Compacted{
			Level: b.Level, Trigger: b.Trigger, Before: b.TokensBefore, After: b.TokensAfter,
			Failed: b.Failed, Summary: b.SummaryText(),
		})
	case session.SideRequest:
		if p.whole {
			p.add(event.SideRequest(b))
		}
	case session.Note:
		p.add(event.Notice{Level: cmp.Or(b.Level, "info"), Text: b.Text})
	case session.Unknown:
		if round, ok := eval.Recorded(b); ok {
			p.add(round)
			return
		}
		p.userCommand(e.ID, b)
	}
}

// add emits the events of the current entry, or keeps them until the open reply is closed.
func (p *player) add(bodies ...event.Body) {
	for i, b := range bodies {
		t := logged{p.at, i + 1, len(bodies), p.time, b}
		if len(p.open) > 0 {
			p.open = append(p.open, openPart{-1, t})
		} else {
			p.publish(t)
		}
	}
}

// part begins or continues a reply. An index that occurred before voids the parts after it, except calls.
func (p *player) part(b session.Part) {
	keep := 0
	for i, o := range p.open {
		done, isPart := o.body.(event.PartDone)
		_, isCall := done.Part.(llm.ToolCall)
		if !isPart || isCall || o.index < b.Index {
			keep = i + 1
		}
	}
	p.open = append(p.open[:keep], openPart{
		b.Index,
		logged{p.at, 1, 1, p.time, event.PartDone{Index: b.Index, Part: b.Part}},
	})
	if c, ok := b.Part.(llm.ToolCall); ok {
		p.calls[c.ID] = c
	}
}

// changesStatus reports whether a view may change the status, by its shape, which comes first.
func changesStatus(view json.RawMessage) bool {
	shape, ok := bytes.CutPrefix(view, []byte(`{"shape":"`))
	return !ok || bytes.HasPrefix(shape, []byte(`diff"`)) || bytes.HasPrefix(shape, []byte(`todo"`))
}

func (p *player) callEnd(b session.CallEnd) {
	if p.state && !changesStatus(b.View) {
		return
	}
	id := b.Result.CallID
	call := p.calls[id]
	if b.Call != nil {
		call = *b.Call
	}
	end := event.ToolEnd{
		Call: call, Parent: b.Parent, Result: b.Result, Title: b.Title, Denied: b.Denied,
		Duration: b.Duration,
	}
	end.View, _ = event.RestoreView(b.View, b.Result) // an unreadable view is not shown
	if p.whole && len(b.Meta) > 0 {
		end.Meta, _ = event.RestoreMeta(b.Meta, end.View, call, b.Result)
	}
	if b.Synthetic && end.View == nil {
		end.Title, end.View = event.CallTitle(call), lostView(call, b.Result)
	}
	var bodies []event.Body
	if b.Denied {
		bodies = append(bodies, event.Denied{Call: call, Decision: p.last[id]})
	}
	delete(p.calls, id)
	delete(p.last, id)
	p.add(append(bodies, end)...)
}

// close emits the parts of a reply with its message id.
func (p *player) close(reply session.Reply) {
	parts := slices.Clone(p.open)
	p.open = p.open[:0]
	for _, o := range parts {
		if done, ok := o.body.(event.PartDone); ok {
			if _, isCall := done.Part.(llm.ToolCall); !isCall && o.index >= reply.Parts {
				continue
			}
			done.MessageID, done.Model = reply.MessageID, reply.Model
			if reply.Usage != nil {
				done.Usage = *reply.Usage
			}
			o.body = done
		}
		p.publish(o.logged)
	}
	if reply.Usage != nil {
		p.usage, p.model = *reply.Usage, reply.Model
		p.used = p.usage.Prompt() + p.usage.Output
		p.cache.Request(p.usage, p.time)
	}
}

// Recorded returns the events of the branch of a session's head, with their times, as a reader would have seen them.
func Recorded(log *session.Session) []event.Event {
	var out []event.Event
	p := &player{whole: true, publish: func(t logged) {
		out = append(out, event.Event{Seq: uint64(len(out) + 1), Time: t.time, Session: log.ID(), Body: t.body})
	}}
	b := log.Branch()
	p.play(b, 0, b.Len())
	return out
}
