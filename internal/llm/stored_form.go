package llm

import (
	"encoding/json"
	"fmt"
)

// The stored form of messages: {"role","parts":[{"type":"text",...}]}. It is lathe's own and independent of
// the providers' wire formats, so a session can move between providers.

type wireMessage struct {
	ID    string            `json:"id,omitempty"`
	Role  Role              `json:"role"`
	Parts []json.RawMessage `json:"parts"`
	Model string            `json:"model,omitempty"`
	Usage *Usage            `json:"usage,omitempty"`
	Stop  StopReason        `json:"stop,omitempty"`
}

// MarshalJSON writes the stored form.
func (m Message) MarshalJSON() ([]byte, error) {
	parts, err := marshalParts(m.Parts)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wireMessage{m.ID, m.Role, parts, m.Model, m.Usage, m.Stop})
}

// UnmarshalJSON reads the stored form; an unknown part type is an error.
func (m *Message) UnmarshalJSON(b []byte) error {
	var w wireMessage
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	parts, err := unmarshalParts(w.Parts)
	if err != nil {
		return err
	}
	*m = Message{w.ID, w.Role, parts, w.Model, w.Usage, w.Stop, nil}
	return nil
}

type wireResult struct {
	Type    string            `json:"type"`
	CallID  string            `json:"call_id"`
	Name    string            `json:"name,omitempty"`
	Parts   []json.RawMessage `json:"parts"`
	IsError bool              `json:"is_error,omitempty"`
}

// MarshalPart writes one part with its type.
func MarshalPart(p Part) (json.RawMessage, error) {
	switch p := p.(type) {
	case Text:
		return json.Marshal(struct {
			Type string `json:"type"`
			Text
		}{"text", p})
	case Reasoning:
		return json.Marshal(struct {
			Type string `json:"type"`
			Reasoning
		}{"reasoning", p})
	case Media:
		return json.Marshal(struct {
			Type string `json:"type"`
			Media
		}{"media", p})
	case ToolCall:
		if len(p.Input) == 0 {
			p.Input = json.RawMessage("{}")
		}
		return json.Marshal(struct {
			Type string `json:"type"`
			ToolCall
		}{"tool_call", p})
	case ToolResult:
		parts, err := marshalParts(p.Parts)
		if err != nil {
			return nil, err
		}
		return json.Marshal(wireResult{"tool_result", p.CallID, p.Name, parts, p.IsError})
	case Opaque:
		return json.Marshal(struct {
			Type string `json:"type"`
			Opaque
		}{"opaque", p})
	}
	return nil, fmt.Errorf("llm: cannot store a part of type %T", p)
}

// UnmarshalPart is the reverse of MarshalPart.
func UnmarshalPart(b []byte) (Part, error) {
	var t struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &t); err != nil {
		return nil, err
	}
	switch t.Type {
	case "text":
		return unmarshalAs[Text](b)
	case "reasoning":
		return unmarshalAs[Reasoning](b)
	case "media":
		return unmarshalAs[Media](b)
	case "tool_call":
		return unmarshalAs[ToolCall](b)
	case "opaque":
		return unmarshalAs[Opaque](b)
	case "tool_result":
		var w wireResult
		if err := json.Unmarshal(b, &w); err != nil {
			return nil, err
		}
		parts, err := unmarshalParts(w.Parts)
		return ToolResult{w.CallID, w.Name, parts, w.IsError}, err
	}
	return nil, fmt.Errorf("llm: unknown part type %q", t.Type)
}

func unmarshalAs[T Part](b []byte) (Part, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}

func marshalParts(ps []Part) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(ps))
	for i, p := range ps {
		b, err := MarshalPart(p)
		if err != nil {
			return nil, err
		}
		out[i] = b
	}
	return out, nil
}

func unmarshalParts(bs []json.RawMessage) ([]Part, error) {
	out := make([]Part, len(bs))
	for i, b := range bs {
		p, err := UnmarshalPart(b)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}
