package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// responsesWire implements OpenAI's Responses API. Facts: platform.openai.com/docs/api-reference/responses and its
// page on streaming.
type responsesWire struct{}

func (responsesWire) about() (name, ids string) { return "responses", "call_" }

func (responsesWire) handles(path string) (ok, count bool) {
	return strings.HasSuffix(path, "/responses"), false
}

func (responsesWire) key(h http.Header) string { return chatWire{}.key(h) }

type responsesRequest struct {
	Model        string          `json:"model"`
	Instructions string          `json:"instructions"`
	Input        []responsesItem `json:"input"`
	Tools        []responsesTool `json:"tools"`
	Stream       bool            `json:"stream"`
	Store        *bool           `json:"store"`
	Include      []string        `json:"include"`
	MaxOutput    *int            `json:"max_output_tokens"`
	Reasoning    *struct {
		Effort  *string `json:"effort"`
		Summary *string `json:"summary"`
	} `json:"reasoning"`
	Text struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"text"`
}

type responsesItem struct {
	Type      string            `json:"type"`
	Role      string            `json:"role"`
	Content   json.RawMessage   `json:"content"`
	CallID    string            `json:"call_id"`
	Name      string            `json:"name"`
	Arguments json.RawMessage   `json:"arguments"`
	Output    json.RawMessage   `json:"output"`
	Summary   []json.RawMessage `json:"summary"`
	Encrypted string            `json:"encrypted_content"`

	contents []responsesContent // of content or output
}

type responsesContent struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	ImageURL string  `json:"image_url"`
	FileData string  `json:"file_data"`
}

type responsesTool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Strict     *bool           `json:"strict"`
}

func (responsesWire) read(s *Server, _ *http.Request, body []byte) (*call, *refusal) {
	var q responsesRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, refuse("We could not parse the JSON body of your request: %v", err)
	}
	for i := range q.Input {
		it := &q.Input[i]
		if it.Type == "" && it.Role != "" {
			it.Type = "message"
		}
		if err := it.split(); err != nil {
			return nil, refuse("Invalid type for 'input[%d].content': %v", i, err)
		}
	}
	if !s.opts.Lenient {
		if bad := (&responsesCheck{s: s, q: &q, body: body}).run(); bad != nil {
			return nil, bad
		}
	}
	return q.call(len(body)), nil
}

// split reads content or output, which is a string or a list.
func (it *responsesItem) split() error {
	raw := bytes.TrimSpace(it.Content)
	if it.Type == "function_call_output" {
		raw = bytes.TrimSpace(it.Output)
	}
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		it.contents = []responsesContent{{Type: "input_text", Text: &text}}
		return err
	}
	return json.Unmarshal(raw, &it.contents)
}

func (it *responsesItem) text() string {
	var out []string
	for _, c := range it.contents {
		if c.Text != nil {
			out = append(out, *c.Text)
		}
	}
	return strings.Join(out, "\n")
}

// ofModel reports whether the item is a part of a reply.
func (it *responsesItem) ofModel() bool {
	return it.Type == "reasoning" || it.Type == "function_call" || it.Type == "message" && it.Role == "assistant"
}

func (q *responsesRequest) call(size int) *call {
	c := &call{
		model: q.Model, stream: q.Stream, size: size, schema: q.Text.Format.Schema, usage: true,
		system: q.Instructions,
	}
	for _, t := range q.Tools {
		c.tools = append(c.tools, tool{t.Name, t.Parameters})
	}
	for i := range q.Input {
		it := &q.Input[i]
		switch {
		case it.ofModel():
			if i == 0 || !q.Input[i-1].ofModel() { // the items of one reply are one turn
				c.turn++
				c.fresh = 0
			}
		case it.Type == "function_call_output":
			c.results = append(c.results, it.text())
			c.fresh++
		case it.Role == "system" || it.Role == "developer":
			c.system += it.text()
		case it.text() != "":
			c.users = append(c.users, it.text())
		}
	}
	return c
}

// responsesStream writes the events of one answer.
type responsesStream struct {
	*stream
	a      *answer
	output []any // finished items
}

func (c *responsesStream) event(kind string, v map[string]any) {
	v["type"], v["sequence_number"] = kind, c.n
	c.add(kind, v)
}

// item writes an item: its beginning, its pieces, and its end.
func (c *responsesStream) item(start, end map[string]any, pieces func(index int)) {
	index := len(c.output)
	c.event("response.output_item.added", map[string]any{"output_index": index, "item": start})
	pieces(index)
	c.event("response.output_item.done", map[string]any{"output_index": index, "item": end})
	c.output = append(c.output, end)
}

func (responsesWire) stream(a *answer) *stream {
	c := &responsesStream{stream: newStream(a.shape), a: a}
	c.event("response.created", map[string]any{"response": a.responsesObject("in_progress", nil)})
	for i, b := range a.blocks {
		c.part = i
		c.block(b)
	}
	c.part = -1
	status := a.responsesStatus()
	done := a.responsesObject(status, c.output)
	if !a.shape["usage_absent"] {
		done["usage"] = responsesUsage(a.reply.usage(a.call, a.blocks))
	}
	c.event("response."+status, map[string]any{"response": done})
	return c.stream
}

func (c *responsesStream) block(b block) {
	a := c.a
	end := a.responsesItem(b, len(c.output))
	switch b.kind {
	case "text":
		start := map[string]any{
			"id": end["id"], "type": "message", "status": "in_progress", "role": "assistant",
			"content": []any{},
		}
		c.item(start, end, func(index int) {
			at := map[string]any{"output_index": index, "content_index": 0, "item_id": end["id"]}
			c.pieces("response.output_text.delta", at, b.text)
		})
	case "thinking":
		start := map[string]any{
			"id": end["id"], "type": "reasoning", "summary": []any{},
			"encrypted_content": Sign("early " + b.text),
		}
		c.item(start, end, func(index int) {
			at := map[string]any{"output_index": index, "summary_index": 0, "item_id": end["id"]}
			c.pieces("response.reasoning_summary_text.delta", at, b.text)
		})
	case "tool":
		start := map[string]any{
			"id": end["id"], "type": "function_call", "status": "in_progress", "call_id": b.id,
			"name": b.name, "arguments": "",
		}
		c.item(start, end, func(index int) {
			at := map[string]any{"output_index": index, "item_id": end["id"]}
			if !a.shape["arguments_at_end"] {
				c.pieces("response.function_call_arguments.delta", at, b.text)
			}
			at["arguments"] = b.text
			c.event("response.function_call_arguments.done", at)
		})
	}
}

func (c *responsesStream) pieces(kind string, at map[string]any, text string) {
	for _, s := range chunks(text, c.a.chunk) {
		v := map[string]any{"delta": s}
		for k, x := range at {
			v[k] = x
		}
		c.event(kind, v)
	}
}

// responsesItem is a block as a finished item.
func (a *answer) responsesItem(b block, index int) map[string]any {
	id := func(prefix string) string { return prefix + a.id + "_" + string(rune('a'+index%26)) }
	switch b.kind {
	case "thinking":
		return map[string]any{
			"id": id("rs_"), "type": "reasoning", "encrypted_content": Sign(b.text),
			"summary": []any{map[string]any{"type": "summary_text", "text": b.text}},
		}
	case "tool":
		return map[string]any{
			"id": id("fc_"), "type": "function_call", "status": "completed", "call_id": b.id,
			"name": b.name, "arguments": b.text,
		}
	}
	return map[string]any{
		"id": id("msg_"), "type": "message", "status": "completed", "role": "assistant",
		"content": []any{map[string]any{"type": "output_text", "annotations": []any{}, "text": b.text}},
	}
}

func (a *answer) responsesStatus() string {
	switch a.reply.stop(a.blocks) {
	case llm.StopMaxTokens, llm.StopContextWindow, llm.StopRefusal:
		return "incomplete"
	}
	return "completed"
}

func (a *answer) responsesObject(status string, output []any) map[string]any {
	if output == nil {
		output = []any{}
	}
	var incomplete any
	if status == "incomplete" {
		reason := "max_output_tokens"
		if a.reply.stop(a.blocks) == llm.StopRefusal {
			reason = "content_filter"
		}
		incomplete = map[string]any{"reason": reason}
	}
	return map[string]any{
		"id": "resp_" + a.id, "object": "response", "created_at": 1700000000, "status": status, "error": nil,
		"incomplete_details": incomplete, "model": a.call.model, "output": output, "usage": nil,
	}
}

func (responsesWire) whole(a *answer) []byte {
	var output []any
	for i, b := range a.blocks {
		output = append(output, a.responsesItem(b, i))
	}
	out := a.responsesObject(a.responsesStatus(), output)
	if !a.shape["usage_absent"] {
		out["usage"] = responsesUsage(a.reply.usage(a.call, a.blocks))
	}
	if a.shape["unknown_fields"] {
		out["x_unknown"] = map[string]any{"nested": []int{1, 2}}
	}
	return marshal(out)
}

func responsesUsage(u llm.Usage) map[string]any {
	out := map[string]any{
		"input_tokens": u.Prompt(), "output_tokens": u.Output, "total_tokens": u.Prompt() + u.Output,
		"input_tokens_details":  map[string]any{"cached_tokens": u.CacheRead},
		"output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
	if u.CostUSD != nil { // OpenRouter
		out["cost"], out["is_byok"] = *u.CostUSD, false
	}
	return out
}

func (responsesWire) failure(f *refusal, request string) (event string, body map[string]any) {
	if request != "" {
		return "", chatError(f)
	}
	code := f.kind
	if code == "" {
		code = "server_error"
		if f.status == 529 {
			code = "server_is_overloaded"
		}
	}
	return "error", map[string]any{
		"type": "error", "code": code, "message": f.message, "param": nil,
		"sequence_number": 99,
	}
}
