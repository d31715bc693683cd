package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// The bodies below hold what encoding/json cannot read back, or not in the form of the log: parts, and times in
// milliseconds. Each is written and read through a copy of its type without methods.

type storedPart struct {
	Index int            `json:"index"`
	Part  llm.StoredPart `json:"part"`
}

// MarshalJSON writes the part with its type.
func (p Part) MarshalJSON() ([]byte, error) {
	return appendMarshal(nil, storedPart{p.Index, llm.StoredPart{Part: p.Part}})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (p *Part) UnmarshalJSON(b []byte) error {
	w, err := unmarshal[storedPart](b)
	if err == nil && w.Part.Part == nil {
		return errors.New("there is no part")
	}
	*p = Part{w.Index, w.Part.Part}
	return err
}

type plainCallEnd CallEnd

type storedCallEnd struct {
	Result llm.StoredPart `json:"result"`
	plainCallEnd
	Duration int64 `json:"duration_ms"`
}

// MarshalJSON writes the result with the types of its parts.
func (c CallEnd) MarshalJSON() ([]byte, error) {
	c.View, c.Meta = rawJSON(c.View), rawJSON(c.Meta)
	return appendMarshal(nil, storedCallEnd{
		llm.StoredPart{Part: c.Result},
		plainCallEnd(c),
		c.Duration.Milliseconds(),
	})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (c *CallEnd) UnmarshalJSON(b []byte) error {
	w, err := unmarshal[storedCallEnd](b)
	if err != nil {
		return err
	}
	r, ok := w.Result.Part.(llm.ToolResult)
	if !ok {
		return fmt.Errorf("the result of a call_end is a %T", w.Result.Part)
	}
	*c = CallEnd(w.plainCallEnd)
	c.Result, c.Duration = r, time.Duration(w.Duration)*time.Millisecond
	return nil
}

type plainTurnEnd TurnEnd

type storedTurnEnd struct {
	plainTurnEnd
	Duration int64 `json:"duration_ms"`
}

// MarshalJSON writes the duration in milliseconds.
func (t TurnEnd) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedTurnEnd{plainTurnEnd(t), t.Duration.Milliseconds()})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (t *TurnEnd) UnmarshalJSON(b []byte) error {
	w, err := unmarshal[storedTurnEnd](b)
	*t = TurnEnd(w.plainTurnEnd)
	t.Duration = time.Duration(w.Duration) * time.Millisecond
	return err
}
