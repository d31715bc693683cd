package anthropic

import "github.com/lathe-dev/lathe/internal/llm"

// quick reads a content_block_delta with a text, the event of which a stream mostly consists, in a small part of the time of
// encoding/json, which reads all others. What it read is valid until the next event.
type quick struct {
	event   event
	delta   delta
	stencil llm.Stencil
}

func (q *quick) read(data []byte) bool {
	if q.stencil.Again(data) {
		return true
	}
	q.event, q.delta = event{}, delta{}
	e := &q.event
	s := q.stencil.Scan(data)
	var seen llm.Members
	return q.stencil.Done(s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "type":
			e.Type, ok = s.Kind("content_block_delta")
			return ok && seen.First(1)
		case "index":
			e.Index, ok = s.Int()
			return ok && seen.First(2)
		case "delta":
			e.Delta = &q.delta
			return seen.First(4) && e.Delta.quick(&s)
		}
		return false
	}) && s.End() && seen == 7)
}

func (d *delta) quick(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "type":
			d.Type, ok = s.Kind("text_delta", "input_json_delta", "thinking_delta")
			return ok && seen.First(1)
		case "text":
			return s.TextTo(&d.Text) && seen.First(2)
		case "partial_json":
			return s.TextTo(&d.PartialJSON) && seen.First(4)
		case "thinking":
			return s.TextTo(&d.Thinking) && seen.First(8)
		}
		return false
	})
}
