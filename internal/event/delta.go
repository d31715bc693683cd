package event

import (
	"encoding/json"
	"fmt"

	"github.com/lathe-dev/lathe/internal/llm"
)

// wirePiece is the recorded form of a delta. Which fields are set depends on the type: started, text,
// reasoning or tool.
type wirePiece struct {
	Type      string     `json:"type"`
	Index     int        `json:"index,omitempty"`
	ID        string     `json:"id,omitempty"`
	Name      string     `json:"name,omitempty"`
	Model     string     `json:"model,omitempty"`
	Usage     *llm.Usage `json:"usage,omitempty"`
	Text      string     `json:"text,omitempty"`
	Signature string     `json:"signature,omitempty"`
	JSON      string     `json:"json,omitempty"`
}

func marshalDelta(d llm.Delta) (json.RawMessage, error) {
	var w wirePiece
	switch d := d.(type) {
	case llm.Started:
		w = wirePiece{Type: "started", ID: d.ID, Model: d.Model, Usage: &d.Usage}
	case llm.TextDelta:
		w = wirePiece{Type: "text", Index: d.Index, Text: d.Text}
	case llm.ReasoningDelta:
		w = wirePiece{Type: "reasoning", Index: d.Index, Text: d.Text, Signature: d.Signature}
	case llm.ToolDelta:
		w = wirePiece{Type: "tool", Index: d.Index, ID: d.ID, Name: d.Name, JSON: d.JSON}
	default:
		return nil, fmt.Errorf("a delta of type %T is not part of the stream of events", d)
	}
	return json.Marshal(w)
}

func unmarshalDelta(b []byte) (llm.Delta, error) {
	var w wirePiece
	if err := json.Unmarshal(b, &w); err != nil {
		return nil, err
	}
	switch w.Type {
	case "started":
		d := llm.Started{ID: w.ID, Model: w.Model}
		if w.Usage != nil {
			d.Usage = *w.Usage
		}
		return d, nil
	case "text":
		return llm.TextDelta{Index: w.Index, Text: w.Text}, nil
	case "reasoning":
		return llm.ReasoningDelta{Index: w.Index, Text: w.Text, Signature: w.Signature}, nil
	case "tool":
		return llm.ToolDelta{Index: w.Index, ID: w.ID, Name: w.Name, JSON: w.JSON}, nil
	}
	return nil, fmt.Errorf("unknown type of delta %q", w.Type)
}
