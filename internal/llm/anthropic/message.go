package anthropic

import (
	"bytes"
	"encoding/json"

	"github.com/lathe-dev/lathe/internal/llm"
)

// whole decodes a reply that is one JSON value, from a server that cannot stream.
func (d *decoder) whole(raw []byte) error {
	var m wireMessage
	if err := llm.Unmarshal(raw, &m); err != nil {
		return d.reply.Broken("the reply is not a message", raw)
	}
	if err := d.start(&m); err != nil {
		return err
	}
	for i, b := range m.Content {
		if err := d.open(i, b); err != nil {
			return err
		}
		if err := d.closeBlock(i, b); err != nil {
			return err
		}
	}
	d.stop = m.StopReason
	return d.finish()
}

// unknownReply is the error for a JSON value that is not a message.
func (d *decoder) unknownReply(e *event, raw []byte) error {
	if llm.HasError(e.Error) {
		return d.reply.Reported(llm.ErrorFields(e.Error))
	}
	return d.reply.Broken("the reply is not a message", raw)
}

// Message implements llm.Decoder.
func (d *decoder) Message() llm.Message {
	m := llm.Message{ID: d.id, Role: llm.Assistant, Model: d.model}
	for _, p := range d.blocks {
		if p.closed && p.result != nil && (d.ended || !p.pending) {
			m.Parts = append(m.Parts, p.result)
		}
	}
	if d.counted {
		u := d.usage
		m.Usage = &u
	}
	if d.ended {
		m.Stop = d.stopReason(m)
	}
	if d.ended && !d.counted {
		m.Usage = llm.EstimatedUsage(d.req, m)
	}
	return m
}

// stopReason maps the provider's reason; a reply with calls that claims a plain end counts as "tool_use".
func (d *decoder) stopReason(m llm.Message) llm.StopReason {
	stop, known := stopReasons[d.stop]
	if !known {
		stop = llm.StopEndTurn
	}
	if stop == llm.StopEndTurn && len(m.Calls()) > 0 {
		stop = llm.StopToolUse
	}
	return stop
}

// opaque assembles a block that lathe does not interpret: the start, and the additions of its deltas.
type opaque struct {
	start  json.RawMessage
	keys   []string // of members that deltas touched, in order
	strs   map[string]*bytes.Buffer
	values map[string][]json.RawMessage // citations
	input  bytes.Buffer                 // partial_json
}

func newOpaque(start json.RawMessage) *opaque {
	return &opaque{start: bytes.Clone(start), strs: map[string]*bytes.Buffer{}, values: map[string][]json.RawMessage{}}
}

// add handles a content_block_delta event: partial JSON extends the input, a citation joins the list of
// citations, other strings extend the member of their name, and other values replace it.
func (o *opaque) add(raw []byte) {
	var e struct {
		Delta json.RawMessage `json:"delta"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return
	}
	fields, err := members(e.Delta)
	if err != nil {
		return
	}
	for _, f := range fields {
		var s string
		isString := json.Unmarshal(f.value, &s) == nil && string(f.value) != "null"
		switch {
		case f.key == "type":
		case f.key == "partial_json" && isString:
			o.input.WriteString(s)
		case f.key == "citation":
			o.touch("citations")
			o.values["citations"] = append(o.values["citations"], bytes.Clone(f.value))
		case isString:
			o.touch(f.key)
			if o.strs[f.key] == nil {
				o.strs[f.key] = &bytes.Buffer{}
			}
			o.strs[f.key].WriteString(s)
		default:
			o.touch(f.key)
			o.values[f.key] = []json.RawMessage{bytes.Clone(f.value)}
		}
	}
}

func (o *opaque) touch(key string) {
	for _, k := range o.keys {
		if k == key {
			return
		}
	}
	o.keys = append(o.keys, key)
}

// assemble returns the block to send back: the start's members in their order, then new ones.
func (o *opaque) assemble() json.RawMessage {
	if len(o.keys) == 0 && o.input.Len() == 0 {
		return llm.AppendCanonical(nil, o.start)
	}
	fields, err := members(o.start)
	if err != nil {
		return llm.AppendCanonical(nil, o.start)
	}
	if isObject(o.input.Bytes()) {
		fields = replace(fields, "input", o.input.Bytes())
	}
	for _, k := range o.keys {
		fields = replace(fields, k, o.value(k, fields))
	}
	out := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(llm.AppendQuoted(out, f.key), ':')
		out = llm.AppendCanonical(out, f.value)
	}
	return append(out, '}')
}

func (o *opaque) value(key string, fields []field) []byte {
	var old []byte
	for _, f := range fields {
		if f.key == key {
			old = f.value
		}
	}
	if s := o.strs[key]; s != nil {
		var before string
		_ = json.Unmarshal(old, &before) // not a string: it is replaced
		return llm.AppendQuoted(nil, before+s.String())
	}
	if key != "citations" {
		return o.values[key][0]
	}
	var list []json.RawMessage
	_ = json.Unmarshal(old, &list) // absent or null: an empty list
	out, _ := json.Marshal(append(list, o.values[key]...))
	return out
}

func replace(fs []field, key string, value []byte) []field {
	for i := range fs {
		if fs[i].key == key {
			fs[i].value = value
			return fs
		}
	}
	return append(fs, field{key, value})
}
