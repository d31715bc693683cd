package console

import (
	"encoding/json"
	"slices"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/session"
)

// replayed is what the journal of a session says: the events a reader would have seen, and the state they
// led to.
type replayed struct {
	bodies  []event.Body
	tally   tally
	model   string     // chosen last, on whatever branch
	mode    string     // likewise
	pending []llm.Part // what the user's own commands said since the last message
	notes   []string

	open  []open // of the reply that is not closed yet
	calls map[string]llm.ToolCall
	last  map[string]permission.Decision
}

// open is a body that waits for the end of its reply, which names it.
type open struct {
	index int // of the part; -1: a call's end
	body  event.Body
}

// replay reads the branch of the head.
func replay(log *session.Session) *replayed {
	r := &replayed{calls: map[string]llm.ToolCall{}, last: map[string]permission.Decision{}}
	if log == nil {
		return r
	}
	for e := range log.Entries() {
		r.take(e)
	}
	r.close(session.Reply{Parts: 1 << 30})
	r.model, r.mode = log.Model(), log.Mode()
	info := log.Info()
	r.tally.costUSD, r.tally.usage = info.CostUSD, info.Usage
	return r
}

func (r *replayed) take(e session.Entry) {
	switch b := e.Body.(type) {
	case session.User:
		r.close(session.Reply{Parts: 1 << 30})
		r.pending = nil
		r.add(event.UserMessage{Message: session.Typed(b.Message), Steered: b.Steered, Synthetic: b.Synthetic})
	case session.Part:
		r.part(b)
	case session.CallEnd:
		r.callEnd(b)
	case session.Decision:
		var d permission.Decision
		if json.Unmarshal(b.Decision, &d) == nil {
			r.last[b.CallID] = d
		}
	case session.Reply:
		if b.MessageID == "" {
			b.MessageID = e.ID
		}
		r.close(b)
	case session.TurnEnd:
		r.close(session.Reply{Parts: 1 << 30})
		r.add(event.TurnEnd{
			Reason: event.EndReason(b.Reason), Err: b.Err, Steps: b.Steps, Usage: b.Usage, CostUSD: b.CostUSD, Duration: b.Duration,
		})
	case session.Note:
		r.add(event.Notice{Level: "info", Text: b.Text})
	case session.Unknown:
		r.own(e.ID, b)
	}
}

func (r *replayed) add(b event.Body) {
	r.bodies = append(r.bodies, b)
	r.tally.take(event.Event{Body: b})
}

// part begins or goes on with a reply. An index that was there before voids what followed, except calls.
func (r *replayed) part(p session.Part) {
	keep := 0
	for i, o := range r.open {
		done, isPart := o.body.(event.PartDone)
		_, isCall := done.Part.(llm.ToolCall)
		if !isPart || isCall || o.index < p.Index {
			keep = i + 1
		}
	}
	r.open = append(r.open[:keep], open{p.Index, event.PartDone{Index: p.Index, Part: p.Part}})
	if c, ok := p.Part.(llm.ToolCall); ok {
		r.calls[c.ID] = c
	}
}

func (r *replayed) callEnd(b session.CallEnd) {
	call := r.calls[b.Result.CallID]
	if b.Denied {
		r.end(event.Denied{Call: call, Decision: r.last[b.Result.CallID]})
	}
	end := event.ToolEnd{Call: call, Result: b.Result, Title: b.Title, Denied: b.Denied, Duration: b.Duration}
	end.View, _ = event.UnmarshalView(b.View) // a view that cannot be read is not shown
	if len(b.Meta) > 0 {
		_ = json.Unmarshal(b.Meta, &end.Meta)
	}
	delete(r.calls, b.Result.CallID)
	delete(r.last, b.Result.CallID)
	r.end(end)
}

func (r *replayed) end(b event.Body) {
	if len(r.open) > 0 {
		r.open = append(r.open, open{-1, b})
		return
	}
	r.add(b)
}

// close gives the parts of a reply their message.
func (r *replayed) close(reply session.Reply) {
	parts := slices.Clone(r.open)
	r.open = r.open[:0]
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
		r.add(o.body)
	}
	if reply.Usage != nil {
		r.tally.request(*reply.Usage)
	}
}
