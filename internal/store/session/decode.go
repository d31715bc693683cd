package session

import (
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
	case "connection":
		return unmarshal[Connection](line)
	case "hook":
		return unmarshal[HookRun](line)
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
