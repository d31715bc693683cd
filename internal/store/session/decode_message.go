package session

import (
	"github.com/lathe-dev/lathe/internal/llm"
)

func (d *decoder) message() (m llm.Message) {
	d.read(d.scan.fields(), member{"role", (*string)(&m.Role)}, member{"id", &m.ID}, member{"parts", &m.Parts},
		member{"model", &m.Model}, member{"stop", (*string)(&m.Stop)}, member{"usage", &m.Usage},
		member{"from", &m.From})
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
		var r llm.Reasoning
		d.read(s.more(), member{"text", &r.Text}, member{"signature", &r.Signature}, member{"data", &r.Data},
			member{"provider", &r.Provider}, member{"opaque", &r.Opaque})
		return r
	case "media":
		var m llm.Media
		d.read(s.more(), member{"mime", &m.MIME}, member{"data", &m.Data}, member{"name", &m.Name})
		return m
	case "tool_call":
		var c llm.ToolCall
		d.read(s.more(), member{"id", &c.ID}, member{"name", &c.Name}, member{"raw", &c.Raw}, member{"input", &c.Input},
			member{"opaque", &c.Opaque})
		return c
	case "tool_result":
		var r llm.ToolResult
		d.read(s.more(), member{"call_id", &r.CallID}, member{"name", &r.Name}, member{"parts", &r.Parts},
			member{"is_error", &r.IsError})
		return r
	}
	return d.slowPart(start)
}

func (d *decoder) slowPart(start int) llm.Part {
	d.scan.i = start
	p, err := unmarshal[llm.StoredPart](d.scan.raw())
	d.scan.bad = d.scan.bad || err != nil
	return p.Part
}

func (d *decoder) text() (t llm.Text) {
	skipped := false
	d.read(d.scan.more(), member{"origin", func() {
		t.Origin = llm.Origin(d.scan.str())
		d.scan.bad = d.scan.bad || skipped // its text was skipped too early
	}}, member{"text", func() {
		if skipped = d.texts != nil && !d.texts(t.Origin); skipped {
			d.scan.quoted()
		} else {
			t.Text = d.scan.str()
		}
	}}, member{"opaque", &t.Opaque})
	return t
}
