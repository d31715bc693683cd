package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// chatWire implements OpenAI's Chat Completions and the variants of compatible servers. Facts:
// platform.openai.com/docs/api-reference/chat.
type chatWire struct{}

func (chatWire) about() (name, ids string) { return "chat", "call_" }

func (chatWire) handles(path string) (ok, count bool) {
	return strings.HasSuffix(path, "/chat/completions"), false
}

func (chatWire) key(h http.Header) string {
	if k := h.Get("Api-Key"); k != "" {
		return k
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

type chatRequest struct {
	Model         string          `json:"model"`
	Messages      []chatMessage   `json:"messages"`
	Tools         []chatTool      `json:"tools"`
	Stream        bool            `json:"stream"`
	StreamOptions *chatStreamOpts `json:"stream_options"`
	MaxTokens     *int            `json:"max_tokens"`
	MaxCompletion *int            `json:"max_completion_tokens"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	Effort        *string         `json:"reasoning_effort"`
	Format        struct {
		Schema struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatStreamOpts struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Reasoning  string          `json:"reasoning_content"`
	parts      []chatPart
}

type chatPart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	Refusal  *string `json:"refusal"`
	ImageURL *struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Extra struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	} `json:"extra_content"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (chatWire) read(s *Server, _ *http.Request, body []byte) (*call, *refusal) {
	var q chatRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, refuse("We could not parse the JSON body of your request: %v", err)
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		if err := m.split(); err != nil {
			return nil, refuse("Invalid type for 'messages[%d].content': %v", i, err)
		}
	}
	if !s.opts.Lenient {
		if bad := (&chatCheck{s: s, q: &q, body: body}).run(); bad != nil {
			return nil, bad
		}
	}
	return q.call(len(body)), nil
}

// split reads content, which is a string, null or a list of parts.
func (m *chatMessage) split() error {
	raw := bytes.TrimSpace(m.Content)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		m.parts = []chatPart{{Type: "text", Text: &text}}
		return err
	}
	return json.Unmarshal(raw, &m.parts)
}

func (m *chatMessage) text() string {
	var out []string
	for _, p := range m.parts {
		if p.Text != nil {
			out = append(out, *p.Text)
		}
	}
	return strings.Join(out, "\n")
}

func (q *chatRequest) call(size int) *call {
	c := &call{
		model: q.Model, stream: q.Stream, size: size, schema: q.Format.Schema.Schema,
		usage: q.StreamOptions != nil && q.StreamOptions.IncludeUsage,
	}
	for _, t := range q.Tools {
		c.tools = append(c.tools, tool{t.Function.Name, t.Function.Parameters})
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		switch m.Role {
		case "system", "developer":
			c.system += m.text()
		case "assistant":
			c.turn++
			c.fresh = 0
		case "tool":
			c.results = append(c.results, m.text())
			c.fresh++
		case "user":
			if text := m.text(); text != "" {
				c.users = append(c.users, text)
			}
		}
	}
	return c
}

func chatUsage(u llm.Usage) map[string]any {
	out := map[string]any{
		"prompt_tokens": u.Prompt(), "completion_tokens": u.Output, "total_tokens": u.Prompt() + u.Output,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.CacheRead, "audio_tokens": 0},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
	if u.CostUSD != nil { // OpenRouter
		out["cost"], out["is_byok"] = *u.CostUSD, false
	}
	return out
}

var chatFinish = map[llm.StopReason]string{
	llm.StopEndTurn: "stop", llm.StopSequence: "stop", llm.StopToolUse: "tool_calls", llm.StopMaxTokens: "length",
	llm.StopContextWindow: "length", llm.StopRefusal: "content_filter", llm.StopPauseTurn: "stop",
}

func (a *answer) chatFinish() string {
	if a.reply.Finish != "" {
		return a.reply.Finish
	}
	return chatFinish[a.reply.stop(a.blocks)]
}

// chatStream writes the chunks of one answer.
type chatStream struct {
	*stream
	a *answer
}

func (c *chatStream) chunk(choices []any, usage any) {
	v := map[string]any{
		"id": "chatcmpl-" + c.a.id, "object": "chat.completion.chunk", "created": 1700000000,
		"model": c.a.call.model, "choices": choices,
	}
	if usage != nil {
		v["usage"] = usage
	}
	c.add("", v)
}

func (c *chatStream) delta(delta map[string]any) {
	c.chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}, nil)
}

func (chatWire) stream(a *answer) *stream {
	c := &chatStream{newStream(a.shape), a}
	c.delta(map[string]any{"role": "assistant", "content": ""})
	var batch []any
	calls := 0
	for i, b := range a.blocks {
		c.part = i
		switch b.kind {
		case "text":
			for _, s := range chunks(b.text, a.chunk) {
				c.delta(map[string]any{"content": s})
			}
		case "thinking":
			for _, s := range chunks(b.text, a.chunk) {
				c.delta(a.reasoning(s))
			}
			if a.shape["details_signed"] {
				c.delta(map[string]any{"reasoning_details": signatures(b.text)})
			}
		case "tool":
			batch = append(batch, c.call(b, calls)...)
			calls++
		}
	}
	if len(batch) > 0 {
		c.delta(map[string]any{"tool_calls": batch})
	}
	c.part = -1
	c.finish()
	return c.stream
}

func (c *chatStream) finish() {
	a := c.a
	var usage any
	if a.call.usage && !a.shape["usage_absent"] {
		usage = chatUsage(a.reply.usage(a.call, a.blocks))
	}
	choice := []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": a.chatFinish()}}
	if a.shape["usage_with_finish"] {
		c.chunk(choice, usage)
	} else {
		c.chunk(choice, nil)
		if usage != nil {
			c.chunk([]any{}, usage)
		}
	}
	if !a.shape["done_absent"] {
		c.raw("", []byte("[DONE]"))
	}
}

// reasoning returns a delta of thinking in the field that the shape selects.
func (a *answer) reasoning(s string) map[string]any {
	details := []any{map[string]any{"type": "reasoning.text", "text": s, "format": "unknown", "index": 0}}
	switch {
	case a.shape["reasoning"]:
		return map[string]any{"content": "", "reasoning": s}
	case a.shape["reasoning_details"], a.shape["details_signed"]:
		return map[string]any{"reasoning_details": details}
	case a.shape["reasoning_repeated"]:
		return map[string]any{"reasoning": s, "reasoning_details": details}
	}
	return map[string]any{"content": nil, "reasoning_content": s}
}

// signatures returns the details that follow the text of a thought, as OpenRouter sends them.
func signatures(text string) []any {
	return []any{
		map[string]any{"type": "reasoning.text", "signature": Sign(text), "format": "anthropic-claude-v1", "index": 0},
		map[string]any{"type": "reasoning.encrypted", "data": Sign("encrypted " + text), "id": "rs_1", "index": 1},
	}
}

// callSignature returns the signature that Gemini puts beside a call.
func callSignature(b block) map[string]any {
	return map[string]any{"google": map[string]any{"thought_signature": Sign(b.text)}}
}

// call writes the pieces of one call; with calls_batched it returns it whole, for the chunk of all calls.
func (c *chatStream) call(b block, n int) []any {
	shape := c.a.shape
	piece := func(id bool, function map[string]any) map[string]any {
		v := map[string]any{"index": n, "function": function}
		if shape["index_missing"] {
			delete(v, "index")
		}
		if id {
			v["id"], v["type"] = b.id, "function"
			if shape["ids_missing"] {
				delete(v, "id")
			}
			if shape["calls_signed"] {
				v["extra_content"] = callSignature(b)
			}
		}
		return v
	}
	var args any = b.text
	if shape["arguments_object"] {
		args = inputObject(b.text)
	}
	if shape["calls_batched"] {
		return []any{piece(true, map[string]any{"name": b.name, "arguments": args})}
	}
	if shape["arguments_object"] {
		c.delta(map[string]any{"tool_calls": []any{piece(true, map[string]any{"name": b.name, "arguments": args})}})
		return nil
	}
	first := map[string]any{"name": b.name, "arguments": ""}
	if shape["name_late"] {
		delete(first, "name")
	}
	c.delta(map[string]any{"tool_calls": []any{piece(true, first)}})
	if shape["name_late"] {
		c.delta(map[string]any{"tool_calls": []any{piece(false, map[string]any{"name": b.name})}})
	}
	for _, s := range chunks(b.text, c.a.chunk) {
		c.delta(map[string]any{"tool_calls": []any{piece(shape["ids_repeated"], map[string]any{"arguments": s})}})
	}
	return nil
}

func (chatWire) whole(a *answer) []byte {
	message := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	var text, thinking strings.Builder
	var calls []any
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			text.WriteString(b.text)
		case "thinking":
			thinking.WriteString(b.text)
		case "tool":
			calls = append(calls, a.wholeCall(b))
		}
	}
	if text.Len() > 0 || len(calls) == 0 {
		message["content"] = text.String()
	}
	if thinking.Len() > 0 {
		for k, v := range a.reasoning(thinking.String()) {
			if k != "content" {
				message[k] = v
			}
		}
		if a.shape["details_signed"] {
			message["reasoning_details"] = append(message["reasoning_details"].([]any), signatures(thinking.String())...)
		}
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	out := map[string]any{
		"id": "chatcmpl-" + a.id, "object": "chat.completion", "created": 1700000000, "model": a.call.model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": a.chatFinish()}},
	}
	if !a.shape["usage_absent"] {
		out["usage"] = chatUsage(a.reply.usage(a.call, a.blocks))
	}
	return marshal(out)
}

func (a *answer) wholeCall(b block) map[string]any {
	var args any = b.text
	if a.shape["arguments_object"] {
		args = inputObject(b.text)
	}
	v := map[string]any{"id": b.id, "type": "function", "function": map[string]any{"name": b.name, "arguments": args}}
	if a.shape["ids_missing"] {
		delete(v, "id")
	}
	if a.shape["calls_signed"] {
		v["extra_content"] = callSignature(b)
	}
	return v
}

func chatError(f *refusal) map[string]any {
	kind := f.kind
	code := any(nil)
	switch {
	case kind != "":
	case f.status == http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case f.status >= 500:
		kind = "server_error"
	case f.status == http.StatusUnauthorized:
		kind, code = "invalid_request_error", "invalid_api_key"
	case f.status == http.StatusNotFound:
		kind, code = "invalid_request_error", "model_not_found"
	default:
		kind = "invalid_request_error"
	}
	var param any
	if f.param != "" {
		param = f.param
	}
	return map[string]any{"error": map[string]any{"message": f.message, "type": kind, "param": param, "code": code}}
}

func (chatWire) failure(f *refusal, request string) (event string, body map[string]any) {
	if request == "" && f.kind == "" { // as OpenRouter does
		return "", map[string]any{"error": map[string]any{"message": f.message, "code": f.status}}
	}
	return "", chatError(f)
}
