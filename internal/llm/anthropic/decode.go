package anthropic

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"

	"github.com/lathe-dev/lathe/internal/llm"
)

// decoder turns one reply into deltas and a message.
type decoder struct {
	reply *llm.Reply
	req   *llm.Request
	model string
	host  string // owner of signatures and opaque blocks
	yield func(llm.Delta) bool

	id      string
	blocks  []*part // in the order of their start; the position is the index in Message.Parts
	usage   llm.Usage
	counted bool // the provider reported a usage
	stop    string
	ended   bool  // message_stop was seen
	waiting *part // a closed call with invalid JSON: broken, or cut by the output limit?
}

// part is a content block being received.
type part struct {
	index   int // in Message.Parts
	wire    int // the provider's index
	kind    string
	text    bytes.Buffer // text, thinking, or JSON of an input
	sig     string
	id      string
	name    string
	named   bool            // the server gave the name
	input   json.RawMessage // complete at the start
	opaque  *opaque
	cited   []byte // the citations of a text: JSON values with commas between
	closed  bool
	result  llm.Part // once closed; nil if dropped
	pending bool     // closed, but not yielded
}

// Decode implements llm.Decoder.
func (d *decoder) Decode(ctx context.Context) error {
	events := d.reply.Events()
	for !d.ended {
		ev, err := events.Next()
		if err != nil {
			return d.reply.Failed(ctx, err)
		}
		var e event
		if err := llm.Unmarshal(ev.Data, &e); err != nil && string(ev.Name) != "error" {
			if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
				continue // some gateways add it
			}
			if ev.Cut {
				return d.reply.Failed(ctx, io.EOF)
			}
			return d.reply.Broken("an event of the reply is not JSON", ev.Data)
		}
		switch {
		case e.Type == "" && (d.reply.Framing == llm.FramingJSON || llm.HasError(e.Error)):
			return d.unknownReply(&e, ev.Data)
		case e.Type == "": // of a gateway that has the kind in the event's name only
			e.Type = string(ev.Name)
		case string(ev.Name) == "error" && e.Type != "error":
			return d.reply.Reported(llm.ErrorFields(ev.Data))
		}
		if err := d.event(&e, ev.Data); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) event(e *event, raw []byte) error {
	switch e.Type {
	case "message_start":
		return d.start(e.Message)
	case "content_block_start":
		return d.open(e.Index, e.Block)
	case "content_block_delta":
		return d.delta(e, raw)
	case "content_block_stop":
		return d.closeBlock(e.Index, raw)
	case "message_delta":
		return d.messageDelta(e)
	case "message_stop":
		return d.finish()
	case "message":
		return d.whole(raw)
	case "error":
		code, message := llm.ErrorFields(e.Error)
		return d.reply.Reported(code, message)
	}
	return nil // ping, and unknown events
}

// send yields; false means that the consumer stopped.
func (d *decoder) send(delta llm.Delta) error {
	if !d.yield(delta) {
		return llm.ErrStopped
	}
	return nil
}

func (d *decoder) start(m *wireMessage) error {
	if m == nil {
		return nil
	}
	d.id = m.ID
	d.count(m.Usage)
	return d.send(llm.Started{ID: m.ID, Model: m.Model, Usage: d.usage})
}

func (d *decoder) count(u *usage) {
	if u != nil {
		d.counted = true
		u.mergeInto(&d.usage)
	}
}

// open begins a block. Content that the start already holds is yielded as a first delta.
func (d *decoder) open(wire int, raw json.RawMessage) error {
	var b block
	if err := llm.Unmarshal(raw, &b); err != nil || b.Type == "" {
		return d.reply.Broken("a content block of the stream has no type", raw)
	}
	if p := d.find(wire); p != nil && !p.closed && p.kind == b.Type && p.empty() && (b.ID == "" || b.ID == p.id) {
		return nil // some gateways begin a block twice
	}
	if err := d.settle(); err != nil {
		return err
	}
	if err := d.closeOpen(); err != nil {
		return err
	}
	p := &part{
		index: len(d.blocks), wire: wire, kind: b.Type, sig: b.Signature, id: b.ID, name: b.Name,
		named: b.Name != "",
	}
	d.blocks = append(d.blocks, p)
	switch b.Type {
	case "text":
		for _, c := range b.Citations {
			p.cite(c)
		}
		return d.addText(p, b.Text)
	case "thinking":
		return d.startThinking(p, b.Thinking)
	case "redacted_thinking":
		p.text.WriteString(b.Data)
		return nil
	case "tool_use":
		if p.id == "" {
			p.id = "toolu_" + rand.Text()
		}
		p.name = cmp.Or(p.name, "unknown") // such a call is answered and never run
		p.input = b.Input
		return d.send(llm.ToolDelta{Index: p.index, ID: p.id, Name: p.name})
	}
	p.opaque = newOpaque(raw)
	return nil
}

// startThinking begins a thought, whose signature may come at once.
func (d *decoder) startThinking(p *part, text string) error {
	if err := d.addThinking(p, text); err != nil || p.sig == "" {
		return err
	}
	return d.send(llm.ReasoningDelta{Index: p.index, Signature: p.sig})
}

// empty reports whether nothing of a block was received.
func (p *part) empty() bool { return p.text.Len() == 0 && p.opaque == nil }

// closeOpen completes the blocks whose end was lost: another one begins. A call must have all of its input.
func (d *decoder) closeOpen() error {
	for _, p := range d.blocks {
		if p.closed {
			continue
		}
		if p.kind == "tool_use" && !isObject(p.text.Bytes()) {
			return d.reply.Broken("a call of the stream has no end", p.text.Bytes())
		}
		if err := d.complete(p); err != nil {
			return err
		}
	}
	return nil
}

// find returns the block with the provider's index, open or closed, newest first.
func (d *decoder) find(wire int) *part {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if d.blocks[i].wire == wire {
			return d.blocks[i]
		}
	}
	return nil
}

func (d *decoder) delta(e *event, raw []byte) error {
	p := d.find(e.Index)
	if p == nil || p.closed {
		return d.reply.Broken("a delta of the stream belongs to no open block", raw)
	}
	if e.Delta == nil {
		return nil
	}
	if p.opaque != nil {
		p.opaque.add(raw)
		return nil
	}
	switch {
	case e.Delta.Type == "text_delta" && p.kind == "text":
		return d.addText(p, e.Delta.Text)
	case e.Delta.Type == "citations_delta" && p.kind == "text":
		p.cite(e.Delta.Citation)
		return nil
	case e.Delta.Type == "thinking_delta" && p.kind == "thinking":
		return d.addThinking(p, e.Delta.Thinking)
	case e.Delta.Type == "signature_delta" && p.kind == "thinking":
		p.sig += e.Delta.Signature
		return d.send(llm.ReasoningDelta{Index: p.index, Signature: e.Delta.Signature})
	case e.Delta.Type == "input_json_delta" && p.kind == "tool_use" && e.Delta.PartialJSON != "":
		p.text.WriteString(e.Delta.PartialJSON)
		return d.send(llm.ToolDelta{Index: p.index, JSON: e.Delta.PartialJSON})
	}
	return nil // unknown deltas
}

// cite adds a citation, which goes back with its text.
func (p *part) cite(citation json.RawMessage) {
	if !isObject(citation) {
		return
	}
	if p.cited != nil {
		p.cited = append(p.cited, ',')
	}
	p.cited = llm.AppendCanonical(p.cited, citation)
}

// citations returns the citations of a text as a JSON array, or nil.
func (p *part) citations(host string) *llm.Opaque {
	if p.cited == nil {
		return nil
	}
	return &llm.Opaque{Provider: host, JSON: append(append([]byte("["), p.cited...), ']')}
}

func (d *decoder) addText(p *part, s string) error {
	if s == "" {
		return nil
	}
	p.text.WriteString(s)
	return d.send(llm.TextDelta{Index: p.index, Text: s})
}

func (d *decoder) addThinking(p *part, s string) error {
	if s == "" {
		return nil
	}
	p.text.WriteString(s)
	return d.send(llm.ReasoningDelta{Index: p.index, Text: s})
}

func (d *decoder) closeBlock(wire int, raw []byte) error {
	p := d.find(wire)
	if p == nil {
		return d.reply.Broken("a block of the stream ended that never began", raw)
	}
	if p.closed {
		return nil
	}
	return d.complete(p)
}

// complete closes a block and yields it, except for a call with invalid JSON, which waits (settle).
func (d *decoder) complete(p *part) error {
	p.closed = true
	switch p.kind {
	case "text":
		p.result = llm.Text{Text: p.text.String(), Opaque: p.citations(d.host)}
	case "thinking":
		p.result = llm.Reasoning{Text: p.text.String(), Signature: p.sig, Provider: d.host}
	case "redacted_thinking":
		p.result = llm.Reasoning{Data: p.text.String(), Provider: d.host}
	case "tool_use":
		return d.completeCall(p)
	default:
		p.result = llm.Opaque{Provider: d.host, JSON: p.opaque.assemble()}
	}
	return d.send(llm.PartDone{Index: p.index, Part: p.result})
}

func (d *decoder) completeCall(p *part) error {
	input := bytes.TrimSpace(p.text.Bytes())
	if len(input) == 0 {
		input = bytes.TrimSpace(p.input)
	}
	if len(input) == 0 || string(input) == "null" {
		input = []byte("{}")
	}
	if !isObject(input) || !p.named {
		p.result = llm.ToolCall{ID: p.id, Name: p.name, Input: json.RawMessage("{}"), Raw: cmp.Or(p.raw(), "{}")}
		p.pending = true
		d.waiting = p
		return nil
	}
	if p.text.Len() == 0 && string(input) != "{}" { // complete at the start
		if err := d.send(llm.ToolDelta{Index: p.index, JSON: string(input)}); err != nil {
			return err
		}
	}
	call := llm.ToolCall{ID: p.id, Name: p.name, Input: llm.AppendCanonical(make([]byte, 0, len(input)), input)}
	p.result = call
	return d.send(llm.ToolReady{Index: p.index, Call: call})
}

// raw returns the input as received.
func (p *part) raw() string {
	if p.text.Len() > 0 {
		return p.text.String()
	}
	return string(p.input)
}

// settle yields a broken call once it is clear that the output limit did not cut it: another block follows,
// or the reply ended for another reason.
func (d *decoder) settle() error {
	p := d.waiting
	if p == nil {
		return nil
	}
	d.waiting, p.pending = nil, false
	return d.send(llm.PartDone{Index: p.index, Part: p.result})
}

func (d *decoder) messageDelta(e *event) error {
	d.count(e.Usage)
	if e.Delta == nil || e.Delta.StopReason == "" {
		return nil
	}
	d.stop = e.Delta.StopReason
	return nil
}

// finish handles message_stop: blocks still open are text that needs no end, a call that the limit cut, or a
// broken stream.
func (d *decoder) finish() error {
	cut := d.stop == "max_tokens" || d.stop == "model_context_window_exceeded"
	if d.waiting != nil && cut {
		d.waiting.result, d.waiting = nil, nil
	}
	if err := d.settle(); err != nil {
		return err
	}
	for _, p := range d.blocks {
		switch {
		case p.closed:
		case p.kind == "text" || p.kind == "thinking":
			if err := d.complete(p); err != nil {
				return err
			}
		case cut:
			p.closed = true
		default:
			return d.reply.Broken("the reply ended inside a block", []byte(p.kind))
		}
	}
	d.ended = true
	return nil
}
