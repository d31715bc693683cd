package llmtest

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// googleWire implements Gemini's streamGenerateContent and generateContent. Facts: ai.google.dev/api/generate-content
// and the pages on function calling and thought signatures.
type googleWire struct{}

func (googleWire) about() (name, ids string) { return "google", "fc_" }

func (googleWire) handles(path string) (ok, count bool) {
	if strings.HasSuffix(path, ":countTokens") {
		return true, true
	}
	return strings.HasSuffix(path, ":streamGenerateContent") || strings.HasSuffix(path, ":generateContent"), false
}

func (googleWire) key(h http.Header) string {
	if k := h.Get("X-Goog-Api-Key"); k != "" {
		return k
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

type googleRequest struct {
	System     *googleContent  `json:"systemInstruction"`
	Contents   []googleContent `json:"contents"`
	Tools      []googleTools   `json:"tools"`
	ToolConfig *struct {
		Calling struct {
			Mode  string   `json:"mode"`
			Names []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Generation struct {
		MaxOutput *int            `json:"maxOutputTokens"`
		Schema    json.RawMessage `json:"responseJsonSchema"`
		Thinking  *struct {
			Include bool    `json:"includeThoughts"`
			Budget  *int    `json:"thinkingBudget"`
			Level   *string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`

	model  string
	stream bool
}

type googleContent struct {
	Role  string       `json:"role"`
	Parts []googlePart `json:"parts"`
}

type googlePart struct {
	Text      *string          `json:"text"`
	Thought   bool             `json:"thought"`
	Signature string           `json:"thoughtSignature"`
	Call      *googleCall      `json:"functionCall"`
	Response  *googleResponse  `json:"functionResponse"`
	Inline    *googleInline    `json:"inlineData"`
	File      *json.RawMessage `json:"fileData"`
}

type googleCall struct {
	ID   string          `json:"id"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type googleResponse struct {
	ID       string                     `json:"id"`
	Name     string                     `json:"name"`
	Response map[string]json.RawMessage `json:"response"`
	Parts    []googlePart               `json:"parts"`
}

type googleInline struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

type googleTools struct {
	Functions []struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"functionDeclarations"`
}

func (googleWire) read(s *Server, r *http.Request, body []byte) (*call, *refusal) {
	var q googleRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, refuse("Invalid JSON payload received. %v", err)
	}
	name, verb, _ := strings.Cut(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], ":")
	q.model, q.stream = name, verb == "streamGenerateContent"
	if !s.opts.Lenient {
		if bad := (&googleCheck{s: s, q: &q, body: body}).run(); bad != nil {
			return nil, bad
		}
	}
	return q.call(len(body)), nil
}

// text joins the texts of a content that are not thoughts.
func (c *googleContent) text() string {
	var out []string
	for _, p := range c.Parts {
		if p.Text != nil && !p.Thought {
			out = append(out, *p.Text)
		}
	}
	return strings.Join(out, "\n")
}

func (r *googleResponse) text() string {
	var out []string
	for _, raw := range r.Response {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			s = string(raw)
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

func (q *googleRequest) call(size int) *call {
	c := &call{model: q.model, stream: q.stream, size: size, usage: true, schema: q.Generation.Schema}
	if q.System != nil {
		c.system = q.System.text()
	}
	for _, t := range q.Tools {
		for _, f := range t.Functions {
			c.tools = append(c.tools, tool{f.Name, f.Parameters})
		}
	}
	for i := range q.Contents {
		m := &q.Contents[i]
		if m.Role == "model" {
			c.turn++
			c.fresh = 0
			continue
		}
		for _, p := range m.Parts {
			if p.Response != nil {
				c.results = append(c.results, p.Response.text())
				c.fresh++
			}
		}
		if text := m.text(); text != "" {
			c.users = append(c.users, text)
		}
	}
	return c
}

// googleStream writes the chunks of one answer.
type googleStream struct {
	*stream
	a *answer
}

func (c *googleStream) chunk(finish string, parts ...any) {
	c.add("", c.a.googleChunk(finish, parts))
}

func (a *answer) googleChunk(finish string, parts []any) map[string]any {
	candidate := map[string]any{"index": 0}
	if len(parts) > 0 {
		candidate["content"] = map[string]any{"role": "model", "parts": parts}
	}
	v := map[string]any{"candidates": []any{candidate}, "modelVersion": a.call.model, "responseId": "resp-" + a.id}
	if finish != "" {
		candidate["finishReason"] = finish
		if !a.shape["usage_absent"] {
			v["usageMetadata"] = googleUsage(a.reply.usage(a.call, a.blocks))
		}
	}
	return v
}

func googleUsage(u llm.Usage) map[string]any {
	return map[string]any{
		"promptTokenCount": u.Prompt(), "cachedContentTokenCount": u.CacheRead,
		"candidatesTokenCount": u.Output - u.Reasoning,
		"thoughtsTokenCount":   u.Reasoning, "totalTokenCount": u.Prompt() + u.Output,
	}
}

func (a *answer) googleFinish() string {
	switch a.reply.stop(a.blocks) {
	case llm.StopMaxTokens, llm.StopContextWindow:
		return "MAX_TOKENS"
	case llm.StopRefusal:
		return "SAFETY"
	}
	return "STOP"
}

func (googleWire) stream(a *answer) *stream {
	c := &googleStream{newStream(a.shape), a}
	if a.shape["array"] {
		c.append(googleWire{}.whole(a))
		return c.stream
	}
	for i, b := range a.blocks {
		c.part = i
		for _, p := range a.googleParts(b) {
			c.chunk("", p)
		}
	}
	c.part = -1
	c.chunk(a.googleFinish())
	return c.stream
}

// googleParts are the pieces of a block, each the content of a chunk.
func (a *answer) googleParts(b block) []any {
	if b.kind == "tool" {
		return []any{a.googleCall(b)}
	}
	var out []any
	for _, s := range chunks(b.text, a.chunk) {
		p := map[string]any{"text": s}
		if b.kind == "thinking" {
			p["thought"] = true
		}
		out = append(out, p)
	}
	if b.kind == "thinking" || len(out) == 0 {
		return out
	}
	if a.shape["text_signed"] {
		out[len(out)-1].(map[string]any)["thoughtSignature"] = Sign(b.text)
	}
	if a.shape["text_signed_late"] {
		out = append(out, map[string]any{"text": "", "thoughtSignature": Sign(b.text)})
	}
	return out
}

// googleCall is a call. Its arguments are an object; what is none is sent as its text, as gateways do.
func (a *answer) googleCall(b block) map[string]any {
	var args any = b.text
	if strings.HasPrefix(strings.TrimSpace(b.text), "{") {
		args = inputObject(b.text)
	}
	f := map[string]any{"name": b.name, "args": args}
	if b.id != "" {
		f["id"] = b.id
	}
	v := map[string]any{"functionCall": f}
	if a.shape["calls_signed"] {
		v["thoughtSignature"] = Sign(b.text)
	}
	return v
}

func (googleWire) whole(a *answer) []byte {
	var parts []any
	for _, b := range a.blocks {
		parts = append(parts, a.googleParts(b)...)
	}
	out := a.googleChunk(a.googleFinish(), parts)
	if a.shape["unknown_fields"] {
		out["x_unknown"] = map[string]any{"nested": []int{1, 2}}
	}
	if a.shape["array"] {
		first := a.googleChunk("", parts)
		return marshal([]any{first, a.googleChunk(a.googleFinish(), nil)})
	}
	return marshal(out)
}

func (googleWire) failure(f *refusal, _ string) (event string, body map[string]any) {
	status := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED",
		500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}[f.status]
	if f.kind != "" {
		status = f.kind
	}
	return "", map[string]any{"error": map[string]any{"code": f.status, "message": f.message, "status": status}}
}
