package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// responsesBody builds a request of the Responses API. The server keeps nothing (store is false): reasoning goes back
// encrypted, so that a conversation does not depend on it.
func (m *model) responsesBody(req *llm.Request) *llm.Body { return m.responsesParts(req).body() }

// responsesRequest is a request in pieces, from which a body of HTTP or a message on a WebSocket is made.
type responsesRequest struct {
	model    []byte   // its member
	settings []byte   // everything except model and input
	items    [][]byte // the items of each message that has any, with a leading comma
	cacheKey []byte
}

func (m *model) responsesParts(req *llm.Request) *responsesRequest {
	q := &responsesRequest{model: llm.AppendQuoted([]byte(`"model":`), m.info.ID), settings: m.responsesSettings(req)}
	q.items = make([][]byte, 0, len(req.Messages))
	m.enc.messages.Encode(req.Messages, m.inputItems, func(_ int, seg []byte) {
		if len(seg) > 0 {
			q.items = append(q.items, seg)
		}
	})
	var first []byte
	if len(q.items) > 0 {
		first = q.items[0]
	}
	q.cacheKey = m.cacheKey([]byte((llm.Message{Parts: req.System}).PlainText()), first)
	return q
}

// body is the request as HTTP carries it.
func (q *responsesRequest) body() *llm.Body {
	b := &llm.Body{}
	b.Grow(len(q.items) + 6)
	b.AppendString("{")
	b.Append(q.model)
	b.AppendString(`,"stream":true`)
	q.appendRest(b, q.items)
	return b
}

func (q *responsesRequest) appendRest(b *llm.Body, items [][]byte) {
	b.Append(q.settings)
	b.AppendString(`,"input":[`)
	for i, seg := range items {
		if i == 0 { // a segment begins with a comma
			seg = seg[1:]
		}
		b.Append(seg)
	}
	b.AppendString("]")
	b.Append(q.cacheKey)
	b.AppendString("}")
}

// responsesSettings returns everything except the model and the input, with a leading comma.
func (m *model) responsesSettings(req *llm.Request) []byte {
	b := []byte(`,"store":false`)
	if n := m.info.OutputLimit(req.MaxTokens); n > 0 {
		b = strconv.AppendInt(append(b, `,"max_output_tokens":`...), int64(max(n, 16)), 10) // the API takes no less
	}
	if reasons(m.like) || m.thinks() && len(m.info.Efforts) > 0 {
		b = append(b, `,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"`...)
		if e := m.effort(req.Effort); e != "" {
			b = llm.AppendQuoted(append(b, `,"effort":`...), e)
		}
		b = append(b, '}')
	} else if e := m.effort(req.Effort); e != "" {
		b = append(llm.AppendQuoted(append(b, `,"reasoning":{"effort":`...), e), '}')
	}
	b = m.appendTemperature(b, req)
	if len(req.Tools) > 0 {
		b = append(b, m.enc.list(req.Tools, appendResponsesTool)...)
		b = appendResponsesChoice(b, req.ToolChoice)
	}
	if text := (llm.Message{Parts: req.System}).PlainText(); text != "" {
		b = llm.AppendQuoted(append(b, `,"instructions":`...), text)
	}
	return b
}

// appendResponsesTool writes a tool. Without strict the server would rewrite its schema and make every property
// required.
func appendResponsesTool(b []byte, t *llm.ToolSpec) []byte {
	if t.Server != nil {
		return append(b, t.Server...)
	}
	b = llm.AppendQuoted(append(b, `{"type":"function","strict":false,"name":`...), t.Name)
	return append(appendSchema(b, t), '}')
}

func appendResponsesChoice(b []byte, choice string) []byte {
	if choice != "" && choice != "auto" && choice != "none" && choice != "any" {
		return append(llm.AppendQuoted(append(b, `,"tool_choice":{"type":"function","name":`...), choice), '}')
	}
	return appendToolChoice(b, choice)
}

// inputItems encodes a message as input items, each with a leading comma, or as nothing if all of it is for other
// providers. It depends on the message alone.
func (m *model) inputItems(msg *llm.Message) []byte {
	if msg.Role == llm.Assistant {
		return m.outputItems(msg)
	}
	return m.userItems(msg)
}

// outputItems writes a reply. The server refuses reasoning that no text or call follows.
func (m *model) outputItems(msg *llm.Message) []byte {
	var b, thoughts []byte
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Reasoning:
			if o := p.Opaque; o != nil && m.info.Owns(o.Provider) && llm.IsObject(o.JSON) {
				thoughts = llm.AppendCanonical(append(thoughts, ','), o.JSON)
			}
			continue
		case llm.Text:
			if p.Text == "" {
				continue
			}
			b, thoughts = append(b, thoughts...), nil
			b = llm.AppendQuoted(append(b, `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":`...),
				p.Text)
			b = append(m.members(append(b, "}]"...), p.Opaque), '}')
		case llm.Opaque:
			if m.info.Owns(p.Provider) && llm.IsObject(p.JSON) {
				b, thoughts = append(b, thoughts...), nil
				b = llm.AppendCanonical(append(b, ','), p.JSON)
			}
		case llm.ToolCall:
			b, thoughts = append(b, thoughts...), nil
			if strings.HasSuffix(p.ID, customMark) {
				b = m.appendCustom(b, p)
				continue
			}
			b = llm.AppendQuoted(append(b, `,{"type":"function_call","call_id":`...), m.callID(p.ID))
			b = llm.AppendQuoted(append(b, `,"name":`...), llm.ToolName(p.Name, maxToolName))
			b = append(appendArguments(append(b, `,"arguments":`...), p), '}')
		}
	}
	return b
}

// appendCustom writes a call of a custom tool, whose input is any text.
func (m *model) appendCustom(b []byte, c llm.ToolCall) []byte {
	var in struct {
		Input string `json:"input"`
	}
	_ = json.Unmarshal(c.Input, &in) // of another form: no text
	b = llm.AppendQuoted(append(b, `,{"type":"custom_tool_call","call_id":`...), m.callID(c.ID))
	b = llm.AppendQuoted(append(b, `,"name":`...), llm.ToolName(c.Name, maxToolName))
	return append(llm.AppendQuoted(append(b, `,"input":`...), in.Input), '}')
}

// userItems writes the results of calls, and one message with the rest.
func (m *model) userItems(msg *llm.Message) []byte {
	var b []byte
	var rest []llm.Part
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.ToolResult:
			b = m.appendOutput(b, p)
		case llm.Text:
			if p.Text != "" {
				rest = append(rest, p)
			}
		case llm.Media:
			rest = append(rest, m.orText(p))
		}
	}
	if len(rest) == 0 {
		return b
	}
	b = append(b, `,{"type":"message","role":"user","content":`...)
	return append(appendInput(b, rest), '}')
}

// appendOutput writes the result of a call: a string if possible, since not every server accepts a list.
func (m *model) appendOutput(b []byte, r llm.ToolResult) []byte {
	text, media := m.result(r)
	kind := "function_call_output"
	if strings.HasSuffix(r.CallID, customMark) {
		kind = "custom_tool_call_output"
	}
	b = llm.AppendQuoted(append(append(append(b, `,{"type":"`...), kind...), `","call_id":`...), m.callID(r.CallID))
	b = append(b, `,"output":`...)
	if len(media) == 0 {
		return append(llm.AppendQuoted(b, text), '}')
	}
	return append(appendInput(b, append([]llm.Part{llm.Text{Text: text}}, media...)), '}')
}

// appendInput writes a list of contents.
func appendInput(b []byte, parts []llm.Part) []byte {
	for i, p := range parts {
		b = append(b, "[,"[min(i, 1)])
		switch p := p.(type) {
		case llm.Text:
			b = append(llm.AppendQuoted(append(b, `{"type":"input_text","text":`...), p.Text), '}')
		case llm.Media:
			b = appendInputMedia(b, p)
		}
	}
	return append(b, ']')
}

func appendInputMedia(b []byte, p llm.Media) []byte {
	if strings.HasPrefix(p.MIME, "image/") {
		b = append(b, `{"type":"input_image","image_url":`...)
	} else {
		b = llm.AppendQuoted(append(b, `{"type":"input_file","filename":`...), cmp.Or(p.Name, "file"))
		b = append(b, `,"file_data":`...)
	}
	prefix := llm.AppendQuoted(nil, "data:"+p.MIME+";base64,")
	b = append(b, prefix[:len(prefix)-1]...)
	return append(base64.StdEncoding.AppendEncode(b, p.Data), `"}`...)
}
