package converse

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"
	"unicode"

	"github.com/lathe-dev/lathe/internal/llm"
)

const mostName = 64 // bytes of a tool's name and of a call's id

// encoded is the content of one message: blocks, each with a leading comma. Messages of one role are joined, so the
// braces around them are written later.
type encoded struct {
	blocks []byte
	mark   bool // a cachePoint may follow
}

// body builds the request. Fields that stay the same from step to step come first, the messages last.
func (m *model) body(req *llm.Request) *llm.Body {
	b := &llm.Body{}
	b.Append(m.head(req))
	b.AppendString(`,"messages":[`)
	encs := make([]encoded, len(req.Messages))
	m.cache.Encode(req.Messages, m.content, func(i int, e encoded) { encs[i] = e })
	newest, before := m.marked(req.Messages, encs)
	var role llm.Role
	for i, e := range encs {
		if len(e.blocks) == 0 {
			continue
		}
		blocks := e.blocks
		if next := req.Messages[i].Role; next != role {
			b.AppendString(opening(role, next))
			role, blocks = next, blocks[1:]
		}
		b.Append(blocks)
		if i == newest || i == before {
			b.AppendString("," + m.mark())
		}
	}
	if role != "" {
		b.AppendString("]}")
	}
	b.AppendString("]}")
	return b
}

// opening ends the message of one role and begins one of the next.
func opening(last, next llm.Role) string {
	s := `{"role":"user","content":[`
	if next == llm.Assistant {
		s = `{"role":"assistant","content":[`
	}
	if last != "" {
		s = "]}," + s
	}
	return s
}

// mark is a cachePoint.
func (m *model) mark() string {
	if m.p.conf.CacheTTL == "1h" && m.family.claude {
		return `{"cachePoint":{"type":"default","ttl":"1h"}}`
	}
	return `{"cachePoint":{"type":"default"}}`
}

// marked finds the two messages of the user that end with a cachePoint: the newest, and the newest one of the previous
// request, whose cached prefix this request can read. -1: none.
func (m *model) marked(msgs []llm.Message, encs []encoded) (newest, before int) {
	newest, before = -1, -1
	replied := false
	for i := len(msgs) - 1; i >= 0 && m.family.marks; i-- {
		switch {
		case msgs[i].Role == llm.Assistant:
			replied = replied || newest >= 0
		case !encs[i].mark:
		case newest < 0:
			newest = i
		case replied:
			return newest, i
		}
	}
	return newest, before
}

// head returns everything except the messages.
func (m *model) head(req *llm.Request) []byte {
	b := []byte(`{"inferenceConfig":{`)
	limit, extra := m.info.OutputLimit(req.MaxTokens), m.extra(req)
	if limit > 0 {
		b = strconv.AppendInt(append(b, `"maxTokens":`...), int64(limit), 10)
	}
	if req.Temperature != nil && extra == "" { // models that think refuse one
		b = strconv.AppendFloat(append(separated(b), `"temperature":`...), *req.Temperature, 'g', -1, 64)
	}
	for i, s := range req.Stop {
		if i == 0 {
			b = append(separated(b), `"stopSequences":`...)
		}
		b = llm.AppendQuoted(append(b, "[,"[min(i, 1)]), s)
	}
	if len(req.Stop) > 0 {
		b = append(b, ']')
	}
	b = append(b, '}')
	if extra != "" {
		b = append(append(append(b, `,"additionalModelRequestFields":{`...), extra...), '}')
	}
	b = m.appendTools(b, req)
	if text := (llm.Message{Parts: req.System}).PlainText(); strings.TrimSpace(text) != "" {
		b = append(llm.AppendQuoted(append(b, `,"system":[{"text":`...), text), '}')
		if m.family.marks {
			b = append(append(b, ','), m.mark()...)
		}
		b = append(b, ']')
	}
	return b
}

// separated appends a comma unless an object has just begun.
func separated(b []byte) []byte {
	if b[len(b)-1] == '{' {
		return b
	}
	return append(b, ',')
}

// budgets are the tokens of thinking by effort, for Claude models that take a budget.
func budgetOf(e llm.Effort) int {
	switch e {
	case "low":
		return 4_000
	case "", "medium":
		return 10_000
	case "high":
		return 20_000
	}
	return 31_999
}

// extra returns the members of additionalModelRequestFields, which Bedrock hands to the model: thinking, in the form of
// its maker.
func (m *model) extra(req *llm.Request) string {
	off := req.Effort == "off" || forced(req)
	switch {
	case strings.Contains(m.info.ID, "openai.gpt-oss") && req.Effort != "":
		e := req.Effort
		if e == "off" {
			e = "low"
		}
		return `"reasoning_effort":"` + string((&llm.ModelInfo{Efforts: []llm.Effort{"low", "medium", "high"}}).FitEffort(
			e)) + `"`
	case !m.family.claude || off:
		return ""
	case m.info.Thinking == llm.ThinkingAdaptive:
		s := `"thinking":{"type":"adaptive","display":"summarized"}`
		if e := m.info.FitEffort(req.Effort); e != "" {
			s += `,"output_config":{"effort":"` + string(e) + `"}`
		}
		return s
	case m.info.Thinking == llm.ThinkingBudget:
		if n := min(budgetOf(req.Effort), m.info.OutputLimit(req.MaxTokens)-1024); n >= 1024 {
			return `"thinking":{"type":"enabled","budget_tokens":` + strconv.Itoa(n) + `}`
		}
	}
	return ""
}

// forced reports whether a tool must be called, which models that think refuse.
func forced(req *llm.Request) bool {
	return len(req.Tools) > 0 && req.ToolChoice != "" && req.ToolChoice != "auto" && req.ToolChoice != "none"
}

// appendTools writes toolConfig. A conversation with calls needs one, also where the request has no tools.
func (m *model) appendTools(b []byte, req *llm.Request) []byte {
	tools := req.Tools
	if len(tools) == 0 {
		tools = called(req.Messages)
	}
	if len(tools) == 0 {
		return b
	}
	b = append(b, `,"toolConfig":{"tools":[`...)
	for i := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTool(b, &tools[i])
	}
	if m.family.toolMarks {
		b = append(append(b, ','), m.mark()...)
	}
	b = append(b, ']')
	switch {
	case !forced(req) || !m.family.forced:
	case req.ToolChoice == "any":
		b = append(b, `,"toolChoice":{"any":{}}`...)
	default:
		b = append(llm.AppendQuoted(append(b, `,"toolChoice":{"tool":{"name":`...), llm.ToolName(req.ToolChoice, mostName)),
			"}}"...)
	}
	return append(b, '}')
}

// called lists the tools that the conversation has calls of.
func called(msgs []llm.Message) []llm.ToolSpec {
	var out []llm.ToolSpec
	seen := map[string]bool{}
	for i := range msgs {
		for _, p := range msgs[i].Parts {
			if c, ok := p.(llm.ToolCall); ok && !seen[c.Name] {
				seen[c.Name] = true
				out = append(out, llm.ToolSpec{Name: llm.ToolName(c.Name, mostName)})
			}
		}
	}
	return out
}

func appendTool(b []byte, t *llm.ToolSpec) []byte {
	b = llm.AppendQuoted(append(b, `{"toolSpec":{"name":`...), t.Name)
	b = llm.AppendQuoted(append(b, `,"description":`...), cmp.Or(t.Description, t.Name))
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return append(append(append(b, `,"inputSchema":{"json":`...), schema...), "}}}"...)
}

// content encodes a message. It depends on the message alone.
func (m *model) content(msg *llm.Message) encoded {
	if msg.Role == llm.Assistant {
		return encoded{blocks: m.reply(msg)}
	}
	return m.user(msg)
}

func (m *model) reply(msg *llm.Message) []byte {
	var b []byte
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			b = appendText(b, p.Text)
		case llm.Reasoning:
			b = m.appendReasoning(b, p)
		case llm.ToolCall:
			b = llm.AppendQuoted(append(b, `,{"toolUse":{"toolUseId":`...), callID(p.ID))
			b = llm.AppendQuoted(append(b, `,"name":`...), llm.ToolName(p.Name, mostName))
			b = append(b, `,"input":`...)
			if llm.IsObject(p.Input) {
				b = llm.AppendCanonical(b, p.Input)
			} else {
				b = append(b, "{}"...)
			}
			b = append(b, "}}"...)
		case llm.Opaque:
			if m.info.Owns(p.Provider) && llm.IsObject(p.JSON) {
				b = llm.AppendCanonical(append(b, ','), p.JSON)
			}
		}
	}
	return b
}

// appendReasoning sends reasoning back to the host that signed it; others refuse it.
func (m *model) appendReasoning(b []byte, r llm.Reasoning) []byte {
	switch {
	case !m.info.Owns(r.Provider):
	case r.Data != "":
		b = llm.AppendQuoted(append(b, `,{"reasoningContent":{"redactedContent":`...), r.Data)
		b = append(b, "}}"...)
	case r.Signature != "":
		b = llm.AppendQuoted(append(b, `,{"reasoningContent":{"reasoningText":{"text":`...), r.Text)
		b = append(llm.AppendQuoted(append(b, `,"signature":`...), r.Signature), "}}}"...)
	}
	return b
}

func appendText(b []byte, text string) []byte {
	if strings.TrimSpace(text) == "" {
		return b
	}
	return append(llm.AppendQuoted(append(b, `,{"text":`...), text), '}')
}

// user writes the results, then the rest. A model that takes no text beside results gets it in the last one.
func (m *model) user(msg *llm.Message) encoded {
	var results []llm.ToolResult
	var rest []llm.Part
	for _, p := range msg.Parts {
		if r, ok := p.(llm.ToolResult); ok {
			results = append(results, r)
		} else {
			rest = append(rest, p)
		}
	}
	if n := len(results); n > 0 && m.family.apart {
		last := &results[n-1]
		last.Parts = append(append([]llm.Part(nil), last.Parts...), rest...)
		rest = nil
	}
	var b []byte
	for _, r := range results {
		b = m.appendResult(b, r)
	}
	b = m.appendParts(b, rest)
	return encoded{blocks: b, mark: len(b) > 0 && (len(results) == 0 || m.family.toolMarks)}
}

// appendResult writes the result of a call, whose content may not be empty.
func (m *model) appendResult(b []byte, r llm.ToolResult) []byte {
	b = llm.AppendQuoted(append(b, `,{"toolResult":{"toolUseId":`...), callID(r.CallID))
	b = append(b, `,"content":[`...)
	parts := r.Parts
	if r.IsError && !m.family.status {
		parts = append([]llm.Part{llm.Text{Text: "error:"}}, parts...)
	}
	content := m.appendParts(nil, parts)
	if len(content) == 0 {
		content = []byte(`,{"text":"(no output)"}`)
	}
	b = append(append(b, content[1:]...), ']')
	if r.IsError && m.family.status {
		b = append(b, `,"status":"error"`...)
	}
	return append(b, "}}"...)
}

// appendParts writes texts and media. A document needs a text beside it.
func (m *model) appendParts(b []byte, parts []llm.Part) []byte {
	texts, documents := false, 0
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			texts = texts || strings.TrimSpace(p.Text) != ""
			b = appendText(b, p.Text)
		case llm.Media:
			kind, format := m.form(p)
			if kind == "" {
				texts = true
				b = appendText(b, llm.LeftOut(p).Text)
				continue
			}
			b = append(append(append(b, `,{"`...), kind...), `":{"format":"`+format+`"`...)
			if kind == "document" {
				documents++
				b = llm.AppendQuoted(append(b, `,"name":`...), documentName(p.Name, documents))
			}
			b = append(base64.StdEncoding.AppendEncode(append(b, `,"source":{"bytes":"`...), p.Data), `"}}}`...)
		}
	}
	if documents > 0 && !texts {
		b = appendText(b, "The document above.")
	}
	return b
}

// form returns the block of a file and its format; "" if the model does not take it.
func (m *model) form(p llm.Media) (kind, format string) {
	switch {
	case !m.info.Images && m.info.Known || len(p.Data) == 0:
		return "", ""
	case p.MIME == "application/pdf":
		return "document", "pdf"
	}
	switch format := strings.TrimPrefix(p.MIME, "image/"); format {
	case "png", "jpeg", "gif", "webp":
		return "image", format
	}
	return "", ""
}

// documentName returns a name that Bedrock takes: letters, digits, single spaces, hyphens and brackets, each name once.
func documentName(name string, n int) string {
	name = strings.TrimSuffix(name[strings.LastIndexAny(name, `/\`)+1:], ".pdf")
	name = strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-()[] ", r)) {
			return r
		}
		return '-'
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if name == "" {
		name = "document"
	}
	if n > 1 {
		name += "-" + strconv.Itoa(n)
	}
	return name
}

// callID returns an id that Bedrock takes.
func callID(id string) string {
	if id != "" && len(id) <= mostName && llm.PlainName(id) {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash takes everything
	return "call_" + strconv.FormatUint(h.Sum64(), 16)
}
