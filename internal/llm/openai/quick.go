package openai

import "github.com/lathe-dev/lathe/internal/llm"

// quick reads the events of which streams mostly consist in one pass, in the same form as encoding/json, which takes ten times as
// long and reads all others. The values that it returns are valid until the next event.
type quick struct {
	chunk   chunk
	choice  [1]choice
	content content
	pieces  []callPiece
	event   responseEvent

	id, model, kind string // of the last event
}

// readChunk reads a chunk of Chat Completions with one choice that continues a text, a thought or calls.
func (q *quick) readChunk(data []byte) bool {
	q.chunk, q.choice[0], q.content = chunk{}, choice{}, content{}
	q.pieces = q.pieces[:0]
	s := llm.NewScanner(data)
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "id":
			q.id, ok = s.Same(q.id)
			q.chunk.ID = q.id
			return ok && seen.First(1)
		case "model":
			q.model, ok = s.Same(q.model)
			q.chunk.Model = q.model
			return ok && seen.First(2)
		case "choices":
			q.chunk.Choices = q.choice[:]
			n := 0
			return seen.First(4) && s.Array(func(i int) bool { n++; return i == 0 && q.readChoice(&s) }) && n == 1
		case "usage":
			return s.Null()
		case "object", "created", "system_fingerprint", "service_tier", "provider", "obfuscation":
			return s.Skip()
		}
		return false
	}) && s.End()
}

func (q *quick) readChoice(s *llm.Scanner) bool {
	c := &q.choice[0]
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "index":
			c.Index, ok = s.Int()
			return ok && seen.First(1)
		case "delta":
			c.Delta = &q.content
			return seen.First(2) && q.readContent(s)
		case "finish_reason":
			return s.Null()
		case "logprobs", "native_finish_reason", "stop_reason", "token_ids":
			return s.Skip()
		}
		return false
	})
}

func (q *quick) readContent(s *llm.Scanner) bool {
	c := &q.content
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "content":
			c.Content, ok = textOrNull(s)
			return ok && seen.First(1)
		case "reasoning_content":
			if s.Null() {
				return true
			}
			c.ReasoningContent, ok = s.Text()
			return ok && seen.First(2)
		case "reasoning":
			c.Reasoning, ok = textOrNull(s)
			return ok && seen.First(4)
		case "tool_calls":
			if s.Null() {
				c.ToolCalls = nil
				return true
			}
			if !seen.First(8) || !s.Array(func(int) bool { return q.readPiece(s) }) {
				return false
			}
			c.ToolCalls = q.pieces
			return true
		case "refusal", "function_call", "audio":
			return s.Null()
		case "role":
			return s.Skip()
		}
		return false
	})
}

func textOrNull(s *llm.Scanner) ([]byte, bool) {
	if s.Null() {
		return []byte("null"), true
	}
	return s.Quoted()
}

// readPiece reads a piece of a call's arguments that names its call by an index, or the beginning of a call.
func (q *quick) readPiece(s *llm.Scanner) bool {
	p := callPiece{}
	var seen llm.Members
	index := 0
	ok := s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "index":
			index, ok = s.Int()
			return ok && seen.First(1)
		case "id":
			if s.Null() {
				return true
			}
			p.ID, ok = s.Text()
			return ok && seen.First(2)
		case "function":
			return seen.First(4) && readFunction(s, &p.Function)
		case "type":
			return s.Skip()
		}
		return false
	})
	if !ok || seen&1 == 0 {
		return false
	}
	p.Index = &index
	q.pieces = append(q.pieces, p)
	return true
}

func readFunction(s *llm.Scanner, f *functionPiece) bool {
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "name":
			if s.Null() {
				return true
			}
			f.Name, ok = s.Text()
			return ok && seen.First(1)
		case "arguments":
			f.Arguments, ok = textOrNull(s)
			return ok && seen.First(2)
		}
		return false
	})
}

// readEvent reads an event of the Responses API that continues an item.
func (q *quick) readEvent(data []byte) bool {
	q.event = responseEvent{}
	e := &q.event
	s := llm.NewScanner(data)
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "type":
			q.kind, ok = s.Same(q.kind)
			e.Type = q.kind
			return ok && seen.First(1)
		case "output_index":
			e.Index, ok = s.Int()
			return ok && seen.First(2)
		case "content_index":
			e.Content, ok = s.Int()
			return ok && seen.First(4)
		case "summary_index":
			e.Summary, ok = s.Int()
			return ok && seen.First(8)
		case "delta":
			e.Delta, ok = s.Quoted()
			return ok && seen.First(16)
		case "sequence_number", "item_id", "logprobs", "obfuscation":
			return s.Skip()
		}
		return false
	}) && s.End()
}
