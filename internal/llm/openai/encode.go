package openai

import (
	"cmp"
	"encoding/base64"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// encoder caches the encodings of earlier requests of one model.
type encoder struct {
	messages llm.EncodeCache[[]byte]
	tools    llm.ToolList
}

// body builds the request. Fields that stay the same from step to step come first, the messages last.
func (m *model) body(req *llm.Request) *llm.Body {
	b := &llm.Body{}
	b.Append(m.head(req))
	b.AppendString(`,"messages":[`)
	first := m.system(req)
	b.Append(first)
	start := m.appendMessages(b, m.unmarked(req.Messages), m.message, len(first) == 0)
	m.appendMarked(b, req.Messages, len(first) == 0 && start == nil)
	b.AppendString("]")
	if m.traits.OpenAI {
		b.Append(m.cacheKey(first, start))
	}
	b.AppendString("}")
	return b
}

// appendMessages encodes messages as members of a list, which is empty so far or not, and returns the first encoding.
func (m *model) appendMessages(b *llm.Body, msgs []llm.Message, encode func(*llm.Message) []byte, empty bool) (
	first []byte,
) {
	m.enc.messages.Encode(msgs, encode, func(_ int, seg []byte) {
		if len(seg) == 0 {
			return
		}
		if first == nil {
			first = seg
		}
		if empty { // a segment begins with a comma
			seg, empty = seg[1:], false
		}
		b.Append(seg)
	})
	return first
}

// head returns everything except the messages.
func (m *model) head(req *llm.Request) []byte {
	b := append([]byte(nil), `{"model":`...)
	b = llm.AppendQuoted(b, m.info.ID)
	b = append(b, `,"stream":true`...)
	if !m.traits.NoStreamOptions {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	if n := m.info.OutputLimit(req.MaxTokens); n > 0 {
		field := `,"max_tokens":`
		if !m.traits.MaxTokens && (m.traits.MaxCompletion || reasons(m.like)) {
			field = `,"max_completion_tokens":`
		}
		b = strconv.AppendInt(append(b, field...), int64(n), 10)
	}
	b = m.appendTemperature(m.appendEffort(b, req.Effort), req)
	if len(req.Stop) > 0 && !(m.traits.OpenAI && reasons(m.like)) { // which refuse it
		b = append(b, `,"stop":[`...)
		for i, s := range req.Stop {
			if i > 0 {
				b = append(b, ',')
			}
			b = llm.AppendQuoted(b, s)
		}
		b = append(b, ']')
	}
	if len(req.Tools) > 0 {
		b = append(b, m.enc.list(req.Tools, m.appendChatTool)...)
		b = appendToolChoice(b, req.ToolChoice)
	}
	return b
}

// appendTemperature writes the temperature, except for models that refuse one.
func (m *model) appendTemperature(b []byte, req *llm.Request) []byte {
	if req.Temperature == nil || reasons(m.like) {
		return b
	}
	return strconv.AppendFloat(append(b, `,"temperature":`...), *req.Temperature, 'g', -1, 64)
}

func appendToolChoice(b []byte, choice string) []byte {
	switch choice {
	case "", "auto":
		return b
	case "none":
		return append(b, `,"tool_choice":"none"`...)
	case "any":
		return append(b, `,"tool_choice":"required"`...)
	}
	b = append(b, `,"tool_choice":{"type":"function","function":{"name":`...)
	return append(llm.AppendQuoted(b, choice), "}}"...)
}

// list encodes the tools with a function for one.
func (e *encoder) list(tools []llm.ToolSpec, one func([]byte, *llm.ToolSpec) []byte) []byte {
	return e.tools.Encode(tools, func(tools []llm.ToolSpec) []byte {
		b := []byte(`,"tools":`)
		for i := range tools {
			b = one(append(b, "[,"[min(i, 1)]), &tools[i])
		}
		return append(b, ']')
	})
}

func (m *model) appendChatTool(b []byte, t *llm.ToolSpec) []byte {
	if most := m.traits.MaxDescription; most > 0 && len(t.Description) > most {
		short := *t
		short.Description = strings.ToValidUTF8(t.Description[:most-3], "") + "..."
		t = &short
	}
	b = llm.AppendQuoted(append(b, `{"type":"function","function":{"name":`...), t.Name)
	return append(appendSchema(b, t), "}}"...)
}

// appendSchema writes the members description and parameters.
func appendSchema(b []byte, t *llm.ToolSpec) []byte {
	if t.Description != "" {
		b = llm.AppendQuoted(append(b, `,"description":`...), t.Description)
	}
	b = append(b, `,"parameters":`...)
	if len(t.Schema) == 0 {
		b = append(b, `{"type":"object","properties":{}}`...)
	}
	return append(b, t.Schema...)
}

// system is the first message, or nothing.
func (m *model) system(req *llm.Request) []byte {
	text := (llm.Message{Parts: req.System}).PlainText()
	if text == "" {
		return nil
	}
	role := "system"
	if m.traits.OpenAI && reasons(m.like) {
		role = "developer"
	}
	b := append([]byte(`{"role":"`), role...)
	if m.traits.CacheMarks {
		return append(llm.AppendQuoted(append(b, `","content":[{"type":"text","text":`...), text),
			`,"cache_control":{"type":"ephemeral"}}]}`...)
	}
	return append(llm.AppendQuoted(append(b, `","content":`...), text), '}')
}

// cacheKey routes the requests of one conversation to the same cache: they share their first message.
func (m *model) cacheKey(system, first []byte) []byte {
	key := m.p.cacheKey
	if key == "" {
		h := fnv.New64a()
		_, _ = h.Write(system) // a hash takes everything
		_, _ = h.Write(first)
		key = "lathe-" + strconv.FormatUint(h.Sum64(), 16)
	}
	return llm.AppendQuoted([]byte(`,"prompt_cache_key":`), key)
}

// message encodes a message as the messages of this wire, each with a leading comma, or as nothing if all of
// it is for other providers. It depends on the message alone.
func (m *model) message(msg *llm.Message) []byte {
	if msg.Role == llm.Assistant {
		return m.assistant(msg)
	}
	return m.user(msg)
}

func (m *model) assistant(msg *llm.Message) []byte {
	text := msg.PlainText()
	calls := msg.Calls()
	if text == "" && len(calls) == 0 {
		return nil
	}
	b := []byte(`,{"role":"assistant","content":`)
	if text == "" {
		b = append(b, "null"...)
	} else {
		b = llm.AppendQuoted(b, text)
	}
	b = m.appendReasoning(b, msg, len(calls) > 0)
	b = m.appendSignatures(b, msg)
	if len(calls) == 0 {
		return append(b, '}')
	}
	b = append(b, `,"tool_calls":[`...)
	for i, c := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = llm.AppendQuoted(append(b, `{"id":`...), m.callID(c.ID))
		b = llm.AppendQuoted(append(b, `,"type":"function","function":{"name":`...), llm.ToolName(c.Name, maxToolName))
		b = append(b, `,"arguments":`...)
		b = append(appendArguments(b, c), '}')
		b = append(m.members(b, c.Opaque), '}')
	}
	return append(b, "]}"...)
}

// appendArguments writes the JSON text as a string. Invalid text is replaced by {}: its result explains the
// error, and servers refuse arguments that do not parse.
func appendArguments(b []byte, c llm.ToolCall) []byte {
	if c.Raw != "" || len(c.Input) == 0 {
		return append(b, `"{}"`...)
	}
	return llm.AppendQuoted(b, string(llm.AppendCanonical(nil, c.Input)))
}

func (m *model) appendReasoning(b []byte, msg *llm.Message, calls bool) []byte {
	keep := m.traits.Reasoning
	if keep == KeepNone || keep == KeepWithCalls && !calls {
		return b
	}
	var text strings.Builder
	for _, p := range msg.Parts {
		if r, ok := p.(llm.Reasoning); ok && r.Signature == "" && r.Data == "" && m.info.Owns(r.Provider) {
			text.WriteString(r.Text)
		}
	}
	if text.Len() == 0 && keep != KeepAlways && !m.thinks() {
		return b
	}
	return llm.AppendQuoted(append(b, `,"reasoning_content":`...), text.String())
}

// thinks reports whether the model reasons, so that its calls must come with reasoning, if only an empty one.
func (m *model) thinks() bool { return m.info.Known && m.info.Thinking != llm.ThinkingNone }

// user writes tool messages first, since they must follow their call directly, then one user message with the
// media of the results, in order, and the user's own parts.
func (m *model) user(msg *llm.Message) []byte {
	var b []byte
	var rest []llm.Part
	for _, p := range msg.Parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			continue
		}
		text, media := m.result(r)
		b = llm.AppendQuoted(append(b, `,{"role":"tool","tool_call_id":`...), m.callID(r.CallID))
		b = append(llm.AppendQuoted(append(b, `,"content":`...), text), '}')
		if len(media) > 0 {
			rest = append(rest, llm.Text{Text: "Files of the " + cmp.Or(r.Name, "tool") + " result " + m.callID(r.CallID) + ":"})
			rest = append(rest, media...)
		}
	}
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				rest = append(rest, p)
			}
		case llm.Media:
			rest = append(rest, m.orText(p))
		}
	}
	if len(b) > 0 && len(rest) > 0 && m.traits.Bridge {
		b = append(b, `,{"role":"assistant","content":"Noted."}`...)
	}
	return m.appendUser(b, rest)
}

// result returns a tool message's text and the media that cannot be in it.
func (m *model) result(r llm.ToolResult) (text string, media []llm.Part) {
	texts := make([]llm.Part, 0, len(r.Parts))
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			texts = append(texts, p)
		case llm.Media:
			if t, ok := m.orText(p).(llm.Text); ok {
				texts = append(texts, t)
			} else {
				media = append(media, p)
			}
		}
	}
	text = (llm.Message{Parts: texts}).PlainText()
	switch {
	case text == "" && len(media) > 0:
		text = "(see the files below)"
	case text == "":
		text = "(no output)"
	}
	if r.IsError {
		text = "[error] " + text
	}
	return text, media
}

// orText returns the media, or a text in its place if the model does not accept it.
func (m *model) orText(p llm.Media) llm.Part {
	image := strings.HasPrefix(p.MIME, "image/")
	if image && (m.info.Images || !m.info.Known) || !image && m.traits.Files {
		return p
	}
	return llm.LeftOut(p)
}

// appendUser writes a user message: a plain string if possible, since not every server accepts a list.
func (m *model) appendUser(b []byte, parts []llm.Part) []byte {
	if len(parts) == 0 {
		return b
	}
	b = append(b, `,{"role":"user","content":`...)
	plain := true
	for _, p := range parts {
		if _, ok := p.(llm.Media); ok {
			plain = false
		}
	}
	if plain {
		return append(llm.AppendQuoted(b, (llm.Message{Parts: parts}).PlainText()), '}')
	}
	for i, p := range parts {
		b = append(b, "[,"[min(i, 1)])
		switch p := p.(type) {
		case llm.Text:
			b = append(llm.AppendQuoted(append(b, `{"type":"text","text":`...), p.Text), '}')
		case llm.Media:
			b = appendMedia(b, p)
		}
	}
	return append(b, "]}"...)
}

func appendMedia(b []byte, p llm.Media) []byte {
	image := strings.HasPrefix(p.MIME, "image/")
	if image {
		b = append(b, `{"type":"image_url","image_url":{"url":`...)
	} else {
		b = llm.AppendQuoted(append(b, `{"type":"file","file":{"filename":`...), cmp.Or(p.Name, "file"))
		b = append(b, `,"file_data":`...)
	}
	prefix := llm.AppendQuoted(nil, "data:"+p.MIME+";base64,")
	b = append(b, prefix[:len(prefix)-1]...)
	b = base64.StdEncoding.AppendEncode(b, p.Data)
	return append(b, `"}}`...)
}

// The longest call id and the longest name of a tool that OpenAI takes.
const (
	maxID       = 40
	maxToolName = 64
)

// callID returns an id the server accepts. Longer ones come from other providers in a session that changed
// the model; they are replaced by a hash, the same for call and result.
func (m *model) callID(id string) string {
	short := m.traits.ShortIDs
	if short && len(id) == 9 && alphanumeric(id) || !short && id != "" && len(id) <= maxID {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash takes everything
	sum := strconv.FormatUint(h.Sum64(), 36)
	if short {
		return ("000000000" + sum)[len(sum):]
	}
	return "call_" + sum
}

func alphanumeric(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
