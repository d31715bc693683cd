package session

import (
	"slices"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Texts for the model about calls whose end is unknown. Constant, so that the history
// is the same whenever it is built.
const (
	notStarted = "This call was not run: lathe stopped before it started. Make it again if it is still needed."
	notEnded   = "lathe stopped while this call was running, so its result is lost. It may have had effects, " +
		"whole or in part: check the state of things before repeating it."
)

// call is one tool call of the exchange that is going on.
type call struct {
	llm.ToolCall
	started bool
	hasCall bool // its start has the call that ran
	result  *llm.ToolResult
}

// lost is the result of a call that was never answered.
func (c *call) lost() llm.ToolResult {
	text := notStarted
	if c.started {
		text = notEnded
	}
	return llm.TextResult(c.ToolCall, text, true)
}

// openPart is a part of a reply that is not closed yet, with its place in it.
type openPart struct {
	index int
	part  llm.Part
}

// transcript derives the messages of a branch from its entries, one by one in order. At any time there is
// at most one exchange: a reply that is open, or that is closed and has calls without a result.
type transcript struct {
	msgs   []llm.Message
	ends   []int32 // for each message the place of the entry that made it complete
	at     int32   // the place of the entry that is being applied
	open   []openPart
	closed bool    // the exchange's reply is in msgs and waits for results
	calls  []*call // of the exchange, in order

	stubbed map[string]bool // calls whose results are sent as stubs
	held    map[string]int  // calls with a result in msgs[:heldTo]: the number of the message, 0 when it is a stub
	heldTo  int

	invoked []CallStart // calls that the model did not make, which have started and not ended
}

// apply takes the next entry of the branch, which is at a place of the log.
func (t *transcript) apply(b Body, at int32) {
	t.at = at
	if t.over(b) {
		t.settle()
	}
	switch b := b.(type) {
	case User:
		t.add(b.Message)
	case Part:
		t.part(b)
	case CallStart:
		if c := t.find(b.CallID); b.Invoked && b.Call != nil {
			t.invoked = append(t.invoked, b)
		} else if c != nil && !b.Invoked {
			c.started, c.hasCall = true, b.Call != nil
		}
	case CallEnd:
		if b.Invoked {
			t.invoked = slices.DeleteFunc(t.invoked, func(c CallStart) bool { return c.CallID == b.Result.CallID })
		} else if c := t.find(b.Result.CallID); c != nil {
			r := b.Result
			c.result = &r
			t.deliver()
		}
	case Reply:
		t.void(b.Parts)
		t.close(b)
	}
}

func (t *transcript) add(m llm.Message) {
	t.msgs, t.ends = append(t.msgs, m), append(t.ends, t.at)
}

// find returns the first call with that id which has no result, or nil.
func (t *transcript) find(id string) *call {
	for _, c := range t.calls {
		if c.ID == id && c.result == nil {
			return c
		}
	}
	return nil
}

func (t *transcript) part(p Part) {
	t.void(p.Index)
	t.open = append(t.open, openPart{p.Index, p.Part})
	if c, ok := p.Part.(llm.ToolCall); ok {
		delete(t.stubbed, c.ID) // a provider may use an id again
		t.calls = append(t.calls, &call{ToolCall: c})
	}
}

// restarts reports whether a part at index would void a call. Requests are not sent again once a call was
// journalled, so such a part begins another reply, and the entry that closed this one is lost.
func (t *transcript) restarts(index int) bool {
	return slices.ContainsFunc(t.open, func(o openPart) bool {
		_, isCall := o.part.(llm.ToolCall)
		return isCall && o.index >= index
	})
}

// over reports whether a body starts something that the exchange must be over for.
func (t *transcript) over(b Body) bool {
	switch b := b.(type) {
	case User:
		return true
	case Part:
		return t.closed || t.restarts(b.Index)
	case Reply:
		return t.closed
	}
	return false
}

// void drops open parts from index on: the request was sent again, or the reply came out shorter. Calls
// and the messages before them stay.
func (t *transcript) void(index int) {
	keep := 0
	for i, o := range t.open {
		if _, isCall := o.part.(llm.ToolCall); isCall || o.index < index {
			keep = i + 1
		}
	}
	t.open = t.open[:keep]
}

// close puts the open reply into the messages. Parts gets its own array, because providers know
// encoded messages by it. A reply without parts cannot be sent and is left out.
func (t *transcript) close(r Reply) {
	if len(t.open) == 0 {
		return
	}
	parts := make([]llm.Part, len(t.open))
	for i, o := range t.open {
		parts[i] = o.part
	}
	t.add(llm.Message{
		ID: r.MessageID, Role: llm.Assistant, Parts: parts, Model: r.Model, Usage: r.Usage, Stop: r.Stop,
	})
	t.open = t.open[:0:0]
	t.closed = len(t.calls) > 0
	t.deliver()
}

// deliver adds the results once the reply is closed and every call has one.
func (t *transcript) deliver() {
	if !t.closed || slices.ContainsFunc(t.calls, func(c *call) bool { return c.result == nil }) {
		return
	}
	parts := make([]llm.Part, len(t.calls))
	for i, c := range t.calls {
		parts[i] = *c.result
	}
	t.add(llm.Message{Role: llm.User, Parts: parts})
	t.calls, t.closed = nil, false
}

// repairs lists the bodies that bring the exchange to its end: none when there is nothing to repair.
func (t *transcript) repairs(model string) []Body {
	var out []Body
	if n := len(t.open); n > 0 {
		out = append(out, Reply{Model: model, Stop: llm.StopBroken, Parts: t.open[n-1].index + 1})
	}
	for _, c := range t.invoked {
		out = append(out, CallEnd{
			Result: llm.TextResult(*c.Call, notEnded, true), Synthetic: true, Invoked: true, Parent: c.Parent,
		})
	}
	for _, c := range t.calls {
		if c.result == nil {
			out = append(out, CallEnd{Result: c.lost(), Synthetic: true})
		}
	}
	return out
}

// running reports whether a call that the model did not make has started and not ended.
func (t *transcript) running(id string) bool {
	return slices.ContainsFunc(t.invoked, func(c CallStart) bool { return c.CallID == id })
}

// settle ends the exchange without entries for it. Sessions of this package write them first; in a log
// that lost lines the outcome is the same.
func (t *transcript) settle() {
	for _, b := range t.repairs("") {
		t.apply(b, t.at)
	}
}
