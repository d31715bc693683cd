package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The stored form of messages: {"role","parts":[{"type":"text",...}]}. It is lathe's own and independent of
// the providers' wire formats, so a session can move between providers.

// storedMessage holds parts as values that encoding/json writes as they are, or as parts to read.
type storedMessage[P any] struct {
	ID    string     `json:"id,omitempty"`
	Role  Role       `json:"role"`
	Parts []P        `json:"parts"`
	Model string     `json:"model,omitempty"`
	Usage *Usage     `json:"usage,omitempty"`
	Stop  StopReason `json:"stop,omitempty"`
	From  string     `json:"from,omitempty"`
}

type storedResult[P any] struct {
	Type    string `json:"type"`
	CallID  string `json:"call_id"`
	Name    string `json:"name,omitempty"`
	Parts   []P    `json:"parts"`
	IsError bool   `json:"is_error,omitempty"`
}

// MarshalJSON writes the stored form.
func (m Message) MarshalJSON() ([]byte, error) {
	parts, err := storedParts(m.Parts)
	if err != nil {
		return nil, err
	}
	return marshal(storedMessage[any]{m.ID, m.Role, parts, m.Model, m.Usage, m.Stop, m.From})
}

// UnmarshalJSON reads the stored form; an unknown part type is an error.
func (m *Message) UnmarshalJSON(b []byte) error {
	var w storedMessage[StoredPart]
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*m = Message{w.ID, w.Role, partsOf(w.Parts), w.Model, w.Usage, w.Stop, w.From, nil}
	return nil
}

// StoredPart is a part that encoding/json writes with its type, and can read back.
type StoredPart struct{ Part }

// MarshalPart writes one part with its type.
func MarshalPart(p Part) (json.RawMessage, error) {
	v, err := stored(p)
	if err != nil {
		return nil, err
	}
	return marshal(v)
}

// MarshalJSON is MarshalPart.
func (p StoredPart) MarshalJSON() ([]byte, error) { return MarshalPart(p.Part) }

// UnmarshalJSON reads the form of MarshalJSON.
func (p *StoredPart) UnmarshalJSON(b []byte) (err error) {
	var t struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &t); err != nil {
		return err
	}
	switch t.Type {
	case "text":
		p.Part, err = unmarshalAs[Text](b)
	case "reasoning":
		p.Part, err = unmarshalAs[Reasoning](b)
	case "media":
		p.Part, err = unmarshalAs[Media](b)
	case "tool_call":
		p.Part, err = unmarshalAs[ToolCall](b)
	case "opaque":
		p.Part, err = unmarshalAs[Opaque](b)
	case "tool_result":
		var w storedResult[StoredPart]
		err = json.Unmarshal(b, &w)
		p.Part = ToolResult{w.CallID, w.Name, partsOf(w.Parts), w.IsError}
	default:
		err = fmt.Errorf("llm: unknown part type %q", t.Type)
	}
	return err
}

// marshal writes JSON without escapes for HTML, which would change the raw JSON of a call or of a provider: it must be
// the same before and after it was stored.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), err
}

// stored returns the value whose form in encoding/json is the stored form of a part. Only the outermost value has a
// method for it, since encoding/json reads through again what such a method returns.
func stored(p Part) (any, error) {
	switch p := p.(type) {
	case Text:
		return struct {
			Type string `json:"type"`
			Text
		}{"text", p}, nil
	case Reasoning:
		return struct {
			Type string `json:"type"`
			Reasoning
		}{"reasoning", p}, nil
	case Media:
		return struct {
			Type string `json:"type"`
			Media
		}{"media", p}, nil
	case ToolCall:
		if len(p.Input) == 0 {
			p.Input = json.RawMessage("{}")
		}
		return struct {
			Type string `json:"type"`
			ToolCall
		}{"tool_call", p}, nil
	case ToolResult:
		parts, err := storedParts(p.Parts)
		return storedResult[any]{"tool_result", p.CallID, p.Name, parts, p.IsError}, err
	case Opaque:
		return struct {
			Type string `json:"type"`
			Opaque
		}{"opaque", p}, nil
	}
	return nil, fmt.Errorf("llm: cannot store a part of type %T", p)
}

func storedParts(parts []Part) ([]any, error) {
	out := make([]any, len(parts))
	for i, p := range parts {
		v, err := stored(p)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func partsOf(stored []StoredPart) []Part {
	out := make([]Part, len(stored))
	for i, p := range stored {
		out[i] = p.Part
	}
	return out
}

func unmarshalAs[T Part](b []byte) (Part, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}
