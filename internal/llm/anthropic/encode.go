package anthropic

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// encoded is one message in its wire form, with a leading comma; empty if nothing of it can be sent.
type encoded struct {
	json []byte
	mark int // position for a cache mark: before the last brace of the last cacheable block, or 0

	native *encoded // the same with references to deferred tools, where it has some
	refs   []string // these tools
}

// in is the form for a request: with references where it defers all the tools that they name.
func (e encoded) in(tools []llm.ToolSpec) encoded {
	if e.native == nil {
		return e
	}
	for _, name := range e.refs {
		if !slices.ContainsFunc(tools, func(t llm.ToolSpec) bool { return t.Deferred && t.Name == name }) {
			return e
		}
	}
	return *e.native
}

// encode depends only on the message and the model, so its result is cached.
func (m *model) encode(msg *llm.Message) encoded {
	e := m.encodeAs(msg, false)
	for _, p := range msg.Parts {
		if r, ok := p.(llm.ToolResult); ok && !r.IsError {
			e.refs = append(e.refs, llm.References(r.Parts)...)
		}
	}
	if len(e.refs) > 0 {
		native := m.encodeAs(msg, true)
		e.native = &native
	}
	return e
}

func (m *model) encodeAs(msg *llm.Message, native bool) encoded {
	w := writer{model: m, native: native, buf: make([]byte, 0, sizeOfParts(msg.Parts)+64)}
	role := "user"
	if msg.Role == llm.Assistant {
		role = "assistant"
	}
	w.buf = append(append(append(w.buf, `,{"role":"`...), role...), `","content":[`...)
	if msg.Role == llm.User {
		// The API requires tool results first.
		w.parts(msg.Parts, isResult)
		w.parts(msg.Parts, func(p llm.Part) bool { return !isResult(p) })
	} else {
		w.parts(msg.Parts, func(llm.Part) bool { return true })
	}
	if w.blocks == 0 {
		return encoded{}
	}
	return encoded{json: append(w.buf, "]}"...), mark: w.mark}
}

func isResult(p llm.Part) bool { _, ok := p.(llm.ToolResult); return ok }

func sizeOfParts(parts []llm.Part) int {
	n := 0
	for _, p := range parts {
		n += 96
		switch p := p.(type) {
		case llm.Text:
			n += len(p.Text) * 17 / 16
		case llm.Reasoning:
			n += len(p.Text)*17/16 + len(p.Signature) + len(p.Data)
		case llm.Media:
			n += base64.StdEncoding.EncodedLen(len(p.Data))
		case llm.ToolCall:
			n += len(p.Input)
		case llm.ToolResult:
			n += sizeOfParts(p.Parts)
		case llm.Opaque:
			n += len(p.JSON)
		}
	}
	return n
}

// writer appends content blocks.
type writer struct {
	model  *model
	native bool // references to deferred tools are written as such
	buf    []byte
	blocks int
	mark   int
}

func (w *writer) parts(parts []llm.Part, take func(llm.Part) bool) {
	for _, p := range parts {
		if take(p) {
			w.part(p)
		}
	}
}

// part appends one block; parts that the API would refuse are dropped.
func (w *writer) part(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		if !blank(p.Text) {
			w.open(`{"type":"text","text":`)
			w.buf = llm.AppendQuoted(w.buf, p.Text)
			if o := p.Opaque; o != nil && w.model.info.Owns(o.Provider) && len(o.JSON) > 2 && o.JSON[0] == '[' {
				w.buf = llm.AppendCanonical(append(w.buf, `,"citations":`...), o.JSON)
			}
			w.close(true)
		}
	case llm.Reasoning:
		w.reasoning(p)
	case llm.Media:
		w.media(p)
	case llm.ToolCall:
		w.open(`{"type":"tool_use","id":`)
		w.buf = llm.AppendQuoted(w.buf, callID(p.ID))
		w.buf = llm.AppendQuoted(append(w.buf, `,"name":`...), llm.ToolName(p.Name, 128))
		w.buf = appendInput(append(w.buf, `,"input":`...), p.Input)
		w.close(true)
	case llm.ToolResult:
		w.result(p)
	case llm.Opaque:
		if w.model.info.Owns(p.Provider) && isObject(p.JSON) {
			w.comma()
			w.buf = llm.AppendCanonical(w.buf, p.JSON)
			w.blocks++
		}
	}
}

func (w *writer) comma() {
	if w.blocks > 0 {
		w.buf = append(w.buf, ',')
	}
}

func (w *writer) open(start string) {
	w.comma()
	w.buf = append(w.buf, start...)
}

func (w *writer) close(cacheable bool) {
	if cacheable {
		w.mark = len(w.buf)
	}
	w.buf = append(w.buf, '}')
	w.blocks++
}

// reasoning is sent back unchanged to the host that signed it; any other would refuse it.
func (w *writer) reasoning(r llm.Reasoning) {
	switch {
	case !w.model.info.Owns(r.Provider):
		return
	case r.Data != "":
		w.open(`{"type":"redacted_thinking","data":`)
		w.buf = llm.AppendQuoted(w.buf, r.Data)
	case r.Signature != "":
		w.open(`{"type":"thinking","thinking":`)
		w.buf = llm.AppendQuoted(w.buf, r.Text)
		w.buf = llm.AppendQuoted(append(w.buf, `,"signature":`...), r.Signature)
	default:
		return
	}
	w.close(false)
}

// media appends an image or a PDF; other types are replaced by a line of text.
func (w *writer) media(p llm.Media) {
	kind := ""
	switch {
	case llm.IsImage(p.MIME):
		kind = "image"
	case p.MIME == "application/pdf":
		kind = "document"
	}
	if kind == "" || !w.model.info.Images || len(p.Data) == 0 {
		w.part(llm.Text{Text: mediaNote(p)})
		return
	}
	w.open(`{"type":"` + kind + `","source":{"type":"base64","media_type":"` + p.MIME + `","data":"`)
	w.buf = base64.StdEncoding.AppendEncode(w.buf, p.Data)
	w.buf = append(w.buf, `"}`...)
	w.close(true)
}

func mediaNote(p llm.Media) string {
	what := strings.TrimSpace(p.Name + " " + p.MIME)
	return fmt.Sprintf("[%s, %d bytes: cannot be sent to the model]", what, len(p.Data))
}

func (w *writer) result(r llm.ToolResult) {
	w.open(`{"type":"tool_result","tool_use_id":`)
	w.buf = llm.AppendQuoted(w.buf, callID(r.CallID))
	inner := writer{model: w.model, buf: append(w.buf, `,"content":[`...)}
	parts := r.Parts
	if refs := llm.References(parts); w.native && !r.IsError && len(refs) > 0 {
		parts = nil // definitions stand in for all of it
		for _, name := range refs {
			inner.open(`{"type":"tool_reference","tool_name":`)
			inner.buf = llm.AppendQuoted(inner.buf, name)
			inner.close(false)
		}
	}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			inner.part(p)
		case llm.Media:
			if r.IsError { // an error may hold text only
				inner.part(llm.Text{Text: mediaNote(p)})
			} else {
				inner.part(p)
			}
		}
	}
	if inner.blocks > 0 {
		w.buf = append(inner.buf, ']')
	}
	if r.IsError {
		w.buf = append(w.buf, `,"is_error":true`...)
	}
	w.close(true)
}

// appendInput appends a call's input, which must be an object.
func appendInput(buf []byte, input json.RawMessage) []byte {
	if !isObject(input) {
		return append(buf, "{}"...)
	}
	return llm.AppendCanonical(buf, input)
}

func isObject(raw json.RawMessage) bool {
	t := bytes.TrimLeft(raw, " \t\r\n")
	return len(t) > 0 && t[0] == '{' && json.Valid(t)
}

// blank: the API refuses text without a visible character.
func blank(s string) bool { return strings.TrimSpace(s) == "" }

// callID returns an id the API accepts (letters, digits, _ and -). Ids of other providers may have other
// characters; the same id is always changed in the same way, which keeps call and result matched.
func callID(id string) string {
	if llm.PlainName(id) && len(id) <= 128 {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return fmt.Sprintf("toolu_%016x", h.Sum64())
}
