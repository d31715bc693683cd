package converse

import "github.com/lathe-dev/lathe/internal/llm"

// quickDelta reads the events of which a stream mostly consists: pieces of a text, of a thought and of a call's input.
// encoding/json, which reads all others, takes ten times as long.
func quickDelta(data []byte, e *event) bool {
	*e = event{}
	s := llm.NewScanner(data)
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "contentBlockIndex":
			e.Index, ok = s.Int()
			return ok && seen.First(1)
		case "delta":
			e.Delta = &delta{}
			return seen.First(2) && e.Delta.quick(&s)
		case "p": // padding
			return s.Skip()
		}
		return false
	}) && s.End() && seen == 3
}

func (d *delta) quick(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) bool {
		switch string(name) {
		case "text":
			text, ok := s.Text()
			d.Text = &text
			return ok && seen.First(1)
		case "toolUse":
			d.Tool = &toolDelta{}
			return seen.First(2) && quickMember(s, "input", &d.Tool.Input)
		case "reasoningContent":
			d.Reasoning = &reasoningDelta{}
			return seen.First(4) && quickMember(s, "text", &d.Reasoning.Text)
		}
		return false
	})
}

// quickMember reads an object that has at most one member, a text.
func quickMember(s *llm.Scanner, member string, to *string) bool {
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		if string(name) != member {
			return false
		}
		*to, ok = s.Text()
		return ok && seen.First(1)
	})
}
