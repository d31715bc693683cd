package converse

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/lathe-dev/lathe/internal/llm"
)

// decoder turns a reply into deltas and a message.
type decoder struct {
	llm.ReplyParts
	reply *llm.Reply
	host  string // owner of signatures
	model string
	req   *llm.Request

	started bool
	usage   *wireUsage
	stop    string // stopReason, "" before it came
	open    *openBlock
	last    int // contentBlockIndex of the newest block that ended, or -1
	message llm.Message
}

// openBlock is the block being received.
type openBlock struct {
	index     int
	kind      kind
	text      []byte // of a call: its input
	signature string
	redacted  string
	tool      toolUse
	start     json.RawMessage // of a result of the server's
	result    []json.RawMessage
}

type kind int

const (
	textBlock kind = iota
	thoughtBlock
	callBlock
	serverBlock // of a tool that the server runs
)

// Decode implements llm.Decoder.
func (d *decoder) Decode(ctx context.Context) error {
	if err := d.run(ctx); err != nil {
		d.message = llm.Message{Parts: d.Parts, Model: d.model}
		return err
	}
	return d.finish()
}

// Message implements llm.Decoder.
func (d *decoder) Message() llm.Message { return d.message }

// run reads events to the end of the reply.
func (d *decoder) run(ctx context.Context) error {
	events := d.reply.Events()
	d.last = -1
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) && d.stop != "" && ctx.Err() == nil {
			return nil
		}
		if err != nil {
			return d.reply.Failed(ctx, err)
		}
		if d.reply.Framing == llm.FramingJSON {
			if err := d.whole(ctx, ev); err != nil {
				return err
			}
			continue
		}
		if err := d.event(string(ev.Name), ev.Data); err != nil {
			return err
		}
		if d.usage != nil && d.stop != "" {
			return nil // metadata is the last event
		}
	}
}

// event handles one event. Unknown ones have no effect.
func (d *decoder) event(name string, data []byte) error {
	switch name {
	case "messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
	default:
		return nil
	}
	var e event
	if llm.Unmarshal(data, &e) != nil {
		return d.reply.Broken("an event cannot be read", data)
	}
	d.begin()
	var err error
	switch name {
	case "contentBlockStart":
		err = d.startBlock(&e, data)
	case "contentBlockDelta":
		err = d.deltaOf(&e, data)
	case "contentBlockStop":
		err = d.endBlock(e.Index)
	case "messageStop":
		d.stop = cmp.Or(e.Stop, "end_turn")
	case "metadata":
		d.usage = e.Usage
	}
	return cmp.Or(err, d.Err())
}

// begin reports the start of the reply, once.
func (d *decoder) begin() {
	if !d.started {
		d.started = true
		d.Send(llm.Started{Model: d.model})
	}
}

func (d *decoder) startBlock(e *event, raw []byte) error {
	if e.Start == nil || e.Start.Tool == nil && !hasValue(e.Start.Result) {
		return nil // a text or a thought begins with its first piece
	}
	if e.Index <= d.last {
		return d.reply.Broken("a block of the reply begins again after its end", raw)
	}
	if d.open != nil && d.open.index == e.Index {
		return nil // begun twice
	}
	if e.Start.Tool == nil {
		err := d.next(e.Index, serverBlock)
		if err == nil {
			d.open.start = e.Start.Result
		}
		return err
	}
	if err := d.next(e.Index, callBlock); err != nil {
		return err
	}
	t := *e.Start.Tool
	if t.Type == "server_tool_use" {
		d.open.kind, d.open.tool = serverBlock, t
		return nil
	}
	t.ID = d.Begin(t.ID, t.Name, "")
	d.open.tool = t
	return nil
}

// next ends the open block and begins another.
func (d *decoder) next(index int, k kind) error {
	if d.open != nil {
		if d.open.kind == callBlock && !llm.IsObject(d.open.text) {
			return d.reply.Broken("a call of the stream has no end", d.open.text)
		}
		d.last = d.open.index
		d.close()
	}
	d.Settle(false)
	d.open = &openBlock{index: index, kind: k}
	return nil
}

// deltaOf handles a piece of a block.
func (d *decoder) deltaOf(e *event, raw []byte) error {
	if e.Delta == nil {
		return nil
	}
	d.begin()
	k := textBlock
	switch x := e.Delta; {
	case x.Tool != nil:
		k = callBlock
	case x.Reasoning != nil:
		k = thoughtBlock
	case hasValue(x.Result):
		k = serverBlock
	case x.Text == nil:
		return nil // a citation, or another piece that changes no text
	}
	if e.Index <= d.last {
		return d.reply.Broken("a block of the reply went on after its end", raw)
	}
	if d.open == nil || d.open.index != e.Index {
		if k == callBlock {
			return d.reply.Broken("a call of the reply has no beginning", raw)
		}
		if k == textBlock && *e.Delta.Text == "" {
			return nil
		}
		if err := d.next(e.Index, k); err != nil {
			return err
		}
	}
	d.grow(e.Delta, k)
	return d.Err()
}

func (d *decoder) grow(x *delta, k kind) {
	o := d.open
	switch {
	case o.kind == serverBlock && k == callBlock:
		o.text = append(o.text, x.Tool.Input...)
	case k == serverBlock:
		o.result = append(o.result, x.Result)
	case k == callBlock:
		o.text = append(o.text, x.Tool.Input...)
		if x.Tool.Input != "" {
			d.Send(llm.ToolDelta{Index: len(d.Parts), JSON: x.Tool.Input})
		}
	case k == thoughtBlock:
		o.text = append(o.text, x.Reasoning.Text...)
		o.redacted += x.Reasoning.Redacted
		if x.Reasoning.Text != "" {
			d.Send(llm.ReasoningDelta{Index: len(d.Parts), Text: x.Reasoning.Text})
		}
		if o.signature += x.Reasoning.Signature; x.Reasoning.Signature != "" {
			d.Send(llm.ReasoningDelta{Index: len(d.Parts), Signature: x.Reasoning.Signature})
		}
	case *x.Text != "":
		o.text = append(o.text, *x.Text...)
		d.Send(llm.TextDelta{Index: len(d.Parts), Text: *x.Text})
	}
}

func (d *decoder) endBlock(index int) error {
	if d.open != nil && d.open.index == index {
		d.last = index
		d.close()
	}
	return nil
}

// close ends the open block.
func (d *decoder) close() {
	o := d.open
	d.open = nil
	switch o.kind {
	case callBlock:
		text := bytes.TrimSpace(o.text)
		if len(text) == 0 {
			text = []byte("{}")
		}
		d.End(o.tool.ID, o.tool.Name, text, nil)
	case thoughtBlock:
		d.Add(llm.Reasoning{Text: string(o.text), Signature: o.signature, Data: o.redacted, Provider: d.host})
	case serverBlock:
		d.Add(llm.Opaque{Provider: d.host, JSON: o.serverJSON()})
	default:
		d.Add(llm.Text{Text: string(o.text)})
	}
}

// serverJSON is a block of a tool of the server's, as it goes back.
func (o *openBlock) serverJSON() json.RawMessage {
	if len(o.result) > 0 || o.start != nil {
		b := []byte(`{"toolResult":{`)
		if llm.IsObject(o.start) {
			inner := llm.AppendCanonical(nil, o.start)
			b = append(separated(append(b, inner[1:len(inner)-1]...)), `"content":[`...)
		} else {
			b = append(b, `"content":[`...)
		}
		for i, r := range o.result {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, bytes.Trim(bytes.TrimSpace(r), "[]")...)
		}
		return append(b, "]}}"...)
	}
	b := llm.AppendQuoted([]byte(`{"toolUse":{"toolUseId":`), o.tool.ID)
	b = llm.AppendQuoted(append(b, `,"name":`...), o.tool.Name)
	b = append(b, `,"type":"server_tool_use","input":`...)
	if !llm.IsObject(o.text) {
		return append(b, "{}}}"...)
	}
	return append(llm.AppendCanonical(b, o.text), "}}"...)
}

// whole handles a reply that is one JSON value, as if it had been streamed.
func (d *decoder) whole(ctx context.Context, ev llm.Event) error {
	var w whole
	switch err := llm.Unmarshal(ev.Data, &w); {
	case err != nil && ev.Cut:
		return d.reply.Failed(ctx, io.EOF)
	case err != nil, w.Output == nil && w.Message == "":
		return d.reply.Broken("the answer holds no message", ev.Data)
	case w.Output == nil:
		return d.reply.Reported("", w.Message)
	}
	d.begin()
	for i, raw := range w.Output.Message.Content {
		if err := d.wholeBlock(i, raw); err != nil {
			return err
		}
	}
	d.stop, d.usage = cmp.Or(w.Stop, "end_turn"), w.Usage
	return nil
}

func (d *decoder) wholeBlock(i int, raw json.RawMessage) error {
	var b block
	if llm.Unmarshal(raw, &b) != nil {
		return d.reply.Broken("a block of the answer cannot be read", raw)
	}
	var pieces []delta
	switch {
	case b.Text != nil:
		pieces = []delta{{Text: b.Text}}
	case b.Cited != nil:
		for j := range b.Cited.Content {
			pieces = append(pieces, delta{Text: &b.Cited.Content[j].Text})
		}
	case b.Reasoning != nil:
		r := reasoningDelta{Redacted: b.Reasoning.Redacted}
		if t := b.Reasoning.Text; t != nil {
			r.Text, r.Signature = t.Text, t.Signature
		}
		pieces = []delta{{Reasoning: &r}}
	case b.Tool != nil:
		if err := d.startBlock(&event{Index: i, Start: &b}, raw); err != nil {
			return err
		}
		pieces = []delta{{Tool: &toolDelta{Input: inputText(b.Tool.Input)}}}
	default: // a block of the server's tools
		if err := d.next(i, textBlock); err != nil {
			return err
		}
		d.open = nil
		d.Add(llm.Opaque{Provider: d.host, JSON: llm.AppendCanonical(nil, raw)})
		return nil
	}
	for j := range pieces {
		if err := d.deltaOf(&event{Index: i, Delta: &pieces[j]}, raw); err != nil {
			return err
		}
	}
	return d.endBlock(i)
}

// inputText is the input of a call of a whole reply: an object, or its text.
func inputText(raw json.RawMessage) string {
	var s string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	if !hasValue(raw) {
		return "{}"
	}
	return string(raw)
}

func hasValue(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// finish completes the parts and makes the message. Without a reported usage it is estimated.
func (d *decoder) finish() error {
	stop := d.reason()
	if o := d.open; o != nil { // without its own end
		switch {
		case o.kind == callBlock && !llm.IsObject(o.text) && stop == llm.StopMaxTokens:
			d.open = nil
		case o.kind == callBlock && !llm.IsObject(o.text):
			return d.reply.Broken("the reply ended inside a call", o.text)
		default:
			d.close()
		}
	}
	d.Settle(stop == llm.StopMaxTokens || stop == llm.StopContextWindow)
	if d.stop == "malformed_tool_use" || d.stop == "malformed_model_output" {
		return d.reply.Broken("the model wrote a reply that cannot be read", []byte(d.stop))
	}
	if err := d.Err(); err != nil {
		return err
	}
	d.message = llm.Message{Role: llm.Assistant, Parts: d.Parts, Model: d.model, Stop: stop, Usage: d.usage.tokens()}
	if d.message.Usage == nil {
		d.message.Usage = llm.EstimatedUsage(d.req, d.message)
	}
	return nil
}

// reason says why the reply ended.
func (d *decoder) reason() llm.StopReason {
	switch d.stop {
	case "max_tokens":
		return llm.StopMaxTokens
	case "model_context_window_exceeded":
		return llm.StopContextWindow
	case "stop_sequence":
		return llm.StopSequence
	case "guardrail_intervened", "content_filtered":
		return llm.StopRefusal
	case "pause_turn":
		return llm.StopPauseTurn
	}
	if d.Calls > 0 {
		return llm.StopToolUse
	}
	return llm.StopEndTurn
}
