package llmtest

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"net/http"
	"net/url"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// converseWire implements Amazon Bedrock's ConverseStream and Converse. Facts: the Bedrock API reference. Signatures
// are not checked: any Authorization header is a key.
type converseWire struct{}

func (converseWire) about() (name, ids string) { return "converse", "tooluse_" }

func (converseWire) handles(path string) (ok, count bool) {
	return strings.HasSuffix(path, "/converse-stream") || strings.HasSuffix(path, "/converse"), false
}

func (converseWire) key(h http.Header) string {
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

func (converseWire) mime() string { return "application/vnd.amazon.eventstream" }

type converseRequest struct {
	Messages []converseMessage `json:"messages"`
	System   []converseBlock   `json:"system"`
	Config   struct {
		MaxTokens *int `json:"maxTokens"`
	} `json:"inferenceConfig"`
	Tools *struct {
		Tools  []converseTool             `json:"tools"`
		Choice map[string]json.RawMessage `json:"toolChoice"`
	} `json:"toolConfig"`
	Extra map[string]json.RawMessage `json:"additionalModelRequestFields"`

	model  string
	stream bool
}

type converseTool struct {
	Spec *struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Schema      struct {
			JSON json.RawMessage `json:"json"`
		} `json:"inputSchema"`
	} `json:"toolSpec"`
	Mark *struct {
		Type string `json:"type"`
	} `json:"cachePoint"`
}

type converseMessage struct {
	Role    string          `json:"role"`
	Content []converseBlock `json:"content"`
}

type converseBlock struct {
	Text *string `json:"text"`
	Tool *struct {
		ID    string          `json:"toolUseId"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"toolUse"`
	Result *struct {
		ID      string          `json:"toolUseId"`
		Content []converseBlock `json:"content"`
		Status  string          `json:"status"`
	} `json:"toolResult"`
	Reasoning *struct {
		Text *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
		} `json:"reasoningText"`
		Redacted string `json:"redactedContent"`
	} `json:"reasoningContent"`
	Image    *converseFile `json:"image"`
	Document *converseFile `json:"document"`
	Mark     *struct {
		Type string `json:"type"`
	} `json:"cachePoint"`
}

type converseFile struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Source struct {
		Bytes string `json:"bytes"`
	} `json:"source"`
}

func (converseWire) read(s *Server, r *http.Request, body []byte) (*call, *refusal) {
	var q converseRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, refuse("SerializationException: %v", err)
	}
	path := strings.TrimSuffix(r.URL.EscapedPath(), "/converse")
	q.stream = strings.HasSuffix(path, "/converse-stream")
	_, id, _ := strings.Cut(strings.TrimSuffix(path, "/converse-stream"), "/model/")
	q.model, _ = url.PathUnescape(id) // a bad escape gives an empty name
	if !s.opts.Lenient {
		if bad := (&converseCheck{s: s, q: &q, body: body}).run(); bad != nil {
			return nil, bad
		}
	}
	return q.call(len(body)), nil
}

// text joins the texts of blocks.
func converseText(blocks []converseBlock) string {
	var out []string
	for _, b := range blocks {
		if b.Text != nil {
			out = append(out, *b.Text)
		}
	}
	return strings.Join(out, "\n")
}

func (q *converseRequest) call(size int) *call {
	c := &call{model: q.model, stream: q.stream, size: size, usage: true, system: converseText(q.System)}
	if q.Tools != nil {
		for _, t := range q.Tools.Tools {
			if t.Spec != nil {
				c.tools = append(c.tools, tool{t.Spec.Name, t.Spec.Schema.JSON})
			}
		}
	}
	for _, m := range q.Messages {
		if m.Role == "assistant" {
			c.turn++
			c.fresh = 0
			continue
		}
		for _, b := range m.Content {
			if b.Result != nil {
				c.results = append(c.results, converseText(b.Result.Content))
				c.fresh++
			}
		}
		if text := converseText(m.Content); text != "" {
			c.users = append(c.users, text)
		}
	}
	return c
}

// converseStream writes the events of one answer.
func (converseWire) stream(a *answer) *stream {
	c := newStream(a.shape)
	c.binary = true
	c.add("messageStart", map[string]any{"role": "assistant"})
	for i, b := range a.blocks {
		c.part = i
		if b.kind == "tool" {
			start := map[string]any{"toolUse": map[string]any{"toolUseId": b.id, "name": b.name}}
			c.add("contentBlockStart", map[string]any{"contentBlockIndex": i, "start": start})
		}
		for _, d := range a.converseDeltas(b) {
			c.add("contentBlockDelta", map[string]any{"contentBlockIndex": i, "delta": d})
		}
		if !a.shape["stop_missing"] {
			c.add("contentBlockStop", map[string]any{"contentBlockIndex": i})
		}
	}
	c.part = -1
	c.add("messageStop", map[string]any{"stopReason": a.converseStop()})
	if !a.shape["usage_absent"] {
		c.add("metadata", map[string]any{
			"usage":   converseUsage(a.reply.usage(a.call, a.blocks)),
			"metrics": map[string]any{"latencyMs": 5},
		})
	}
	return c
}

// converseDeltas are the pieces of a block.
func (a *answer) converseDeltas(b block) []map[string]any {
	var out []map[string]any
	for _, s := range chunks(b.text, a.chunk) {
		switch b.kind {
		case "tool":
			out = append(out, map[string]any{"toolUse": map[string]any{"input": s}})
		case "thinking":
			out = append(out, map[string]any{"reasoningContent": map[string]any{"text": s}})
		case "redacted":
			out = append(out, map[string]any{"reasoningContent": map[string]any{"redactedContent": s}})
		default:
			out = append(out, map[string]any{"text": s})
		}
	}
	if b.kind == "thinking" {
		out = append(out, map[string]any{"reasoningContent": map[string]any{"signature": Sign(b.text)}})
	}
	return out
}

func converseUsage(u llm.Usage) map[string]any {
	v := map[string]any{
		"inputTokens": u.Input, "outputTokens": u.Output, "totalTokens": u.Prompt() + u.Output,
		"cacheReadInputTokens": u.CacheRead, "cacheWriteInputTokens": u.CacheWrite,
	}
	if u.CacheWrite1h > 0 {
		v["cacheDetails"] = []any{
			map[string]any{"ttl": "1h", "inputTokens": u.CacheWrite1h},
			map[string]any{"ttl": "5m", "inputTokens": u.CacheWrite - u.CacheWrite1h},
		}
	}
	return v
}

func (a *answer) converseStop() string {
	switch stop := a.reply.stop(a.blocks); stop {
	case llm.StopRefusal:
		return "content_filtered"
	default:
		return string(stop)
	}
}

func (converseWire) whole(a *answer) []byte {
	var content []any
	for _, b := range a.blocks {
		switch b.kind {
		case "tool":
			content = append(content, map[string]any{"toolUse": map[string]any{
				"toolUseId": b.id, "name": b.name,
				"input": inputObject(b.text),
			}})
		case "thinking":
			content = append(content,
				map[string]any{"reasoningContent": map[string]any{"reasoningText": map[string]any{
					"text":      b.text,
					"signature": Sign(b.text),
				}}})
		case "redacted":
			content = append(content, map[string]any{"reasoningContent": map[string]any{"redactedContent": b.text}})
		default:
			content = append(content, map[string]any{"text": b.text})
		}
	}
	out := map[string]any{
		"output":     map[string]any{"message": map[string]any{"role": "assistant", "content": content}},
		"stopReason": a.converseStop(),
	}
	if !a.shape["usage_absent"] {
		out["usage"] = converseUsage(a.reply.usage(a.call, a.blocks))
	}
	if a.shape["unknown_fields"] {
		out["x_unknown"] = map[string]any{"nested": []int{1, 2}}
	}
	return marshal(out)
}

func (converseWire) failure(f *refusal, request string) (event string, body map[string]any) {
	kind := map[int]string{
		400: "validationException", 403: "accessDeniedException", 404: "resourceNotFoundException",
		429: "throttlingException",
		500: "internalServerException", 503: "serviceUnavailableException", 529: "serviceUnavailableException",
	}[f.status]
	if f.kind != "" {
		kind = f.kind
	}
	if request == "" {
		event = exceptionMark + kind
	}
	return event, map[string]any{"message": f.message}
}

// exceptionMark begins the name of an event that is an exception of Amazon's event stream.
const exceptionMark = "!"

// AWSFrame encodes one message of Amazon's event stream: an event, or, for a name after "!", an exception.
func AWSFrame(name string, payload []byte) []byte {
	headers := [][2]string{{":event-type", name}, {":content-type", "application/json"}, {":message-type", "event"}}
	if kind, ok := strings.CutPrefix(name, exceptionMark); ok {
		headers = [][2]string{
			{":exception-type", kind},
			{":content-type", "application/json"},
			{":message-type", "exception"},
		}
	}
	var h []byte
	for _, kv := range headers {
		h = append(append(h, byte(len(kv[0]))), kv[0]...)
		h = append(binary.BigEndian.AppendUint16(append(h, 7), uint16(len(kv[1]))), kv[1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(h)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(h)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, h...), payload...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}
