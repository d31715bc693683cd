package session

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// decoder turns lines into bodies. The scanner reads the bulk of a log (messages, parts, results);
// encoding/json reads everything else, and every line on which the scanner fails.
type decoder struct {
	scan scanner
	// lean leaves out the parts that no model gets: a call's title, view and meta.
	lean bool
	// noMeta leaves out the structured output of results.
	noMeta bool
	// borrow lets a view be bytes of the line, and trusts that they are JSON, as the checksum of the line says.
	borrow bool
	// holds is text that a line must contain, or it is skipped.
	holds []byte
	// texts reports whether texts of an origin are wanted; nil: all. Others stay empty.
	texts func(llm.Origin) bool
}

// body decodes the body of an entry.
func (d *decoder) body(kind string, line []byte) (Body, error) {
	d.scan.reset(line)
	var b Body
	switch kind {
	case "user":
		b = d.user()
	case "part":
		b = d.part()
	case "call_end", "invoke_end":
		b = d.callEnd(kind == "invoke_end")
	case "reply":
		b = d.reply()
	case "call_start":
		b = d.callStart()
	default:
		return slowBody(kind, line)
	}
	if d.scan.bad || d.scan.i != len(line) {
		return slowBody(kind, line)
	}
	return b, nil
}

func (d *decoder) user() Body {
	var u User
	s := &d.scan
	for key := range s.fields() {
		switch string(key) {
		case "message":
			u.Message = d.message()
		case "steered":
			u.Steered = s.yes()
		case "synthetic":
			u.Synthetic = s.yes()
		default:
			s.skip()
		}
	}
	return u
}

func (d *decoder) part() Body {
	var p Part
	s := &d.scan
	for key := range s.fields() {
		switch string(key) {
		case "index":
			p.Index = s.num()
		case "part":
			p.Part = d.llmPart()
		default:
			s.skip()
		}
	}
	if p.Part == nil {
		s.bad = true
	}
	return p
}

func (d *decoder) callEnd(invoked bool) Body {
	c := CallEnd{Invoked: invoked}
	s := &d.scan
	for key := range s.fields() {
		switch string(key) {
		case "result":
			r, ok := d.llmPart().(llm.ToolResult)
			c.Result, s.bad = r, s.bad || !ok
		case "title":
			c.Title = d.unlessLean(s.quoted)
		case "view":
			c.View = d.rawUnlessLean()
		case "meta":
			if d.noMeta {
				s.skip()
			} else {
				c.Meta = d.rawUnlessLean()
			}
		case "denied":
			c.Denied = s.yes()
		case "synthetic":
			c.Synthetic = s.yes()
		case "duration_ms":
			c.Duration = time.Duration(s.num()) * time.Millisecond
		case "parent_call":
			c.Parent = s.str()
		case "call":
			s.bad = json.Unmarshal(s.raw(), &c.Call) != nil || s.bad
		default:
			s.skip()
		}
	}
	return c
}

func (d *decoder) reply() Body {
	var r Reply
	s := &d.scan
	for key := range s.fields() {
		switch string(key) {
		case "message_id":
			r.MessageID = s.str()
		case "model":
			r.Model = s.str()
		case "usage":
			r.Usage = d.usage()
		case "stop":
			r.Stop = llm.StopReason(s.str())
		case "parts":
			r.Parts = s.num()
		default:
			s.skip()
		}
	}
	return r
}

// usage reads the counts of a usage; one with more is left to encoding/json.
func (d *decoder) usage() *llm.Usage {
	u, s := &llm.Usage{}, &d.scan
	for key := range s.fields() {
		switch string(key) {
		case "input":
			u.Input = s.num()
		case "output":
			u.Output = s.num()
		case "cache_read":
			u.CacheRead = s.num()
		case "cache_write":
			u.CacheWrite = s.num()
		case "cache_write_1h":
			u.CacheWrite1h = s.num()
		case "reasoning":
			u.Reasoning = s.num()
		default:
			s.bad = true
			return u
		}
	}
	return u
}

// callStart reads the start of a call that is in its reply; any other is left to encoding/json.
func (d *decoder) callStart() Body {
	var c CallStart
	s := &d.scan
	for key := range s.fields() {
		switch string(key) {
		case "call_id":
			c.CallID = s.str()
		case "parent_call", "call":
			s.bad = true
			return c
		default:
			s.skip()
		}
	}
	return c
}

func (d *decoder) unlessLean(skip func() []byte) string {
	if d.lean {
		skip()
		return ""
	}
	return d.scan.str()
}

func (d *decoder) rawUnlessLean() json.RawMessage {
	raw := d.scan.raw()
	if d.lean {
		return nil
	}
	if d.borrow {
		return json.RawMessage(raw)
	}
	if !json.Valid(raw) {
		d.scan.bad = true
	}
	return json.RawMessage(append([]byte(nil), raw...))
}

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

type wirePart struct {
	Index int             `json:"index"`
	Part  json.RawMessage `json:"part"`
}

type wireCallEnd struct {
	Result    json.RawMessage `json:"result"`
	Title     string          `json:"title"`
	View      json.RawMessage `json:"view"`
	Meta      json.RawMessage `json:"meta"`
	Denied    bool            `json:"denied"`
	Synthetic bool            `json:"synthetic"`
	Duration  int64           `json:"duration_ms"`
	Parent    string          `json:"parent_call"`
	Call      *llm.ToolCall   `json:"call"`
}

// slowBody decodes any body with encoding/json.
func slowBody(kind string, line []byte) (Body, error) {
	switch kind {
	case "user":
		return unmarshal[User](line)
	case "part":
		return slowPartBody(line)
	case "call_end", "invoke_end":
		return slowCallEnd(line, kind == "invoke_end")
	case "compaction":
		w, err := unmarshal[wireCompaction](line)
		return w.body(), err
	case "turn_end":
		w, err := unmarshal[wireTurnEnd](line)
		return w.body(), err
	case "call_start", "invoke_start":
		start, err := unmarshal[CallStart](line)
		start.Invoked = kind == "invoke_start"
		return start, err
	case "reply":
		return unmarshal[Reply](line)
	case "decision":
		return unmarshal[Decision](line)
	case "head":
		return unmarshal[Head](line)
	case "title":
		return unmarshal[Title](line)
	case "model":
		return unmarshal[Model](line)
	case "mode":
		return unmarshal[Mode](line)
	case "note":
		return unmarshal[Note](line)
	case "side_request":
		return unmarshal[SideRequest](line)
	case "seen":
		return unmarshal[Seen](line)
	case "prefix":
		return unmarshal[Prefix](line)
	case "grant":
		return unmarshal[Grant](line)
	case "system":
		return unmarshal[System](line)
	case "blob":
		return unmarshal[BlobRef](line)
	}
	return unknownBody(kind, line)
}

func unmarshal[T any](line []byte) (T, error) {
	var v T
	err := json.Unmarshal(line, &v)
	return v, err
}

func slowPartBody(line []byte) (Body, error) {
	w, err := unmarshal[wirePart](line)
	if err != nil {
		return nil, err
	}
	p, err := llm.UnmarshalPart(w.Part)
	return Part{Index: w.Index, Part: p}, err
}

func slowCallEnd(line []byte, invoked bool) (Body, error) {
	w, err := unmarshal[wireCallEnd](line)
	if err != nil {
		return nil, err
	}
	p, err := llm.UnmarshalPart(w.Result)
	if err != nil {
		return nil, err
	}
	r, ok := p.(llm.ToolResult)
	if !ok {
		return nil, fmt.Errorf("the result of a call_end is a %T", p)
	}
	return CallEnd{
		Result: r, Title: w.Title, View: w.View, Meta: w.Meta, Denied: w.Denied, Synthetic: w.Synthetic,
		Duration: time.Duration(w.Duration) * time.Millisecond, Invoked: invoked, Parent: w.Parent, Call: w.Call,
	}, nil
}

// envelopeKeys are the members that every entry has.
var envelopeKeys = []string{"id", "parent", "time", "kind", "crc"}

func unknownBody(kind string, line []byte) (Body, error) {
	members, err := unmarshal[map[string]json.RawMessage](line)
	if err != nil {
		return nil, err
	}
	for _, key := range envelopeKeys {
		delete(members, key)
	}
	if len(members) == 0 {
		return Unknown{Name: kind}, nil
	}
	raw, err := appendMarshal(nil, members)
	return Unknown{Name: kind, JSON: raw}, err
}
