package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Hosts sign reasoning in members of their own, and require them in the same place:
//
//   - OpenRouter streams reasoning_details, a list of items, in pieces (its page on reasoning tokens). Pieces
//     of a text share type and index. The list goes back in the assistant message.
//   - Gemini puts extra_content beside a call or a text (its page on thought signatures). It is sent back
//     with the call, or with the assistant message.
//
// An [llm.Opaque] of this wire is an object with one of these members.

// detail is the part of a reasoning detail that lathe reads.
type detail struct {
	Type    string          `json:"type"`
	Index   json.RawMessage `json:"index"`
	Text    string          `json:"text"`
	Summary string          `json:"summary"`
	Signed  string          `json:"signature"`
}

// detailsText is the readable text of reasoning details.
func detailsText(details []json.RawMessage) string {
	var b strings.Builder
	for _, raw := range details {
		var d detail
		_ = json.Unmarshal(raw, &d) // an item of another form has no text
		b.WriteString(d.Text)
		b.WriteString(d.Summary)
	}
	return b.String()
}

// detailed keeps the details of the newest thought; a signature may come without any text.
func (a *assembly) detailed(details []json.RawMessage) {
	if len(details) == 0 {
		return
	}
	p := a.last(thoughtPart)
	if p == nil {
		p = a.open(thoughtPart)
	}
	for _, raw := range details {
		p.details = append(p.details, bytes.Clone(raw))
	}
}

// signed keeps the signature of the newest text.
func (a *assembly) signed(extra json.RawMessage) {
	if p := a.last(textPart); p != nil {
		p.sign(extra)
	}
}

func (p *part) sign(extra json.RawMessage) {
	if hasValue(extra) {
		p.extra = bytes.Clone(extra)
	}
}

func extraOpaque(host string, extra json.RawMessage) *llm.Opaque {
	if extra == nil {
		return nil
	}
	b := llm.AppendCanonical([]byte(`{"extra_content":`), extra)
	return &llm.Opaque{Provider: host, JSON: append(b, '}')}
}

func detailsOpaque(host string, details []json.RawMessage) *llm.Opaque {
	if len(details) == 0 {
		return nil
	}
	b := appendDetails([]byte{'{'}, joinPieces(details))
	return &llm.Opaque{Provider: host, JSON: append(b, '}')}
}

func appendDetails(b []byte, details []json.RawMessage) []byte {
	b = append(b, `"reasoning_details":[`...)
	for i, d := range details {
		if i > 0 {
			b = append(b, ',')
		}
		b = llm.AppendCanonical(b, d)
	}
	return append(b, ']')
}

// joinPieces merges the pieces of each text into one item. A signature ends a text.
func joinPieces(pieces []json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	var last detail
	for _, raw := range pieces {
		var d detail
		_ = json.Unmarshal(raw, &d) // an item of another form stays as it is
		if n := len(out); n > 0 && d.continues(last) {
			out[n-1] = joinDetail(out[n-1], raw)
			d.Signed += last.Signed
		} else {
			out = append(out, raw)
		}
		last = d
	}
	return out
}

func (d detail) continues(last detail) bool {
	readable := d.Type == "reasoning.text" || d.Type == "reasoning.summary"
	ended := last.Signed != "" && d.Text+d.Summary != ""
	return readable && d.Type == last.Type && bytes.Equal(d.Index, last.Index) && !ended
}

// joinDetail adds a piece to an item: texts are appended, and any other member with a value replaces the
// previous one.
func joinDetail(item, piece json.RawMessage) json.RawMessage {
	var whole, more map[string]json.RawMessage
	if json.Unmarshal(item, &whole) != nil || json.Unmarshal(piece, &more) != nil {
		return item
	}
	for key, value := range more {
		var before, after string
		switch {
		case !hasValue(value):
		case (key == "text" || key == "summary") && json.Unmarshal(value, &after) == nil:
			_ = json.Unmarshal(whole[key], &before) // absent or null: nothing before
			whole[key] = llm.AppendQuoted(nil, before+after)
		default:
			whole[key] = value
		}
	}
	joined, err := json.Marshal(whole)
	if err != nil {
		return item
	}
	return joined
}

// members appends the members of a part's opaque object to the object being written.
func (m *model) members(b []byte, o *llm.Opaque) []byte {
	if o == nil || !m.info.Owns(o.Provider) || !llm.IsObject(o.JSON) {
		return b
	}
	inner := bytes.TrimSpace(llm.AppendCanonical(nil, o.JSON))
	if len(inner) <= len("{}") {
		return b
	}
	return append(append(b, ','), inner[1:len(inner)-1]...)
}

// appendSignatures writes the signatures of a reply's text and reasoning.
func (m *model) appendSignatures(b []byte, msg *llm.Message) []byte {
	var text *llm.Opaque
	var details []json.RawMessage
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Opaque != nil {
				text = p.Opaque
			}
		case llm.Reasoning:
			details = append(details, m.details(p.Opaque)...)
		}
	}
	if len(details) > 0 {
		b = appendDetails(append(b, ','), details)
	}
	return m.members(b, text)
}

func (m *model) details(o *llm.Opaque) []json.RawMessage {
	if o == nil || !m.info.Owns(o.Provider) {
		return nil
	}
	var list struct {
		Details []json.RawMessage `json:"reasoning_details"`
	}
	_ = json.Unmarshal(o.JSON, &list) // other forms have no details
	return list.Details
}
