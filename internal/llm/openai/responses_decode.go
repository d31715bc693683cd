package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// responseDecoder turns a reply of the Responses API into deltas and a message.
type responseDecoder struct {
	incoming
	items    []*outputItem // by output_index
	waiting  *part         // a call that ended with invalid JSON: broken, or cut by the output limit?
	usage    *responseUsage
	finished bool
	limited  bool // the output limit ended the reply
	filtered bool
	last     string // id in the last event
	renamed  bool   // a call got another id than the server's
}

// outputItem is one item being received.
type outputItem struct {
	parts   []*part // of a message: its contents; else one
	summary int     // newest piece of a summary
	ended   bool
	custom  *responseItem // a call of a custom tool without its end; its input, once that is whole
}

// Decode implements llm.Decoder.
func (d *responseDecoder) Decode(ctx context.Context) error {
	if err := d.run(ctx); err != nil {
		return d.broke(err)
	}
	if err := d.finish(d.req); err != nil {
		return d.broke(err)
	}
	return nil
}

// run reads events to the end of the reply.
func (d *responseDecoder) run(ctx context.Context) error {
	events := d.reply.Events()
	for !d.finished {
		ev, err := events.Next()
		if err != nil {
			return d.reply.Failed(ctx, err)
		}
		if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
			continue // some servers add it; the end of the reply is an event before
		}
		err = d.event(ev.Name, ev.Data)
		if err != nil && ev.Cut && !errors.Is(err, llm.ErrStopped) {
			return d.reply.Failed(ctx, io.EOF)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *responseDecoder) event(name, data []byte) error {
	if !startsObject(data) {
		return d.reply.Broken("an event is no JSON object", data)
	}
	if d.reply.Framing == llm.FramingJSON {
		return d.whole(data)
	}
	var e responseEvent
	if err := llm.Unmarshal(data, &e); err != nil {
		return d.reply.Broken("an event cannot be read", data)
	}
	if e.Type == "" { // of a gateway that has the kind in the event's name only
		e.Type = string(name)
	}
	if err := d.take(&e, data); err != nil {
		return err
	}
	return d.err()
}

// take handles one event. Unknown ones have no effect.
func (d *responseDecoder) take(e *responseEvent, data []byte) error {
	switch e.Type {
	case "response.created", "response.in_progress", "response.queued":
		if e.Response != nil {
			d.begin(e.Response.ID, e.Response.Model)
		}
	case "response.output_item.added":
		return d.added(e.Index, e.Item)
	case "response.output_text.delta", "response.refusal.delta":
		d.refused = d.refused || e.Type == "response.refusal.delta"
		return d.grew(e, textPart, e.Content)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return d.grew(e, thoughtPart, 0)
	case "response.function_call_arguments.delta":
		return d.grew(e, callPart, 0)
	case "response.custom_tool_call_input.done":
		d.customInput(e)
	case "response.output_item.done":
		return d.itemDone(e.Index, e.Item)
	case "response.completed", "response.incomplete", "response.failed":
		if e.Response == nil {
			return d.reply.Broken("the last event has no response", data)
		}
		return d.ended(e.Response)
	case "error":
		if llm.HasError(e.Error) {
			return d.reply.Reported(eventOf(data).fields(e.Error))
		}
		return d.reply.Reported(llm.ErrorFields(data))
	case "":
		if llm.HasError(e.Error) { // of a gateway
			return d.reply.Reported(llm.ErrorFields(e.Error))
		}
	}
	return nil
}

// whole handles a reply that is a single object.
func (d *responseDecoder) whole(data []byte) error {
	var r response
	if err := llm.Unmarshal(data, &r); err != nil {
		return d.reply.Broken("the answer cannot be read", data)
	}
	if !llm.HasError(r.Error) && r.Status == "" && len(r.Output) == 0 {
		return d.reply.Broken("the answer holds no message", data)
	}
	d.begin(r.ID, r.Model)
	if err := d.ended(&r); err != nil {
		return err
	}
	return d.err()
}

// mostItems bounds the output_index of a reply.
const mostItems = 10_000

func (d *responseDecoder) item(index int) *outputItem {
	if index < 0 || index > mostItems {
		return nil
	}
	for len(d.items) <= index {
		d.items = append(d.items, &outputItem{})
	}
	return d.items[index]
}

// add appends a part; unlike open, it leaves earlier ones to their own end.
func (d *responseDecoder) add(kind partKind) *part {
	if p := d.waiting; p != nil { // not cut, since the reply went on
		d.waiting, p.closed, p.broken = nil, true, true
	}
	d.begin("", "")
	p := &part{kind: kind, index: -1}
	d.parts = append(d.parts, p)
	if kind == callPart {
		d.calls++
	}
	d.flush()
	return p
}

// added begins an item. A message has no part before its text.
func (d *responseDecoder) added(index int, raw json.RawMessage) error {
	it, err := itemOf(raw)
	slot := d.item(index)
	if slot == nil || err != nil {
		return d.reply.Broken("an item of the reply cannot be read", raw)
	}
	if len(slot.parts) > 0 {
		return nil
	}
	switch it.Type {
	case "function_call":
		d.addCall(slot, &it)
	case "reasoning":
		slot.parts = []*part{d.add(thoughtPart)}
	case "custom_tool_call": // whole at its end
		slot.custom = &responseItem{ID: it.ID, CallID: it.CallID, Name: it.Name}
	case "message", "":
	default:
		slot.parts = []*part{d.add(itemPart)}
	}
	return nil
}

// customMark ends the ids of calls of custom tools, whose results have a form of their own, so that a result alone
// tells which form it has.
const customMark = "_custom"

// customInput notes the whole input of a custom call, for a reply that lacks the item's end.
func (d *responseDecoder) customInput(e *responseEvent) {
	if slot := d.item(e.Index); slot != nil && slot.custom != nil && e.Input != nil {
		slot.custom.Input, slot.custom.Type = *e.Input, "custom_tool_call"
	}
}

// customDone takes a call of a custom tool, whose input is any text, as a call with that text as its input.
func (d *responseDecoder) customDone(slot *outputItem, it *responseItem) {
	it.CallID = cmp.Or(it.CallID, it.ID) + customMark
	d.renamed = true
	p := d.addCall(slot, it)
	p.text = append(llm.AppendQuoted([]byte(`{"input":`), it.Input), '}')
	p.closed = p.name != ""
}

// keep takes an item that lathe does not interpret, of a tool that the server ran: it goes back as it came.
func (d *responseDecoder) keep(slot *outputItem, raw json.RawMessage) bool {
	if len(slot.parts) == 0 {
		slot.parts = []*part{d.add(itemPart)}
	}
	p := slot.parts[0]
	if p.kind != itemPart || p.closed {
		return false
	}
	p.item, p.closed = llm.AppendCanonical(nil, raw), true
	return true
}

func (d *responseDecoder) addCall(slot *outputItem, it *responseItem) *part {
	p := d.add(callPart)
	p.id = d.ids.Unique(cmp.Or(it.CallID, it.ID))
	p.repeats = d.ids.Repeats(p.id)
	d.renamed = d.renamed || p.id != it.CallID
	p.rename(it.Name)
	slot.parts = []*part{p}
	d.flush()
	return p
}

// part returns the part of an item's content, made when its first piece comes; nil: the item has parts of another kind.
func (d *responseDecoder) part(slot *outputItem, kind partKind, content int) *part {
	if content < 0 || content > mostItems {
		return nil
	}
	for len(slot.parts) <= content {
		slot.parts = append(slot.parts, d.add(kind))
	}
	if p := slot.parts[content]; p.kind == kind {
		return p
	}
	return nil
}

// grew adds a piece to a part.
func (d *responseDecoder) grew(e *responseEvent, kind partKind, content int) error {
	piece := ""
	if hasValue(e.Delta) {
		if e.Delta[0] != '"' {
			return d.reply.Broken("a piece of the reply is no text", e.Delta)
		}
		var err error
		if piece, err = unquote(e.Delta); err != nil {
			return d.reply.Broken("a piece of the reply cannot be read", e.Delta)
		}
	}
	slot := d.item(e.Index)
	if slot == nil {
		return d.reply.Broken("a piece of the reply belongs to no item", e.Delta)
	}
	if piece == "" {
		return nil
	}
	p := d.part(slot, kind, content)
	if p == nil || p.closed {
		return d.reply.Broken("an item of the reply went on after its end", e.Delta)
	}
	if kind == thoughtPart && e.Summary > slot.summary {
		if slot.summary = e.Summary; len(p.text) > 0 {
			piece = "\n\n" + piece
		}
	}
	p.add(piece)
	d.flush()
	return nil
}

// itemDone ends an item: what was not streamed is taken from its final form.
func (d *responseDecoder) itemDone(index int, raw json.RawMessage) error {
	it, err := itemOf(raw)
	slot := d.item(index)
	if slot == nil || err != nil {
		return d.reply.Broken("an item of the reply cannot be read", raw)
	}
	if slot.ended {
		return nil
	}
	slot.ended = true
	ok := true
	switch it.Type {
	case "function_call":
		ok = d.callDone(slot, &it)
	case "reasoning":
		ok = d.thoughtDone(slot, &it)
	case "message":
		ok = d.messageDone(slot, &it)
	case "custom_tool_call":
		d.customDone(slot, &it)
	case "":
	default:
		ok = d.keep(slot, raw)
	}
	if !ok {
		return d.reply.Broken("an item of the reply ended otherwise than it was streamed", raw)
	}
	d.flush()
	return nil
}

// fill completes a part to its final text; false means that another text was streamed.
func (p *part) fill(text string) bool {
	if text == "" || string(p.text) == text {
		return true
	}
	if !strings.HasPrefix(text, string(p.text)) {
		return false
	}
	p.text = []byte(text)
	return true
}

func (d *responseDecoder) callDone(slot *outputItem, it *responseItem) bool {
	if len(slot.parts) == 0 {
		d.addCall(slot, it)
	}
	p := slot.parts[0]
	args, _, err := argumentsOf(it.Arguments)
	if err != nil || p.kind != callPart || p.closed || !p.fill(args) {
		return false
	}
	p.rename(it.Name)
	if len(bytes.TrimSpace(p.text)) == 0 {
		p.text, p.sent = []byte("{}"), 0
	}
	if p.closed = p.name != "" && llm.IsObject(p.text); !p.closed {
		d.waiting = p
	}
	return true
}

func (d *responseDecoder) thoughtDone(slot *outputItem, it *responseItem) bool {
	p := d.part(slot, thoughtPart, 0)
	if p == nil || p.closed {
		return false
	}
	if len(p.text) == 0 {
		var texts []string
		for _, c := range append(it.Summary, it.Content...) {
			texts = append(texts, c.Text)
		}
		p.text = []byte(strings.Join(texts, "\n\n"))
	}
	p.item, p.closed = it.reasoning(), true
	return true
}

// reasoning is the item that goes back to the host, or nil where it holds nothing that the host could read.
func (it *responseItem) reasoning() json.RawMessage {
	if it.Encrypted == "" {
		return nil
	}
	b := append([]byte(nil), `{"type":"reasoning",`...)
	if it.ID != "" {
		b = append(llm.AppendQuoted(append(b, `"id":`...), it.ID), ',')
	}
	b = append(b, `"summary":[`...)
	for i, s := range it.Summary {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(llm.AppendQuoted(append(b, `{"type":"summary_text","text":`...), s.Text), '}')
	}
	return append(llm.AppendQuoted(append(b, `],"encrypted_content":`...), it.Encrypted), '}')
}

func (d *responseDecoder) messageDone(slot *outputItem, it *responseItem) bool {
	for i, c := range it.Content {
		text := c.Text
		for _, a := range c.Annotations {
			if a.Type == "url_citation" {
				d.sources = append(d.sources, llm.Source{URL: a.URL, Title: a.Title})
			}
		}
		if c.Type == "refusal" {
			d.refused, text = true, c.Refusal
		}
		if i >= len(slot.parts) && text == "" {
			continue
		}
		if p := d.part(slot, textPart, i); p == nil || p.closed || !p.fill(text) {
			return false
		}
	}
	for _, p := range slot.parts {
		if p.closed = true; hasValue(it.Phase) {
			p.item = append(llm.AppendCanonical([]byte(`{"phase":`), it.Phase), '}')
		}
	}
	return true
}

// ended handles the last event. Items that no event told of are in it.
func (d *responseDecoder) ended(r *response) error {
	if r.Status == "failed" || r.Status == "cancelled" || llm.HasError(r.Error) {
		code, message := llm.ErrorFields(r.Error)
		return d.reply.Reported(cmp.Or(code, "server_error"), cmp.Or(message, "the server broke the reply off with an error"))
	}
	d.last = r.ID
	d.begin(r.ID, r.Model)
	for i, raw := range r.Output {
		if err := d.itemDone(i, raw); err != nil {
			return err
		}
	}
	for _, slot := range d.items {
		if it := slot.custom; it != nil && !slot.ended && it.Type != "" {
			slot.ended = true
			d.customDone(slot, it)
		}
	}
	if d.usage = r.Usage; r.Status == "incomplete" {
		d.limited = r.Incomplete.Reason == "max_output_tokens" || r.Incomplete.Reason == "max_tokens"
		d.filtered = r.Incomplete.Reason == "content_filter"
	}
	d.finished = true
	return nil
}

// finish completes the parts and makes the message.
func (d *responseDecoder) finish(req *llm.Request) error {
	d.settle(d.limited)
	if err := d.err(); err != nil {
		return err
	}
	d.make(req, d.usage.tokens(), d.stop())
	return nil
}

func (d *responseDecoder) stop() llm.StopReason {
	switch {
	case d.limited:
		return llm.StopMaxTokens
	case d.filtered || d.refused:
		return llm.StopRefusal
	case d.calls > 0:
		return llm.StopToolUse
	}
	return llm.StopEndTurn
}

// itemOpaque wraps members that go back to the host with a part.
func itemOpaque(host string, item json.RawMessage) *llm.Opaque {
	if item == nil {
		return nil
	}
	return &llm.Opaque{Provider: host, JSON: item}
}
