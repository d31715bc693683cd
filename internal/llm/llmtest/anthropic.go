package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// anthropicWire implements the Messages API. Facts: docs.anthropic.com/en/api/messages, /messages-streaming,
// /errors.
type anthropicWire struct{}

func (anthropicWire) about() (name, ids string) { return "anthropic", "toolu_" }

func (anthropicWire) handles(path string) (ok, count bool) {
	if strings.HasSuffix(path, "/messages/count_tokens") {
		return true, true
	}
	return strings.HasSuffix(path, "/messages"), false
}

func (anthropicWire) key(h http.Header) string {
	if k := h.Get("X-Api-Key"); k != "" {
		return k
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

type anthropicRequest struct {
	Model        string             `json:"model"`
	MaxTokens    *int               `json:"max_tokens"`
	Stream       bool               `json:"stream"`
	System       json.RawMessage    `json:"system"`
	Messages     []anthropicMessage `json:"messages"`
	Tools        []anthropicTool    `json:"tools"`
	ToolChoice   *anthropicChoice   `json:"tool_choice"`
	Thinking     *anthropicThinking `json:"thinking"`
	Temperature  *float64           `json:"temperature"`
	OutputConfig struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	CacheControl json.RawMessage `json:"cache_control"`
}

type anthropicMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	blocks  []anthropicBlock
}

type anthropicBlock struct {
	Type         string          `json:"type"`
	Text         *string         `json:"text"`
	Thinking     *string         `json:"thinking"`
	Signature    *string         `json:"signature"`
	Data         *string         `json:"data"`
	ID           string          `json:"id"`
	Name         string          `json:"name"`
	Input        json.RawMessage `json:"input"`
	ToolUseID    string          `json:"tool_use_id"`
	ToolName     string          `json:"tool_name"` // of a tool_reference
	Content      json.RawMessage `json:"content"`
	IsError      bool            `json:"is_error"`
	CacheControl json.RawMessage `json:"cache_control"`
	Source       *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
}

type anthropicTool struct {
	Type         string          `json:"type"`
	Name         string          `json:"name"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl json.RawMessage `json:"cache_control"`
	Deferred     bool            `json:"defer_loading"`
}

type anthropicChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

type anthropicThinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

func (anthropicWire) read(s *Server, r *http.Request, body []byte) (*call, *refusal) {
	var q anthropicRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, refuse("The request body is not valid JSON: %v", err)
	}
	for i := range q.Messages {
		bs, err := contentBlocks(q.Messages[i].Content)
		if err != nil {
			return nil, refuse("messages.%d.content: %v", i, err)
		}
		q.Messages[i].blocks = bs
	}
	if !s.opts.Lenient {
		if bad := (&anthropicCheck{s: s, q: &q, body: body, header: r.Header}).run(); bad != nil {
			return nil, bad
		}
	}
	return q.call(len(body)), nil
}

// contentBlocks reads content, which is a string or a list of blocks.
func contentBlocks(raw json.RawMessage) ([]anthropicBlock, error) {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		return []anthropicBlock{{Type: "text", Text: &text}}, err
	}
	if len(raw) == 0 {
		return nil, nil
	}
	var bs []anthropicBlock
	err := json.Unmarshal(raw, &bs)
	return bs, err
}

func (q *anthropicRequest) call(size int) *call {
	c := &call{model: q.Model, stream: q.Stream, usage: true, size: size, schema: q.OutputConfig.Format.Schema}
	sys, _ := contentBlocks(q.System) // checked, or lenient
	c.system = blockText(sys)
	for _, t := range q.Tools {
		if len(t.InputSchema) > 0 {
			c.tools = append(c.tools, tool{t.Name, t.InputSchema})
		}
	}
	for _, m := range q.Messages {
		if m.Role == "assistant" {
			c.turn++
			c.fresh = 0
			continue
		}
		if text := blockText(m.blocks); text != "" {
			c.users = append(c.users, text)
		}
		for _, b := range m.blocks {
			if b.Type == "tool_result" {
				inner, _ := contentBlocks(b.Content)
				c.results = append(c.results, blockText(inner))
				c.fresh++
			}
		}
	}
	return c
}

func blockText(bs []anthropicBlock) string {
	var out []string
	for _, b := range bs {
		if b.Type == "text" && b.Text != nil {
			out = append(out, *b.Text)
		}
	}
	return strings.Join(out, "\n")
}

// usage has the fields of a reply; output is 1 at the start.
func anthropicUsage(u llm.Usage, output int) map[string]any {
	out := map[string]any{
		"input_tokens": u.Input, "output_tokens": output, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite, "service_tier": "standard",
	}
	if u.CacheWrite1h > 0 {
		out["cache_creation"] = map[string]any{
			"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWrite1h, "ephemeral_1h_input_tokens": u.CacheWrite1h,
		}
	}
	return out
}

func (anthropicWire) stream(a *answer) *stream {
	out := newStream(a.shape)
	u := a.reply.usage(a.call, a.blocks)
	message := map[string]any{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.call.model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": anthropicUsage(u, 1),
	}
	delta := map[string]any{"type": "message_delta", "delta": a.anthropicStop(), "usage": anthropicUsage(u, u.Output)}
	if a.shape["usage_absent"] {
		delete(message, "usage")
		delete(delta, "usage")
	}
	out.add("message_start", map[string]any{"type": "message_start", "message": message})
	out.add("ping", map[string]any{"type": "ping"})
	for i, b := range a.blocks {
		out.part = i
		anthropicPart(out, i, b, a.chunk)
	}
	out.part = -1
	out.add("message_delta", delta)
	out.add("message_stop", map[string]any{"type": "message_stop"})
	return out
}

func (a *answer) anthropicStop() map[string]any {
	stop := string(a.reply.stop(a.blocks))
	out := map[string]any{"stop_reason": stop, "stop_sequence": nil}
	if stop == string(llm.StopSequence) {
		out["stop_sequence"] = "STOP"
	}
	if a.reply.Finish != "" {
		out["stop_reason"] = a.reply.Finish
	}
	return out
}

func anthropicPart(out *stream, i int, b block, chunk int) {
	start := func(content map[string]any) {
		out.add("content_block_start", map[string]any{"type": "content_block_start", "index": i, "content_block": content})
	}
	delta := func(kind, field, text string) {
		out.add("content_block_delta", map[string]any{
			"type": "content_block_delta", "index": i, "delta": map[string]any{"type": kind, field: text},
		})
	}
	switch b.kind {
	case "text":
		start(map[string]any{"type": "text", "text": ""})
		for _, s := range chunks(b.text, chunk) {
			delta("text_delta", "text", s)
		}
	case "thinking":
		start(map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		for _, s := range chunks(b.text, chunk) {
			delta("thinking_delta", "thinking", s)
		}
		delta("signature_delta", "signature", b.signature)
	case "redacted":
		start(map[string]any{"type": "redacted_thinking", "data": b.text})
	case "tool":
		content := map[string]any{"type": "tool_use", "id": b.id, "name": b.name, "input": map[string]any{}}
		if b.id == "" && !out.shape["ids_empty"] {
			delete(content, "id")
		}
		start(content)
		for _, s := range chunks(b.text, chunk) {
			delta("input_json_delta", "partial_json", s)
		}
	}
	out.add("content_block_stop", map[string]any{"type": "content_block_stop", "index": i})
}

func (anthropicWire) whole(a *answer) []byte {
	content := make([]any, len(a.blocks))
	for i, b := range a.blocks {
		switch b.kind {
		case "text":
			content[i] = map[string]any{"type": "text", "text": b.text}
		case "thinking":
			content[i] = map[string]any{"type": "thinking", "thinking": b.text, "signature": b.signature}
		case "redacted":
			content[i] = map[string]any{"type": "redacted_thinking", "data": b.text}
		case "tool":
			content[i] = map[string]any{"type": "tool_use", "id": b.id, "name": b.name, "input": inputObject(b.text)}
		}
	}
	u := a.reply.usage(a.call, a.blocks)
	out := map[string]any{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.call.model, "content": content,
		"usage": anthropicUsage(u, u.Output),
	}
	for k, v := range a.anthropicStop() {
		out[k] = v
	}
	if a.shape["usage_absent"] {
		delete(out, "usage")
	}
	return marshal(out)
}

// inputObject is the input as JSON, or as a string if it is broken.
func inputObject(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

var anthropicErrors = map[int]string{
	400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
	404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
	504: "timeout_error", 529: "overloaded_error",
}

func (anthropicWire) failure(f *refusal, request string) (event string, body map[string]any) {
	kind := f.kind
	if kind == "" {
		kind = anthropicErrors[f.status]
	}
	if kind == "" && f.status >= 500 {
		kind = "api_error"
	}
	if kind == "" {
		kind = "invalid_request_error"
	}
	body = map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": f.message}}
	if request != "" {
		body["request_id"] = request
	}
	return "error", body
}
