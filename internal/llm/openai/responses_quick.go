package openai

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/llm"
)

// quickResponses reads the events of the Responses API as quick reads chunks.
type quickResponses struct {
	event    responseEvent
	response response
	kind     string // of the last event
	stencil  llm.Stencil
}

func (q *quickResponses) readEvent(data []byte) bool {
	if q.stencil.Again(data) {
		return true
	}
	q.event = responseEvent{}
	e := &q.event
	s := q.stencil.Scan(data)
	var seen llm.Members
	return q.stencil.Done(s.Object(func(name []byte) (ok bool) {
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
			return s.QuotedTo((*[]byte)(&e.Delta)) && seen.First(16)
		case "item":
			e.Item, ok = s.Raw()
			return ok && seen.First(32)
		case "response":
			e.Response = &q.response
			return seen.First(64) && q.response.quick(&s)
		case "sequence_number", "obfuscation":
			return s.Vary()
		case "item_id", "logprobs", "part", "text", "arguments":
			return s.Skip()
		}
		return false
	}) && s.End())
}

// quick reads the state of a reply, which mostly has what the request had.
func (r *response) quick(s *llm.Scanner) bool {
	*r = response{}
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "id":
			r.ID, ok = s.Text()
			return ok && seen.First(1)
		case "model":
			r.Model, ok = s.Text()
			return ok && seen.First(2)
		case "status":
			r.Status, ok = s.Text()
			return ok && seen.First(4)
		case "error":
			r.Error, ok = s.Raw()
			return ok && seen.First(8)
		case "output":
			return seen.First(16) && llm.RawsTo(s, &r.Output)
		case "usage":
			return seen.First(32) && llm.DecodeTo(s, &r.Usage)
		case "incomplete_details":
			return s.Null()
		}
		return s.Other(name, "id", "model", "status", "error", "output", "usage", "incomplete_details")
	})
}

// quickItem reads an item of the output.
func quickItem(raw []byte, it *responseItem) bool {
	s := llm.NewScanner(raw)
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "type":
			it.Type, ok = s.Text()
			return ok && seen.First(1)
		case "id":
			it.ID, ok = s.Text()
			return ok && seen.First(2)
		case "call_id":
			it.CallID, ok = s.Text()
			return ok && seen.First(4)
		case "name":
			it.Name, ok = s.Text()
			return ok && seen.First(8)
		case "arguments":
			it.Arguments, ok = s.Raw()
			return ok && seen.First(16)
		case "phase":
			it.Phase, ok = s.Raw()
			return ok && seen.First(32)
		case "content":
			return seen.First(64) && quickContents(&s, &it.Content)
		case "summary":
			return seen.First(128) && quickContents(&s, &it.Summary)
		case "encrypted_content":
			it.Encrypted, ok = s.Text()
			return ok && seen.First(256)
		}
		return s.Other(name, "type", "id", "call_id", "name", "arguments", "input", "phase", "content", "summary", "encrypted_content")
	}) && s.End()
}

func quickContents(s *llm.Scanner, out *[]responseContent) bool {
	if s.Null() {
		*out = nil
		return true
	}
	*out = []responseContent{}
	return s.Array(func(int) bool {
		var c responseContent
		ok := c.quick(s)
		*out = append(*out, c)
		return ok
	})
}

func (c *responseContent) quick(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "type":
			c.Type, ok = s.Text()
			return ok && seen.First(1)
		case "text":
			c.Text, ok = s.Text()
			return ok && seen.First(2)
		case "refusal":
			c.Refusal, ok = s.Text()
			return ok && seen.First(4)
		case "annotations":
			raw, ok := s.Raw()
			return ok && seen.First(8) && json.Unmarshal(raw, &c.Annotations) == nil
		}
		return s.Other(name, "type", "text", "refusal", "annotations")
	})
}
