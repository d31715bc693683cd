package openai

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/llm"
)

// quick reads the events of which streams mostly consist in one pass, in the same form as encoding/json, which takes many times as
// long and reads all others. The values that it returns are valid until the next event.
type quick struct {
	chunk   chunk
	choice  [1]choice
	content content
	pieces  []callPiece
	indexes [mostPieces]int
	finish  string
	stencil llm.Stencil

	id, model string // of the last event
}

// mostPieces is the number of pieces of calls in a chunk that is read in one pass.
const mostPieces = 8

// readChunk reads a chunk of Chat Completions with one choice that continues or ends a text, a thought or calls, or with the usage.
func (q *quick) readChunk(data []byte) bool {
	if q.stencil.Again(data) {
		return true
	}
	q.chunk, q.choice[0], q.content = chunk{}, choice{}, content{}
	if q.pieces = q.pieces[:0]; q.pieces == nil {
		q.pieces = make([]callPiece, 0, mostPieces)
	}
	s := q.stencil.Scan(data)
	var seen llm.Members
	return q.stencil.Done(s.Object(func(name []byte) (ok bool) {
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
			n := 0
			ok = seen.First(4) && s.Array(func(i int) bool { n = 1; return i == 0 && q.readChoice(&s) })
			q.chunk.Choices = q.choice[:n]
			return ok
		case "usage":
			return seen.First(8) && llm.DecodeTo(&s, &q.chunk.Usage)
		case "created", "obfuscation":
			return s.Vary()
		case "object", "system_fingerprint", "service_tier", "provider":
			return s.Skip()
		}
		return false
	}) && s.End())
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
			if !seen.First(4) {
				return false
			}
			if s.Null() {
				return true
			}
			q.finish, ok = s.Text()
			c.FinishReason = &q.finish
			return ok
		case "logprobs", "native_finish_reason", "stop_reason", "token_ids":
			return s.Skip()
		}
		return false
	})
}

func (q *quick) readContent(s *llm.Scanner) bool {
	c := &q.content
	var seen llm.Members
	return s.Object(func(name []byte) bool {
		switch string(name) {
		case "content":
			return textOrNull(s, &c.Content) && seen.First(1)
		case "reasoning_content":
			if s.Null() {
				return true
			}
			return s.TextTo(&c.ReasoningContent) && seen.First(2)
		case "reasoning":
			return textOrNull(s, &c.Reasoning) && seen.First(4)
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
		case "reasoning_details":
			return seen.First(16) && llm.RawsTo(s, &c.ReasoningDetails)
		case "role", "token_id":
			return s.Skip()
		}
		return false
	})
}

func textOrNull(s *llm.Scanner, to *json.RawMessage) bool {
	if s.Null() {
		*to = json.RawMessage("null")
		return true
	}
	return s.QuotedTo((*[]byte)(to))
}

// readPiece reads a piece of a call's arguments that names its call by an index, or the beginning of a call.
func (q *quick) readPiece(s *llm.Scanner) bool {
	n := len(q.pieces)
	if n == mostPieces {
		return false
	}
	q.pieces = q.pieces[:n+1]
	p, index := &q.pieces[n], &q.indexes[n]
	*p = callPiece{Index: index}
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "index":
			*index, ok = s.Int()
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
	}) && seen&1 != 0
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
			return textOrNull(s, &f.Arguments) && seen.First(2)
		}
		return false
	})
}
