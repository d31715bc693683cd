package google

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// maxToolName is the longest name of a function.
const maxToolName = 64

// foreignSignature stands for the signature of a call that another model wrote (Gemini API, "Thought signatures").
const foreignSignature = "skip_thought_signature_validator"

// encoder caches the encodings of earlier requests of one model.
type encoder struct {
	messages llm.EncodeCache[[]byte]
	tools    llm.ToolList
}

// body builds the request. Fields that stay the same from step to step come first, the contents last.
func (m *model) body(req *llm.Request) *llm.Body {
	b := &llm.Body{}
	b.Append(m.head(req))
	b.AppendString(`,"contents":[`)
	empty := true
	m.enc.messages.Encode(req.Messages, m.contents, func(_ int, seg []byte) {
		if len(seg) == 0 {
			return
		}
		if empty { // a segment begins with a comma
			seg, empty = seg[1:], false
		}
		b.Append(seg)
	})
	b.AppendString("]}")
	return b
}

// head returns everything except the contents.
func (m *model) head(req *llm.Request) []byte {
	b := []byte(`{"generationConfig":{"maxOutputTokens":`)
	limit := cmp.Or(m.info.OutputLimit(req.MaxTokens), llm.UnknownMaxTokens)
	b = strconv.AppendInt(b, int64(limit), 10)
	if req.Temperature != nil {
		b = strconv.AppendFloat(append(b, `,"temperature":`...), *req.Temperature, 'g', -1, 64)
	}
	if len(req.Stop) > 0 {
		b = append(b, `,"stopSequences":`...)
		for i, s := range req.Stop {
			b = llm.AppendQuoted(append(b, "[,"[min(i, 1)]), s)
		}
		b = append(b, ']')
	}
	b = append(m.appendThinking(b, req.Effort), '}')
	if text := (llm.Message{Parts: req.System}).PlainText(); text != "" {
		b = append(llm.AppendQuoted(append(b, `,"systemInstruction":{"parts":[{"text":`...), text), `}]}`...)
	}
	if len(req.Tools) > 0 {
		b = append(b, m.enc.tools.Encode(req.Tools, toolList)...)
		b = appendToolChoice(b, req.ToolChoice)
	}
	return b
}

// appendThinking asks for summaries of thoughts, and sets how long the model thinks.
func (m *model) appendThinking(b []byte, e llm.Effort) []byte {
	if !m.family.thinks() {
		return b
	}
	b = append(b, `,"thinkingConfig":{"includeThoughts":`...)
	b = strconv.AppendBool(b, e != "off")
	switch {
	case e == "":
	case len(m.family.levels) > 0:
		b = llm.AppendQuoted(append(b, `,"thinkingLevel":`...), m.family.level(e))
	default:
		b = strconv.AppendInt(append(b, `,"thinkingBudget":`...), int64(m.family.budgetFor(e)), 10)
	}
	return append(b, '}')
}

func appendToolChoice(b []byte, choice string) []byte {
	switch choice {
	case "", "auto":
		return b
	case "none":
		return append(b, `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}`...)
	case "any":
		return append(b, `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`...)
	}
	b = append(b, `,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":[`...)
	return append(llm.AppendQuoted(b, choice), "]}}"...)
}

// toolList encodes the tools.
func toolList(tools []llm.ToolSpec) []byte {
	declared, servers := []byte(`{"functionDeclarations":[`), []byte(nil)
	first := len(declared)
	for i := range tools {
		switch {
		case tools[i].Server != nil:
			servers = append(append(servers, ','), tools[i].Server...)
			continue
		case len(declared) > first:
			declared = append(declared, ',')
		}
		declared = appendTool(declared, &tools[i])
	}
	b := []byte(`,"tools":[`)
	if len(declared) > first {
		b = append(append(b, declared...), "]}"...)
	} else if servers != nil {
		servers = servers[1:]
	}
	return append(append(b, servers...), ']')
}

// appendTool writes a declaration. The description is required; an object without properties is refused, so a tool
// without parameters has none.
func appendTool(b []byte, t *llm.ToolSpec) []byte {
	b = llm.AppendQuoted(append(b, `{"name":`...), t.Name)
	b = llm.AppendQuoted(append(b, `,"description":`...), cmp.Or(t.Description, t.Name))
	if schema := subset(t.Schema); schema != nil {
		b = append(append(b, `,"parameters":`...), schema...)
	}
	return append(b, '}')
}

// contents encodes a message as contents, each with a leading comma, or as nothing if all of it is for other
// providers. It depends on the message alone.
func (m *model) contents(msg *llm.Message) []byte {
	if msg.Role == llm.Assistant {
		return m.reply(msg)
	}
	return m.user(msg)
}

// content opens a content; closeContent ends it, or takes it back if it has no part.
func openContent(b []byte, role string) []byte {
	return append(append(append(b, `,{"role":"`...), role...), `","parts":[`...)
}

func closeContent(b []byte, from int) []byte {
	if b[len(b)-1] == '[' {
		return b[:from]
	}
	return append(b, "]}"...)
}

// next writes the comma between two parts.
func next(b []byte) []byte {
	if b[len(b)-1] != '[' {
		b = append(b, ',')
	}
	return b
}

func (m *model) reply(msg *llm.Message) []byte {
	b := openContent(nil, "model")
	unsigned := m.family.signed
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			if s := m.seal(p.Opaque); p.Text != "" || s.Signature != "" {
				b = appendText(next(b), p.Text, s)
			}
		case llm.Reasoning:
			if s := m.seal(p.Opaque); m.info.Owns(p.Provider) && p.Data == "" && p.Signature == "" &&
				(p.Text != "" || s.Signature != "") {
				b = llm.AppendQuoted(append(next(b), `{"text":`...), p.Text)
				b = append(appendSignature(append(b, `,"thought":true`...), s.Signature), '}')
			}
		case llm.ToolCall:
			s := m.seal(p.Opaque)
			if unsigned && s.Signature == "" {
				s.Signature = foreignSignature
			}
			unsigned = false // only the first of parallel calls has one
			b = m.appendCall(next(b), p, s)
		case llm.Opaque:
			if m.info.Owns(p.Provider) && llm.IsObject(p.JSON) {
				b = llm.AppendCanonical(next(b), p.JSON)
			}
		}
	}
	return closeContent(b, 0)
}

// seal is the data of this host on a part.
type seal struct {
	Signature string `json:"thoughtSignature,omitempty"`
	Apart     bool   `json:"apart,omitempty"` // the signature of a text came after it, on a part without text
}

func (m *model) seal(o *llm.Opaque) (s seal) {
	if o != nil && m.info.Owns(o.Provider) {
		_ = json.Unmarshal(o.JSON, &s) // data of another form has no signature
	}
	return s
}

func appendText(b []byte, text string, s seal) []byte {
	if s.Apart && text != "" {
		b = append(llm.AppendQuoted(append(b, `{"text":`...), text), `},`...)
		text = ""
	}
	b = llm.AppendQuoted(append(b, `{"text":`...), text)
	return append(appendSignature(b, s.Signature), '}')
}

func appendSignature(b []byte, signature string) []byte {
	if signature == "" {
		return b
	}
	return llm.AppendQuoted(append(b, `,"thoughtSignature":`...), signature)
}

// idMark ends the ids of calls that a host made, so that a result alone tells whether its call goes back with an id.
func idMark(host string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(host)) // a hash takes everything
	return "_" + strconv.FormatUint(uint64(h.Sum32()), 36)
}

// serverID returns the id that a host gave to a call; "" if another one, or nobody, did.
func serverID(host, id string) string {
	id, own := strings.CutSuffix(id, idMark(host))
	if !own {
		return ""
	}
	return id
}

func (m *model) appendCall(b []byte, c llm.ToolCall, s seal) []byte {
	b = append(b, `{"functionCall":{`...)
	if id := serverID(m.info.Host, c.ID); id != "" {
		b = append(llm.AppendQuoted(append(b, `"id":`...), id), ',')
	}
	b = llm.AppendQuoted(append(b, `"name":`...), functionName(c.Name))
	b = append(b, `,"args":`...)
	if c.Raw != "" || len(c.Input) == 0 {
		b = append(b, "{}"...)
	} else {
		b = llm.AppendCanonical(b, c.Input)
	}
	return append(appendSignature(append(b, '}'), s.Signature), '}')
}

// functionName returns a name that the server takes: it may not begin with a digit or a hyphen.
func functionName(name string) string {
	name = llm.ToolName(name, maxToolName-1)
	if c := name[0] | 0x20; c >= 'a' && c <= 'z' || c == '_'|0x20 {
		return name
	}
	return "_" + name
}

// user writes the results in a content of their own, since the server counts its parts against the calls, then a
// content with the rest.
func (m *model) user(msg *llm.Message) []byte {
	b := openContent(nil, "user")
	var rest []llm.Part
	for _, p := range msg.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			var media []llm.Part
			b, media = m.appendResult(next(b), r)
			rest = append(rest, media...)
		}
	}
	b = closeContent(b, 0)
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
	from := len(b)
	return closeContent(appendParts(openContent(b, "user"), rest), from)
}

func appendParts(b []byte, parts []llm.Part) []byte {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			b = append(llm.AppendQuoted(append(next(b), `{"text":`...), p.Text), '}')
		case llm.Media:
			b = llm.AppendQuoted(append(next(b), `{"inlineData":{"mimeType":`...), p.MIME)
			b = base64.StdEncoding.AppendEncode(append(b, `,"data":"`...), p.Data)
			b = append(b, `"}}`...)
		}
	}
	return b
}

// appendResult writes the result of a call, and returns the media that a result of this model cannot hold.
func (m *model) appendResult(b []byte, r llm.ToolResult) (_ []byte, rest []llm.Part) {
	var texts, media []llm.Part
	for _, p := range r.Parts {
		if f, ok := p.(llm.Media); ok {
			p = m.orText(f)
		}
		if _, ok := p.(llm.Media); ok {
			media = append(media, p)
		} else {
			texts = append(texts, p)
		}
	}
	text := (llm.Message{Parts: texts}).PlainText()
	b = append(b, `{"functionResponse":{`...)
	if id := serverID(m.info.Host, r.CallID); id != "" {
		b = append(llm.AppendQuoted(append(b, `"id":`...), id), ',')
	}
	b = llm.AppendQuoted(append(b, `"name":`...), functionName(r.Name))
	switch {
	case r.IsError:
		b = append(b, `,"response":{"error":`...)
	default:
		b = append(b, `,"response":{"output":`...)
	}
	b = append(llm.AppendQuoted(b, text), '}')
	switch {
	case len(media) > 0 && m.family.nested:
		b = append(appendParts(append(b, `,"parts":[`...), media), ']')
	case len(media) > 0:
		rest = append([]llm.Part{llm.Text{Text: "Files of the result of " + cmp.Or(r.Name, "the tool") + ":"}}, media...)
	}
	return append(b, "}}"...), rest
}

// orText returns the media, or a text in its place if the model does not accept it.
func (m *model) orText(p llm.Media) llm.Part {
	image := strings.HasPrefix(p.MIME, "image/")
	if image && (m.info.Images || !m.info.Known) || p.MIME == "application/pdf" && m.info.Images {
		return p
	}
	return llm.LeftOut(p)
}
