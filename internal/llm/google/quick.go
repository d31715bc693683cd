package google

import (
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/llm"
)

// quick reads the events of which a stream mostly consists in one pass, in the same form as encoding/json, which takes many times as
// long and reads all others. The values that it returns are valid until the next event.
type quick struct {
	chunk     chunk
	candidate [1]candidate
	parts     [mostParts]json.RawMessage
	known     [mostParts]quickPart
	usage     usage
	stencil   llm.Stencil

	model, id string // of the last event
}

// mostParts is the number of parts in a chunk that is read in one pass.
const mostParts = 4

// quickPart is a part that is a text, a thought or a call.
type quickPart struct {
	part wirePart
	text string
	call wireCall
	ok   bool // else the part is of another kind
}

// readChunk reads a chunk with one candidate that goes on.
func (q *quick) readChunk(data []byte) bool {
	if q.stencil.Again(data) {
		return true
	}
	q.chunk, q.candidate[0] = chunk{}, candidate{}
	s := q.stencil.Scan(data)
	var seen llm.Members
	return q.stencil.Done(s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "candidates":
			q.chunk.Candidates = q.candidate[:]
			n := 0
			return seen.First(1) && s.Array(func(i int) bool { n++; return i == 0 && q.readCandidate(&s) }) && n == 1
		case "usageMetadata":
			q.usage = usage{}
			q.chunk.Usage = &q.usage
			return seen.First(2) && q.usage.quick(&s)
		case "modelVersion":
			q.model, ok = s.Same(q.model)
			q.chunk.Model = q.model
			return ok && seen.First(4)
		case "responseId":
			q.id, ok = s.Same(q.id)
			q.chunk.ID = q.id
			return ok && seen.First(8)
		case "createTime", "trafficType":
			return s.Skip()
		}
		return false
	}) && s.End())
}

func (q *quick) readCandidate(s *llm.Scanner) bool {
	c := &q.candidate[0]
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "content":
			return seen.First(1) && q.readContent(s)
		case "index":
			c.Index, ok = s.Int()
			return ok && seen.First(2)
		case "finishReason":
			c.Finish, ok = s.Text()
			return ok && seen.First(4)
		case "finishMessage":
			c.Message, ok = s.Text()
			return ok && seen.First(8)
		case "safetyRatings", "avgLogprobs":
			return s.Skip()
		}
		return false
	})
}

func (q *quick) readContent(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) bool {
		switch string(name) {
		case "role":
			return s.Skip()
		case "parts":
			n := 0
			ok := seen.First(1) && s.Array(func(i int) (ok bool) {
				if i == len(q.parts) {
					return false
				}
				n++
				if q.parts[i] = nil; q.known[i].read(s) {
					return true
				}
				q.parts[i], ok = s.Raw()
				return ok
			})
			q.candidate[0].Content.Parts = q.parts[:n]
			return ok
		}
		return false
	})
}

// quick reads counts of tokens; their details by modality are of no interest.
func (u *usage) quick(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) bool {
		var to *int
		bit := llm.Members(1)
		switch string(name) {
		case "promptTokenCount":
			to = &u.Prompt
		case "cachedContentTokenCount":
			to, bit = &u.Cached, 2
		case "candidatesTokenCount":
			to, bit = &u.Candidates, 4
		case "thoughtsTokenCount":
			to, bit = &u.Thoughts, 8
		case "toolUsePromptTokenCount":
			to, bit = &u.Tools, 16
		case "totalTokenCount":
			return s.Vary()
		case "promptTokensDetails", "candidatesTokensDetails", "cacheTokensDetails", "toolUsePromptTokensDetails", "trafficType":
			return s.Skip()
		default:
			return false
		}
		return s.IntTo(to) && seen.First(bit)
	})
}

// part returns a part of the chunk that was read, if it is a text, a thought or a call.
func (q *quick) part(c *candidate, i int) *wirePart {
	if c == &q.candidate[0] && q.known[i].ok {
		return &q.known[i].part
	}
	return nil
}

// read reads a part that is a text, a thought or a call; others are left, to be read again.
func (t *quickPart) read(s *llm.Scanner) bool {
	t.part, t.text, t.call = wirePart{}, "", wireCall{}
	var seen llm.Members
	t.ok = s.Try(func(name []byte) (ok bool) {
		switch string(name) {
		case "text":
			t.part.Text = &t.text
			return s.TextTo(&t.text) && seen.First(1)
		case "thought":
			t.part.Thought, ok = s.Bool()
			return ok && seen.First(2)
		case "thoughtSignature":
			t.part.Signature, ok = s.Text()
			return ok && seen.First(4)
		case "functionCall":
			t.part.Call = &t.call
			return seen.First(8) && t.call.quick(s)
		}
		return false
	})
	return t.ok
}

func (c *wireCall) quick(s *llm.Scanner) bool {
	var seen llm.Members
	return s.Object(func(name []byte) (ok bool) {
		switch string(name) {
		case "id":
			c.ID, ok = s.Text()
			return ok && seen.First(1)
		case "name":
			c.Name, ok = s.Text()
			return ok && seen.First(2)
		case "args":
			c.Args, ok = s.Raw()
			return ok && seen.First(4)
		}
		return false
	})
}
