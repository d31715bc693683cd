package anthropic

import "github.com/lathe-dev/lathe/internal/llm"

// quick reads the events of an ordinary stream, which mostly are pieces of a text, in a small part of the time of encoding/json,
// which reads all others. What it read is valid until the next event.
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
			e.Type, ok = s.Kind("content_block_delta", "content_block_start", "content_block_stop", "message_start", "message_delta", "message_stop", "ping")
			return ok && seen.First(1)
		case "index":
			e.Index, ok = s.Int()
			return ok && seen.First(2)
		case "delta":
			e.Delta = &q.delta
			return seen.First(4) && e.Delta.quick(&s)
		case "content_block":
			e.Block, ok = s.Raw()
			return ok && seen.First(8)
		case "message":
			return seen.First(16) && llm.DecodeTo(&s, &e.Message)
		case "usage":
			return seen.First(32) && llm.DecodeTo(&s, &e.Usage)
		}
		return false
	}) && s.End() && seen.Has(1))
}

func (d *delta) quick(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "type":
			d.Type, ok = s.Kind("text_delta", "input_json_delta", "thinking_delta", "signature_delta")
			return ok && seen.First(1)
		case "text":
			return s.TextTo(&d.Text) && seen.First(2)
		case "partial_json":
			return s.TextTo(&d.PartialJSON) && seen.First(4)
		case "thinking":
			return s.TextTo(&d.Thinking) && seen.First(8)
		case "signature":
			d.Signature, ok = s.Text()
			return ok && seen.First(16)
		case "stop_reason":
			if s.Null() {
				return true
			}
			d.StopReason, ok = s.Text()
			return ok && seen.First(32)
		case "stop_sequence", "stop_details", "container":
			return s.Skip()
		}
		return false
	})
}
