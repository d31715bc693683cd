package session

import (
	"encoding/base64"
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/llm"
)

func (d *decoder) message() llm.Message {
	var m llm.Message
	s := &d.scan
	for key := range s.fields() {
		switch string(key) {
		case "role":
			m.Role = llm.Role(s.str())
		case "id":
			m.ID = s.str()
		case "parts":
			m.Parts = d.parts()
		case "model":
			m.Model = s.str()
		case "stop":
			m.Stop = llm.StopReason(s.str())
		case "usage":
			s.bad = json.Unmarshal(s.raw(), &m.Usage) != nil || s.bad
		default:
			s.skip()
		}
	}
	return m
}

func (d *decoder) parts() []llm.Part {
	var few [8]llm.Part
	parts := few[:0]
	for range d.scan.elements() {
		parts = append(parts, d.llmPart())
	}
	return append(make([]llm.Part, 0, len(parts)), parts...)
}

// llmPart reads one part; one whose type does not come first is left to package llm.
func (d *decoder) llmPart() llm.Part {
	s := &d.scan
	s.peek()
	start := s.i
	s.need('{')
	if string(s.quoted()) != "type" || !s.eat(':') || s.bad {
		return d.slowPart(start)
	}
	switch string(s.quoted()) {
	case "text":
		return d.text()
	case "reasoning":
		return d.reasoning()
	case "media":
		return d.media()
	case "tool_call":
		return d.call()
	case "tool_result":
		return d.result()
	}
	return d.slowPart(start)
}

func (d *decoder) slowPart(start int) llm.Part {
	d.scan.i = start
	p, err := llm.UnmarshalPart(d.scan.raw())
	if err != nil {
		d.scan.bad = true
	}
	return p
}

func (d *decoder) text() llm.Part {
	var t llm.Text
	skipped := false
	for key := range d.scan.more() {
		switch string(key) {
		case "text":
			if d.texts != nil && !d.texts(t.Origin) {
				d.scan.quoted()
				skipped = true
				continue
			}
			t.Text = d.scan.str()
		case "origin":
			t.Origin = llm.Origin(d.scan.str())
			d.scan.bad = d.scan.bad || skipped // its text was skipped too early
		case "opaque":
			t.Opaque = d.opaque()
		default:
			d.scan.skip()
		}
	}
	return t
}

func (d *decoder) reasoning() llm.Part {
	var r llm.Reasoning
	for key := range d.scan.more() {
		switch string(key) {
		case "text":
			r.Text = d.scan.str()
		case "signature":
			r.Signature = d.scan.str()
		case "data":
			r.Data = d.scan.str()
		case "provider":
			r.Provider = d.scan.str()
		case "opaque":
			r.Opaque = d.opaque()
		default:
			d.scan.skip()
		}
	}
	return r
}

func (d *decoder) media() llm.Part {
	var m llm.Media
	for key := range d.scan.more() {
		switch string(key) {
		case "mime":
			m.MIME = d.scan.str()
		case "data":
			m.Data = d.bytes()
		case "name":
			m.Name = d.scan.str()
		default:
			d.scan.skip()
		}
	}
	return m
}

// bytes reads a string of base64.
func (d *decoder) bytes() []byte {
	raw := d.scan.quoted()
	out := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Decode(out, raw)
	if err != nil {
		d.scan.bad = true
	}
	return out[:n]
}

func (d *decoder) call() llm.Part {
	var c llm.ToolCall
	for key := range d.scan.more() {
		switch string(key) {
		case "id":
			c.ID = d.scan.str()
		case "name":
			c.Name = d.scan.str()
		case "raw":
			c.Raw = d.scan.str()
		case "input":
			c.Input = d.json()
		case "opaque":
			c.Opaque = d.opaque()
		default:
			d.scan.skip()
		}
	}
	return c
}

// json reads any JSON value.
func (d *decoder) json() json.RawMessage {
	raw := d.scan.raw()
	d.scan.bad = d.scan.bad || !d.borrow && !json.Valid(raw)
	return append(json.RawMessage(nil), raw...)
}

// opaque reads a provider's data on a part.
func (d *decoder) opaque() *llm.Opaque {
	o := &llm.Opaque{}
	for key := range d.scan.fields() {
		switch string(key) {
		case "provider":
			o.Provider = d.scan.str()
		case "json":
			o.JSON = d.json()
		default:
			d.scan.skip()
		}
	}
	return o
}

func (d *decoder) result() llm.Part {
	var r llm.ToolResult
	for key := range d.scan.more() {
		switch string(key) {
		case "call_id":
			r.CallID = d.scan.str()
		case "name":
			r.Name = d.scan.str()
		case "parts":
			r.Parts = d.parts()
		case "is_error":
			r.IsError = d.scan.yes()
		default:
			d.scan.skip()
		}
	}
	return r
}
