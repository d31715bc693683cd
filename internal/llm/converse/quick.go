package converse

import "github.com/lathe-dev/lathe/internal/llm"

// quick reads the events of an ordinary stream, which mostly are pieces of a text, of a thought and of a call's input, in a small part
// of the time of encoding/json, which reads all others. What it read is valid until the next event.
type quick struct {
	event     event
	delta     delta
	text      string
	tool      toolDelta
	reasoning reasoningDelta
	stencil   llm.Stencil
}

func (q *quick) read(data []byte) bool {
	if q.stencil.Again(data) {
		return true
	}
	q.event, q.delta, q.text, q.tool, q.reasoning = event{}, delta{}, "", toolDelta{}, reasoningDelta{}
	s := q.stencil.Scan(data)
	var seen llm.Members
	return q.stencil.Done(s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "contentBlockIndex":
			q.event.Index, ok = s.Int()
			return ok && seen.First(1)
		case "delta":
			q.event.Delta = &q.delta
			return seen.First(2) && q.readDelta(&s)
		case "stopReason":
			q.event.Stop, ok = s.Text()
			return ok && seen.First(4)
		case "usage":
			return seen.First(8) && llm.DecodeTo(&s, &q.event.Usage)
		case "start":
			return seen.First(16) && llm.DecodeTo(&s, &q.event.Start)
		case "p": // padding
			return s.Vary()
		case "role", "metrics":
			return s.Skip()
		}
		return false
	}) && s.End())
}

func (q *quick) readDelta(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) bool {
		switch string(name) {
		case "text":
			q.delta.Text = &q.text
			return s.TextTo(&q.text) && seen.First(1)
		case "toolUse":
			q.delta.Tool = &q.tool
			return seen.First(2) && quickMember(s, "input", &q.tool.Input)
		case "reasoningContent":
			q.delta.Reasoning = &q.reasoning
			return seen.First(4) && quickMember(s, "text", &q.reasoning.Text)
		}
		return false
	})
}

// quickMember reads an object that has at most one member, a text.
func quickMember(s *llm.Scanner, member string, to *string) bool {
	var seen llm.Members
	return s.Object(func(name []byte) bool {
		return string(name) == member && s.TextTo(to) && seen.First(1)
	})
}
