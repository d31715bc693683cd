package anthropic

import "github.com/lathe-dev/lathe/internal/llm"

// quickDelta reads a content_block_delta with a text, the event of which a stream mostly consists. It takes a tenth of the time of
// encoding/json, which reads all others.
func quickDelta(data []byte, e *event, d *delta) bool {
	*e, *d = event{}, delta{}
	s := llm.NewScanner(data)
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "type":
			e.Type, ok = s.Kind("content_block_delta")
			return ok && seen.First(1)
		case "index":
			e.Index, ok = s.Int()
			return ok && seen.First(2)
		case "delta":
			e.Delta = d
			return seen.First(4) && d.quick(&s)
		}
		return false
	}) && s.End() && seen == 7
}

func (d *delta) quick(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "type":
			d.Type, ok = s.Kind("text_delta", "input_json_delta", "thinking_delta")
			return ok && seen.First(1)
		case "text":
			d.Text, ok = s.Text()
			return ok && seen.First(2)
		case "partial_json":
			d.PartialJSON, ok = s.Text()
			return ok && seen.First(4)
		case "thinking":
			d.Thinking, ok = s.Text()
			return ok && seen.First(8)
		}
		return false
	})
}
