package session

import (
	"encoding/base64"
	"encoding/json"
	"iter"
	"sync"
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

// member is the name of a member of an object, and where its value goes.
type member struct {
	name string
	to   any
}

// read reads the members of an object whose names are in the list, and skips the others.
func (d *decoder) read(names iter.Seq[[]byte], list ...member) {
next:
	for name := range names {
		for i := range list {
			if list[i].name == string(name) {
				d.value(list[i].to)
				continue next
			}
		}
		d.scan.skip()
	}
}

// value reads a value of the type that to points to. A function reads the value itself.
func (d *decoder) value(to any) {
	s := &d.scan
	switch to := to.(type) {
	case *string:
		*to = s.str()
	case *int:
		*to = s.num()
	case *bool:
		*to = s.yes()
	case *[]byte:
		*to = d.base64()
	case *json.RawMessage:
		*to = d.json()
	case *llm.Part:
		*to = d.llmPart()
	case *[]llm.Part:
		*to = d.parts()
	case **llm.Opaque:
		o := &llm.Opaque{}
		d.read(s.fields(), member{"provider", &o.Provider}, member{"json", &o.JSON})
		*to = o
	case func():
		to()
	default: // rare
		s.bad = json.Unmarshal(s.raw(), to) != nil || s.bad
	}
}

func (d *decoder) user() (u User) {
	message := func() { u.Message = d.message() }
	d.read(d.scan.fields(), member{"message", message}, member{"steered", &u.Steered}, member{"synthetic", &u.Synthetic})
	return u
}

func (d *decoder) part() (p Part) {
	d.read(d.scan.fields(), member{"index", &p.Index}, member{"part", &p.Part})
	d.scan.bad = d.scan.bad || p.Part == nil
	return p
}

func (d *decoder) callEnd(invoked bool) Body {
	c := CallEnd{Invoked: invoked}
	var result llm.Part
	var ms int
	title, meta := any(&c.Title), any(func() { c.Meta = d.rawUnlessLean() })
	if d.lean {
		title = func() { d.scan.quoted() }
	}
	if d.noMeta {
		meta = d.scan.skip
	}
	d.read(d.scan.fields(), member{"result", &result}, member{"title", title},
		member{"view", func() { c.View = d.rawUnlessLean() }}, member{"meta", meta},
		member{"denied", &c.Denied}, member{"synthetic", &c.Synthetic}, member{"duration_ms", &ms},
		member{"parent_call", &c.Parent}, member{"call", &c.Call})
	r, ok := result.(llm.ToolResult)
	d.scan.bad = d.scan.bad || !ok
	c.Result, c.Duration = r, time.Duration(ms)*time.Millisecond
	return c
}

func (d *decoder) reply() (r Reply) {
	usage := func() { r.Usage = d.usage() }
	d.read(d.scan.fields(), member{"message_id", &r.MessageID}, member{"model", &r.Model}, member{"usage", usage},
		member{"stop", (*string)(&r.Stop)}, member{"parts", &r.Parts})
	return r
}

func (d *decoder) usage() *llm.Usage {
	u := &llm.Usage{}
	d.read(d.scan.fields(), member{"input", &u.Input}, member{"output", &u.Output}, member{"cache_read", &u.CacheRead},
		member{"cache_write", &u.CacheWrite}, member{"cache_write_1h", &u.CacheWrite1h}, member{"reasoning", &u.Reasoning},
		member{"estimated", &u.Estimated}, member{"cost_usd", d.rare})
	return u
}

// callStart reads the start of a call that is in its reply; any other is left to encoding/json.
func (d *decoder) callStart() (c CallStart) {
	d.read(d.scan.fields(), member{"call_id", &c.CallID}, member{"parent_call", d.rare}, member{"call", d.rare})
	return c
}

// rare leaves the line to encoding/json.
func (d *decoder) rare() { d.scan.bad = true }

func (d *decoder) rawUnlessLean() json.RawMessage {
	if d.lean {
		d.scan.skip()
		return nil
	}
	if d.borrow {
		return d.scan.raw()
	}
	return d.json()
}

// json reads any JSON value.
func (d *decoder) json() json.RawMessage {
	raw := d.scan.raw()
	d.scan.bad = d.scan.bad || !d.borrow && !json.Valid(raw)
	return append(json.RawMessage(nil), raw...)
}

// base64 reads a string of base64.
func (d *decoder) base64() []byte {
	raw := d.scan.quoted()
	out := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Decode(out, raw)
	d.scan.bad = d.scan.bad || err != nil
	return out[:n]
}

// slow decodes the kinds of bodies with encoding/json.
var slow = sync.OnceValue(func() map[string]func(line []byte) (Body, error) {
	return map[string]func(line []byte) (Body, error){
		"user":         slowly[User],
		"part":         slowly[Part],
		"call_start":   slowly[CallStart],
		"call_end":     slowly[CallEnd],
		"reply":        slowly[Reply],
		"compaction":   slowly[Compaction],
		"turn_end":     slowly[TurnEnd],
		"decision":     slowly[Decision],
		"head":         slowly[Head],
		"title":        slowly[Title],
		"model":        slowly[Model],
		"mode":         slowly[Mode],
		"note":         slowly[Note],
		"side_request": slowly[SideRequest],
		"seen":         slowly[Seen],
		"prefix":       slowly[Prefix],
		"connection":   slowly[Connection],
		"hook":         slowly[HookRun],
		"grant":        slowly[Grant],
		"system":       slowly[System],
		"blob":         slowly[BlobRef],
		"invoke_start": func(line []byte) (Body, error) {
			start, err := unmarshal[CallStart](line)
			start.Invoked = true
			return start, err
		},
		"invoke_end": func(line []byte) (Body, error) {
			end, err := unmarshal[CallEnd](line)
			end.Invoked = true
			return end, err
		},
	}
})

// slowBody decodes any body with encoding/json.
func slowBody(kind string, line []byte) (Body, error) {
	if decode, ok := slow()[kind]; ok {
		return decode(line)
	}
	return unknownBody(kind, line)
}

func slowly[B Body](line []byte) (Body, error) { return unmarshal[B](line) }

func unmarshal[T any](line []byte) (T, error) {
	var v T
	err := json.Unmarshal(line, &v)
	return v, err
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
