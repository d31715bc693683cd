package google

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// chunk is one event of a stream, or the single object of a reply that is not a stream.
type chunk struct {
	Candidates []candidate     `json:"candidates"`
	Feedback   *feedback       `json:"promptFeedback"`
	Usage      *usage          `json:"usageMetadata"`
	Model      string          `json:"modelVersion"`
	ID         string          `json:"responseId"`
	Error      json.RawMessage `json:"error"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	Grounding struct { // the pages that the server's search found
		Chunks []struct {
			Web struct{ URI, Title string }
		} `json:"groundingChunks"`
	} `json:"groundingMetadata"`
	Finish  string `json:"finishReason"`
	Message string `json:"finishMessage"`
}

type feedback struct {
	Reason  string `json:"blockReason"`
	Message string `json:"blockReasonMessage"`
}

type wirePart struct {
	Text      *string   `json:"text"`
	Thought   bool      `json:"thought"`
	Signature string    `json:"thoughtSignature"`
	Call      *wireCall `json:"functionCall"`
}

type wireCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// usage is the server's token counts. Prompt includes tokens read from the cache, and neither candidates nor prompt
// the thoughts and the results of the server's own tools.
type usage struct {
	Prompt     int `json:"promptTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Tools      int `json:"toolUsePromptTokenCount"`
}

// fill keeps the counts of an earlier chunk that a later one lacks.
func (u *usage) fill(before *usage) {
	if before != nil {
		u.Prompt, u.Cached, u.Tools = cmp.Or(u.Prompt, before.Prompt), cmp.Or(u.Cached, before.Cached),
			cmp.Or(u.Tools, before.Tools)
		u.Candidates, u.Thoughts = cmp.Or(u.Candidates, before.Candidates), cmp.Or(u.Thoughts, before.Thoughts)
	}
}

func (u *usage) tokens() *llm.Usage {
	if u == nil || u.Prompt+u.Candidates == 0 {
		return nil
	}
	read := min(u.Cached, u.Prompt)
	return &llm.Usage{
		Input: u.Prompt - read + u.Tools, CacheRead: read, Output: u.Candidates + u.Thoughts,
		Reasoning: u.Thoughts,
	}
}

// decoder turns a reply into deltas and a message.
type decoder struct {
	llm.ReplyParts
	reply *llm.Reply
	host  string // owner of signatures
	req   *llm.Request

	started bool
	id      string
	model   string
	usage   *usage
	reason  string // finishReason, or that of a blocked prompt
	open    *openPart
	sources []llm.Source
	message llm.Message
}

// openPart is the text or thought being received.
type openPart struct {
	thought bool
	text    strings.Builder
	seal    seal
}

// Decode implements llm.Decoder.
func (d *decoder) Decode(ctx context.Context) error {
	if err := d.run(ctx); err != nil {
		d.message = llm.Message{ID: d.id, Parts: d.Parts, Model: d.model}
		return err
	}
	return d.finish(d.req)
}

// Message implements llm.Decoder.
func (d *decoder) Message() llm.Message { return d.message }

// run reads events to the end of the reply.
func (d *decoder) run(ctx context.Context) error {
	events := d.reply.Events()
	for {
		ev, err := events.Next()
		if err != nil {
			return d.ended(ctx, err)
		}
		if string(bytes.TrimSpace(ev.Data)) == "[DONE]" { // of a gateway
			continue
		}
		err = d.event(ev.Data)
		if err != nil && ev.Cut && !errors.Is(err, llm.ErrStopped) {
			return d.ended(ctx, io.EOF)
		}
		if err != nil {
			return err
		}
	}
}

// ended handles the end of the stream: it is complete with a finishReason, if the connection did not break.
func (d *decoder) ended(ctx context.Context, err error) error {
	if d.reason != "" && errors.Is(err, io.EOF) && ctx.Err() == nil {
		return nil
	}
	return d.reply.Failed(ctx, err)
}

// event handles the data of one event: a chunk, or a list of chunks, which is a stream without alt=sse.
func (d *decoder) event(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil {
			return d.reply.Broken("a list of events cannot be read", data)
		}
		for _, raw := range list {
			if err := d.event(raw); err != nil {
				return err
			}
		}
		return nil
	}
	var c chunk
	if len(data) == 0 || data[0] != '{' || llm.Unmarshal(data, &c) != nil {
		return d.reply.Broken("an event cannot be read", data)
	}
	return d.chunk(&c, data)
}

func (d *decoder) chunk(c *chunk, data []byte) error {
	if llm.HasError(c.Error) {
		return d.reply.Reported(llm.ErrorFields(c.Error))
	}
	if c.Usage != nil {
		u := *c.Usage
		u.fill(d.usage)
		d.usage = &u
	}
	if c.Feedback != nil && c.Feedback.Reason != "" {
		d.begin(c)
		d.reason = c.Feedback.Reason
	}
	for i := range c.Candidates {
		if c.Candidates[i].Index != 0 {
			continue
		}
		d.begin(c)
		if err := d.candidate(&c.Candidates[i], data); err != nil {
			return err
		}
	}
	return d.Err()
}

// begin reports the start of the reply, once.
func (d *decoder) begin(c *chunk) {
	if d.started {
		return
	}
	d.started, d.id, d.model = true, c.ID, cmp.Or(c.Model, d.model)
	d.Send(llm.Started{ID: d.id, Model: d.model})
}

func (d *decoder) candidate(c *candidate, data []byte) error {
	for _, raw := range c.Content.Parts {
		var p wirePart
		if llm.Unmarshal(raw, &p) != nil {
			return d.reply.Broken("a part of the reply cannot be read", raw)
		}
		switch {
		case p.Call != nil:
			if err := d.call(p.Call, p.Signature); err != nil {
				return d.reply.Broken(err.Error(), data)
			}
		case p.Text != nil:
			d.text(*p.Text, p.Thought, p.Signature)
		case otherPart(raw): // code and its result, a picture, a tool of the server's
			d.close()
			d.Settle(false)
			d.Add(llm.Opaque{Provider: d.host, JSON: llm.AppendCanonical(nil, raw)})
		case p.Signature != "":
			d.text("", p.Thought, p.Signature)
		}
	}
	for _, g := range c.Grounding.Chunks {
		d.sources = append(d.sources, llm.Source{URL: g.Web.URI, Title: g.Web.Title})
	}
	switch c.Finish {
	case "", "FINISH_REASON_UNSPECIFIED":
		return nil
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS",
		"MISSING_THOUGHT_SIGNATURE":
		return d.reply.Broken("the model wrote a call that cannot be read ("+c.Finish+")", []byte(c.Message))
	}
	d.reason = c.Finish
	return nil
}

// otherPart reports whether a part has data that lathe does not interpret; it goes back as it came.
func otherPart(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(raw, &fields) // read before
	for name, value := range fields {
		switch name {
		case "text", "thought", "thoughtSignature", "partMetadata":
		default:
			return len(value) > 0 && value[0] == '{'
		}
	}
	return false
}

// text handles a piece of text or thought. A signature ends its part.
func (d *decoder) text(s string, thought bool, signature string) {
	if s == "" && signature == "" {
		return
	}
	if d.open != nil && (d.open.thought != thought || d.open.seal.Signature != "") {
		d.close()
	}
	if d.open == nil {
		d.Settle(false)
		d.open = &openPart{thought: thought}
	}
	apart := signature != "" && s == "" && d.open.text.Len() > 0
	d.open.text.WriteString(s)
	d.open.seal = seal{Signature: signature, Apart: apart}
	switch {
	case s == "":
	case thought:
		d.Send(llm.ReasoningDelta{Index: len(d.Parts), Text: s})
	default:
		d.Send(llm.TextDelta{Index: len(d.Parts), Text: s})
	}
}

// close ends the open part.
func (d *decoder) close() {
	p := d.open
	if p == nil {
		return
	}
	d.open = nil
	if p.thought {
		d.Add(llm.Reasoning{Text: p.text.String(), Provider: d.host, Opaque: d.opaque(p.seal)})
		return
	}
	d.Add(llm.Text{Text: p.text.String(), Opaque: d.opaque(p.seal)})
}

func (d *decoder) opaque(s seal) *llm.Opaque {
	if s == (seal{}) {
		return nil
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	return &llm.Opaque{Provider: d.host, JSON: b}
}

// call handles a whole call.
func (d *decoder) call(c *wireCall, signature string) error {
	args, err := argumentsOf(c.Args)
	if err != nil {
		return err
	}
	d.close()
	d.Settle(false)
	id := c.ID
	if id != "" {
		id += idMark(d.host)
	}
	id = d.Begin(id, c.Name, string(args))
	d.End(id, c.Name, args, d.opaque(seal{Signature: signature}))
	return nil
}

// argumentsOf reads arguments: an object, nothing, or, from gateways, its text.
func argumentsOf(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return []byte("{}"), nil
	}
	if raw[0] != '"' {
		return raw, nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("the arguments of a call cannot be read: %w", err)
	}
	return []byte(s), nil
}

// finish completes the parts and makes the message. Without a reported usage it is estimated.
func (d *decoder) finish(req *llm.Request) error {
	d.close()
	stop := d.stop()
	d.Settle(stop == llm.StopMaxTokens)
	if err := d.Err(); err != nil {
		return err
	}
	d.message = llm.Message{ID: d.id, Role: llm.Assistant, Parts: d.Parts, Model: d.model, Stop: stop, Sources: d.sources}
	if d.message.Usage = d.usage.tokens(); d.message.Usage == nil {
		d.message.Usage = llm.EstimatedUsage(req, d.message)
	}
	return nil
}

// stop says why the reply ended. Any reason beside the known ones is a filter of the server (SAFETY, RECITATION,
// BLOCKLIST, PROHIBITED_CONTENT, SPII, IMAGE_SAFETY, OTHER, ...).
func (d *decoder) stop() llm.StopReason {
	switch {
	case d.reason == "MAX_TOKENS":
		return llm.StopMaxTokens
	case d.reason != "STOP":
		return llm.StopRefusal
	case d.Calls > 0:
		return llm.StopToolUse
	}
	return llm.StopEndTurn
}
