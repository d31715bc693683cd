package event

import (
	"slices"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Merges reports whether a body is a piece of something that follows complete: pieces that wait are merged.
func Merges(b Body) bool {
	switch b.(type) {
	case Delta, ToolOutput:
		return true
	}
	return false
}

// merge adds e to p if both are pieces of the same thing, and says whether it did.
func (p *pending) merge(e Event) bool {
	if !Merges(e.Body) || p.Session != e.Session || !slices.Equal(p.Agent, e.Agent) {
		return false
	}
	body, ok := follow(p.Body, e.Body)
	if !ok {
		return false
	}
	if p.more == nil {
		p.more = append(p.more, text(p.Body)...)
	}
	p.more = append(p.more, text(e.Body)...)
	p.Body, p.Seq, p.Time = body, e.Seq, e.Time
	return true
}

// join returns the event with its merged text.
func (p *pending) join() Event {
	e := p.Event
	if p.more != nil {
		e.Body = withText(e.Body, string(p.more))
	}
	return e
}

// follow returns a and b merged except for their text, or false if they are not pieces of one thing or if
// merging would lose something. Mostly it returns a itself, without allocating.
func follow(a, b Body) (Body, bool) {
	switch b := b.(type) {
	case ToolOutput:
		first, ok := a.(ToolOutput)
		return a, ok && first.CallID == b.CallID
	case Delta:
		first, ok := a.(Delta)
		if !ok || first.MessageID != b.MessageID || first.Shown != nil || b.Shown != nil {
			return nil, false
		}
		return followDelta(a, first, b.Delta)
	}
	return nil, false
}

func followDelta(a Body, first Delta, next llm.Delta) (Body, bool) {
	switch next := next.(type) {
	case llm.TextDelta:
		d, ok := first.Delta.(llm.TextDelta)
		return a, ok && d.Index == next.Index
	case llm.ToolDelta:
		d, ok := first.Delta.(llm.ToolDelta)
		return a, ok && d.Index == next.Index && next.ID == "" && next.Name == ""
	case llm.ReasoningDelta:
		d, ok := first.Delta.(llm.ReasoningDelta)
		if !ok || d.Index != next.Index || d.Signature != "" {
			return nil, false // a signature ends the text before it: nothing may be appended
		}
		if next.Signature == "" {
			return a, true
		}
		d.Signature = next.Signature
		return Delta{MessageID: first.MessageID, Delta: d}, true
	}
	return nil, false
}

func text(b Body) string {
	switch b := b.(type) {
	case ToolOutput:
		return b.Text
	case Delta:
		switch d := b.Delta.(type) {
		case llm.TextDelta:
			return d.Text
		case llm.ReasoningDelta:
			return d.Text
		case llm.ToolDelta:
			return d.JSON
		}
	}
	return ""
}

func withText(b Body, s string) Body {
	switch b := b.(type) {
	case ToolOutput:
		b.Text = s
		return b
	case Delta:
		switch d := b.Delta.(type) {
		case llm.TextDelta:
			d.Text = s
			return Delta{MessageID: b.MessageID, Delta: d}
		case llm.ReasoningDelta:
			d.Text = s
			return Delta{MessageID: b.MessageID, Delta: d}
		case llm.ToolDelta:
			d.JSON = s
			return Delta{MessageID: b.MessageID, Delta: d}
		}
	}
	return b
}
