package session

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/llm"
)

// The encoding is the stored form of package llm (a test holds the two together), without the
// escapes for HTML that encoding/json puts into embedded raw JSON: they would make the input of a call
// differ between the process that received it and the one that resumed it.

const timeForm = "2006-01-02T15:04:05.000Z"

// appendString writes s as a JSON string; broken UTF-8 becomes U+FFFD.
func appendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// appendKey writes ,"key": ; keys are ours and need no escape.
func appendKey(dst []byte, key string) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, key...)
	return append(dst, '"', ':')
}

func appendText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(appendKey(dst, key), s)
}

func appendFlag(dst []byte, key string, on bool) []byte {
	if !on {
		return dst
	}
	return append(appendKey(dst, key), "true"...)
}

// appendRaw writes raw JSON on one line; other text is kept as a string, so that nothing is lost.
func appendRaw(dst []byte, raw []byte) []byte {
	buf := bytes.NewBuffer(dst)
	if !utf8.Valid(raw) || json.Compact(buf, raw) != nil {
		return appendString(dst, string(raw))
	}
	return buf.Bytes()
}

// appendMarshal writes a value of ours, which always has a JSON form.
func appendMarshal(dst []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(dst)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func appendPart(dst []byte, p llm.Part) ([]byte, error) {
	switch p := p.(type) {
	case llm.Text:
		dst = appendText(append(dst, `{"type":"text"`...), "origin", string(p.Origin)) // first: lists read beginnings
		dst = appendOpaque(appendString(appendKey(dst, "text"), p.Text), p.Opaque)
	case llm.Reasoning:
		dst = appendString(append(dst, `{"type":"reasoning","text":`...), p.Text)
		dst = appendText(appendText(dst, "signature", p.Signature), "data", p.Data)
		dst = appendOpaque(appendText(dst, "provider", p.Provider), p.Opaque)
	case llm.Media:
		dst = appendString(append(dst, `{"type":"media","mime":`...), p.MIME)
		dst = append(appendKey(dst, "data"), '"')
		dst = append(base64.StdEncoding.AppendEncode(dst, p.Data), '"')
		dst = appendText(dst, "name", p.Name)
	case llm.ToolCall:
		dst = appendString(append(dst, `{"type":"tool_call","id":`...), p.ID)
		dst = appendString(appendKey(dst, "name"), p.Name)
		dst = appendRaw(appendKey(dst, "input"), p.Input)
		dst = appendOpaque(appendText(dst, "raw", p.Raw), p.Opaque)
	case llm.ToolResult:
		return appendResult(dst, p)
	case llm.Opaque:
		dst = appendString(append(dst, `{"type":"opaque","provider":`...), p.Provider)
		dst = appendRaw(appendKey(dst, "json"), p.JSON)
	default: // kinds that llm may get later
		b, err := llm.MarshalPart(p)
		return append(dst, b...), err
	}
	return append(dst, '}'), nil
}

// appendOpaque writes a provider's data on a part, where it has some.
func appendOpaque(dst []byte, o *llm.Opaque) []byte {
	if o == nil {
		return dst
	}
	dst = append(appendKey(dst, "opaque"), `{"provider":`...)
	dst = appendRaw(appendKey(appendString(dst, o.Provider), "json"), o.JSON)
	return append(dst, '}')
}

func appendResult(dst []byte, r llm.ToolResult) ([]byte, error) {
	dst = appendString(append(dst, `{"type":"tool_result","call_id":`...), r.CallID)
	dst = appendText(dst, "name", r.Name)
	dst, err := appendParts(dst, r.Parts)
	dst = appendFlag(dst, "is_error", r.IsError)
	return append(dst, '}'), err
}

func appendParts(dst []byte, parts []llm.Part) ([]byte, error) {
	dst = append(appendKey(dst, "parts"), '[')
	for i, p := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendPart(dst, p); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendMessage(dst []byte, m llm.Message) ([]byte, error) {
	dst = appendString(append(dst, `{"role":`...), string(m.Role))
	dst = appendText(dst, "id", m.ID)
	dst, err := appendParts(dst, m.Parts)
	if err != nil {
		return dst, err
	}
	dst = appendText(dst, "model", m.Model)
	if m.Usage != nil {
		if dst, err = appendMarshal(appendKey(dst, "usage"), m.Usage); err != nil {
			return dst, err
		}
	}
	dst = appendText(dst, "stop", string(m.Stop))
	return append(dst, '}'), nil
}

// appendEntry writes the line of an entry up to its checksum, without the closing brace.
func appendEntry(dst []byte, e Entry) ([]byte, error) {
	dst = appendString(append(dst, `{"id":`...), e.ID)
	dst = appendString(appendKey(dst, "parent"), e.Parent)
	dst = append(appendKey(dst, "time"), '"')
	dst = append(e.Time.UTC().AppendFormat(dst, timeForm), '"')
	dst = appendString(appendKey(dst, "kind"), e.Body.Kind())
	return appendBody(dst, e.Body)
}

func appendBody(dst []byte, b Body) ([]byte, error) {
	switch b := b.(type) {
	case User:
		dst = appendFlag(appendFlag(dst, "steered", b.Steered), "synthetic", b.Synthetic) // first: lists read beginnings
		return appendMessage(appendKey(dst, "message"), b.Message)
	case Part:
		dst = strconv.AppendInt(appendKey(dst, "index"), int64(b.Index), 10)
		return appendPart(appendKey(dst, "part"), b.Part)
	case CallEnd:
		return appendCallEnd(dst, b)
	case CallStart:
		return appendCallStart(dst, b)
	case Compaction:
		return appendCompaction(dst, b)
	case TurnEnd:
		return appendFields(dst, b.wire())
	case Unknown:
		if b.JSON == nil {
			return dst, nil
		}
		return appendFields(dst, b.JSON)
	}
	return appendFields(dst, b)
}

// appendFields writes the members of the object that v is.
func appendFields(dst []byte, v any) ([]byte, error) {
	start := len(dst)
	dst, err := appendMarshal(dst, v)
	if err != nil {
		return dst, err
	}
	object := dst[start:]
	if len(object) < 2 || object[0] != '{' {
		return dst, errNoObject
	}
	if len(object) == 2 {
		return dst[:start], nil
	}
	dst[start] = ','
	return dst[:len(dst)-1], nil
}

func appendCallEnd(dst []byte, c CallEnd) ([]byte, error) {
	dst, err := appendResult(appendKey(dst, "result"), c.Result)
	if err != nil {
		return dst, err
	}
	dst = appendText(dst, "title", c.Title)
	if len(c.View) > 0 {
		dst = appendRaw(appendKey(dst, "view"), c.View)
	}
	if len(c.Meta) > 0 {
		dst = appendRaw(appendKey(dst, "meta"), c.Meta)
	}
	dst = appendFlag(appendFlag(dst, "denied", c.Denied), "synthetic", c.Synthetic)
	dst = appendText(dst, "parent_call", c.Parent)
	if c.Call != nil {
		dst = appendInvoked(dst, c.Call)
	}
	return strconv.AppendInt(appendKey(dst, "duration_ms"), c.Duration.Milliseconds(), 10), nil
}

func appendCallStart(dst []byte, c CallStart) ([]byte, error) {
	dst = appendString(appendKey(dst, "call_id"), c.CallID)
	dst = appendText(dst, "parent_call", c.Parent)
	if c.Call != nil {
		dst = appendInvoked(dst, c.Call)
	}
	return dst, nil
}

// appendInvoked writes a call as it runs.
func appendInvoked(dst []byte, c *llm.ToolCall) []byte {
	dst = appendString(append(appendKey(dst, "call"), `{"id":`...), c.ID)
	dst = appendString(appendKey(dst, "name"), c.Name)
	dst = appendRaw(appendKey(dst, "input"), c.Input)
	return append(appendText(dst, "raw", c.Raw), '}')
}

type wireTurnEnd struct {
	Reason   string    `json:"reason"`
	Err      string    `json:"error,omitempty"`
	Usage    llm.Usage `json:"usage"`
	CostUSD  float64   `json:"cost_usd"`
	Steps    int       `json:"steps"`
	Duration int64     `json:"duration_ms"`
	Total    Total     `json:"total"`
}

func (t TurnEnd) wire() wireTurnEnd {
	return wireTurnEnd{t.Reason, t.Err, t.Usage, t.CostUSD, t.Steps, t.Duration.Milliseconds(), t.Total}
}

func (w wireTurnEnd) body() TurnEnd {
	return TurnEnd{w.Reason, w.Err, w.Usage, w.CostUSD, w.Steps, time.Duration(w.Duration) * time.Millisecond, w.Total}
}
