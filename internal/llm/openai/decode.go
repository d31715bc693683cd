package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/lathe-dev/lathe/internal/llm"
)

// chunk is one event of a stream, or the single object of a reply that is not a stream.
type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        *content        `json:"delta"`
	Message      *content        `json:"message"`
	FinishReason *string         `json:"finish_reason"`
	Error        json.RawMessage `json:"error"` // OpenRouter
}

type content struct {
	Content          json.RawMessage   `json:"content"` // a string, null, or Mistral's list
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        json.RawMessage   `json:"reasoning"` // a string; some gateways put an object here
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        callPieces        `json:"tool_calls"`
	ExtraContent     json.RawMessage   `json:"extra_content"`
	FunctionCall     *functionPiece    `json:"function_call"` // the form before tool_calls, of one call
	Audio            *struct {
		Transcript string `json:"transcript"`
	} `json:"audio"`
}

type callPiece struct {
	Index        *int            `json:"index"`
	ID           string          `json:"id"`
	Function     functionPiece   `json:"function"`
	ExtraContent json.RawMessage `json:"extra_content"`
}

// callPieces is a list of pieces, or, from some servers, one alone.
type callPieces []callPiece

// UnmarshalJSON reads both forms.
func (c *callPieces) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		*c = make(callPieces, 1)
		return llm.Unmarshal(b, &(*c)[0])
	}
	return llm.Unmarshal(b, (*[]callPiece)(c))
}

type functionPiece struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// decoder turns a reply of Chat Completions into deltas and a message.
type decoder struct {
	incoming
	usage    *usage
	reason   string // finish_reason, "" before it came
	finished bool   // finish_reason or [DONE] was seen, and nothing after it

	needsDone bool // the server ends each stream with [DONE]
}

// Decode implements llm.Decoder.
func (d *decoder) Decode(ctx context.Context) error {
	if err := d.run(ctx); err != nil {
		return d.broke(err)
	}
	if err := d.finish(d.req); err != nil {
		return d.broke(err)
	}
	return nil
}

// run reads events to the end of the reply.
func (d *decoder) run(ctx context.Context) error {
	events := d.reply.Events()
	for {
		ev, err := events.Next()
		if err != nil {
			return d.ended(ctx, err)
		}
		if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
			return d.done(ctx)
		}
		if string(ev.Name) == "error" {
			return d.reported(errorOf(ev.Data))
		}
		err = d.event(ev.Data)
		if err != nil && ev.Cut && !errors.Is(err, llm.ErrStopped) {
			return d.ended(ctx, io.EOF)
		}
		if err == nil && d.reply.Framing == llm.FramingJSON {
			err = d.wholeRead(ev.Data)
		}
		if err != nil {
			return err
		}
	}
}

// wholeRead handles a reply that is a single object, and is therefore complete.
func (d *decoder) wholeRead(raw []byte) error {
	if !d.finished && len(d.parts) == 0 {
		return d.reply.Broken("the answer holds no message", raw)
	}
	d.finished = true
	return nil
}

// done handles [DONE]. Gateways send it even when the upstream reply broke off; an open call reveals that.
func (d *decoder) done(ctx context.Context) error {
	if !d.finished && (!d.started || d.midCall()) {
		return d.reply.Failed(ctx, io.EOF)
	}
	d.finished = true
	return nil
}

// ended handles a stream without [DONE]. It is complete with a finish_reason if the server ended it in order and is not
// known to send [DONE]: some servers repeat finish_reason after each call, so a cut may follow the first.
func (d *decoder) ended(ctx context.Context, err error) error {
	whole := d.reply.Framing == llm.FramingJSON
	if d.finished && errors.Is(err, io.EOF) && (whole || !d.needsDone) && ctx.Err() == nil {
		return nil
	}
	return d.reply.Failed(ctx, err)
}

// errorOf returns the error object in the data of an error event.
func errorOf(data []byte) json.RawMessage {
	var c chunk
	if json.Unmarshal(data, &c) == nil && llm.HasError(c.Error) {
		return c.Error
	}
	return bytes.Clone(data)
}

func hasValue(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func (d *decoder) reported(raw json.RawMessage) error {
	return d.reply.Reported(llm.ErrorFields(raw))
}

// event handles one object. Objects without choices have no effect except for their usage.
func (d *decoder) event(data []byte) error {
	if !startsObject(data) {
		return d.reply.Broken("an event is no JSON object", data)
	}
	var c chunk
	if err := llm.Unmarshal(data, &c); err != nil {
		return d.reply.Broken("an event cannot be read", data)
	}
	return d.chunk(&c)
}

func (d *decoder) chunk(c *chunk) error {
	if llm.HasError(c.Error) {
		return d.reported(c.Error)
	}
	if c.Usage != nil && c.Usage.Prompt+c.Usage.Completion > 0 {
		d.usage = c.Usage
	} else if c.Groq != nil && c.Groq.Usage != nil {
		d.usage = c.Groq.Usage
	}
	for i := range c.Choices {
		if c.Choices[i].Index != 0 {
			continue
		}
		d.begin(c.ID, c.Model)
		if err := d.choice(&c.Choices[i]); err != nil {
			return err
		}
	}
	return d.err()
}

func startsObject(data []byte) bool {
	if len(data) > 0 && data[0] == '{' {
		return true
	}
	t := bytes.TrimLeft(data, " \t\r\n")
	return len(t) > 0 && t[0] == '{'
}

func (d *decoder) choice(c *choice) error {
	if llm.HasError(c.Error) {
		return d.reported(c.Error)
	}
	for _, part := range []*content{c.Delta, c.Message} {
		if part == nil {
			continue
		}
		if err := d.content(part); err != nil {
			return err
		}
	}
	if c.FinishReason != nil && *c.FinishReason != "" {
		switch *c.FinishReason {
		case "error":
			return d.reply.Reported("server_error", "the server broke the reply off with an error")
		case "insufficient_system_resource": // DeepSeek
			return d.reply.Reported("overloaded", "the server ran out of resources in the middle of the reply")
		}
		d.reason, d.finished = *c.FinishReason, true
		d.settle(d.limited())
	}
	return nil
}

func (d *decoder) content(c *content) error {
	if len(c.ToolCalls) > 0 || c.FunctionCall != nil {
		d.finished = false
	}
	d.thought(c.thinking())
	d.detailed(c.ReasoningDetails)
	if err := d.mixed(c.Content); err != nil {
		return err
	}
	if c.Refusal != "" {
		d.refused = true
		d.said(c.Refusal)
	}
	d.signed(c.ExtraContent)
	if c.Audio != nil {
		d.said(c.Audio.Transcript)
	}
	if f := c.FunctionCall; f != nil && (f.Name != "" || hasValue(f.Arguments)) {
		first := 0
		c.ToolCalls = append(c.ToolCalls, callPiece{Index: &first, Function: *f})
	}
	for i := range c.ToolCalls {
		if err := d.piece(&c.ToolCalls[i]); err != nil {
			return d.reply.Broken(err.Error(), c.ToolCalls[i].Function.Arguments)
		}
	}
	return nil
}

// mixed handles content: text, or a list of text and thinking.
func (d *decoder) mixed(content json.RawMessage) error {
	texts, err := textsOf(content)
	if err != nil {
		return d.reply.Broken("content is neither text nor a list", content)
	}
	for _, t := range texts {
		d.thought(t.thinking)
		d.said(t.text)
	}
	return nil
}

// thinking returns the reasoning of a chunk. Servers that know several fields fill them with the same text.
func (c *content) thinking() string {
	if c.ReasoningContent != "" {
		return c.ReasoningContent
	}
	if hasValue(c.Reasoning) && c.Reasoning[0] == '"' {
		if text, err := unquote(c.Reasoning); err == nil && text != "" {
			return text
		}
	}
	return detailsText(c.ReasoningDetails)
}

// unquote reads a JSON string.
func unquote(raw json.RawMessage) (string, error) {
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

type mixedText struct{ text, thinking string }

// textsOf reads content: a string, null, or a list of text and thinking (Mistral).
func textsOf(raw json.RawMessage) ([]mixedText, error) {
	if !hasValue(raw) {
		return nil, nil
	}
	if raw[0] == '"' {
		text, err := unquote(raw)
		return []mixedText{{text: text}}, err
	}
	var list []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if err := llm.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	var out []mixedText
	for _, p := range list {
		inner, err := textsOf(p.Thinking)
		if err != nil {
			return nil, err
		}
		for _, t := range inner {
			out = append(out, mixedText{thinking: t.text})
		}
		if p.Type == "text" {
			out = append(out, mixedText{text: p.Text})
		}
	}
	return out, nil
}

// limited reports whether the output limit may have ended the reply.
func (d *decoder) limited() bool { return d.reason == "length" || d.reason == "" }

// finish completes the parts and makes the message.
func (d *decoder) finish(req *llm.Request) error {
	d.settle(d.limited())
	if err := d.err(); err != nil {
		return err
	}
	var u *llm.Usage
	if d.usage != nil {
		tokens := d.usage.tokens()
		u = &tokens
	}
	d.make(req, u, d.stop())
	return nil
}

// stop says why the reply ended. Servers say "stop" with calls and "tool_calls" without.
func (d *decoder) stop() llm.StopReason {
	switch {
	case d.reason == "length" || d.reason == "max_tokens" || d.reason == "model_length":
		return llm.StopMaxTokens
	case d.reason == "content_filter" || d.refused:
		return llm.StopRefusal
	case d.calls > 0:
		return llm.StopToolUse
	}
	return llm.StopEndTurn
}
