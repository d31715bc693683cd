package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Unknown is a body of a kind this version does not know. It is kept and written back unchanged.
type Unknown struct {
	Name string
	JSON json.RawMessage
}

// Kind is its recorded name.
func (u Unknown) Kind() string { return u.Name }

// MarshalJSON writes the body unchanged.
func (u Unknown) MarshalJSON() ([]byte, error) {
	if len(u.JSON) == 0 {
		return []byte("null"), nil
	}
	return u.JSON, nil
}

// wireEvent is the recorded form: {"seq","time","session","agent","cursor","kind","body"}.
type wireEvent struct {
	Seq     uint64          `json:"seq"`
	Time    time.Time       `json:"time"`
	Session string          `json:"session"`
	Agent   []string        `json:"agent,omitempty"`
	Cursor  Cursor          `json:"cursor,omitempty"`
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
}

// MarshalEvent writes an event with the kind of its body. State of the running process (the bytes of a
// Request) is left out.
func MarshalEvent(e Event) ([]byte, error) {
	if e.Body == nil {
		return nil, fmt.Errorf("event: event %d has no body", e.Seq)
	}
	body, err := json.Marshal(e.Body)
	if err != nil {
		return nil, fmt.Errorf("event: write %s: %w", e.Body.Kind(), err)
	}
	return json.Marshal(wireEvent{e.Seq, e.Time, e.Session, e.Agent, e.Cursor, e.Body.Kind(), body})
}

// UnmarshalEvent reads the form of MarshalEvent. A kind that this version does not know becomes Unknown.
func UnmarshalEvent(b []byte) (Event, error) {
	var w wireEvent
	if err := json.Unmarshal(b, &w); err != nil {
		return Event{}, fmt.Errorf("event: read event: %w", err)
	}
	body, err := UnmarshalBody(w.Kind, w.Body)
	if err != nil {
		return Event{}, fmt.Errorf("event: read event %d: %w", w.Seq, err)
	}
	return Event{w.Seq, w.Time, w.Session, w.Agent, w.Cursor, body}, nil
}

// MarshalJSON is MarshalEvent.
func (e Event) MarshalJSON() ([]byte, error) { return MarshalEvent(e) }

// UnmarshalJSON is UnmarshalEvent.
func (e *Event) UnmarshalJSON(b []byte) error {
	got, err := UnmarshalEvent(b)
	if err == nil {
		*e = got
	}
	return err
}

// UnmarshalBody reads a body of the named kind, as json.Marshal wrote it.
func UnmarshalBody(kind string, b []byte) (Body, error) {
	known, ok := kinds()[kind]
	if !ok {
		return Unknown{kind, json.RawMessage(b)}, nil
	}
	body, err := known.decode(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return body, nil
}

// Kinds lists the kinds of body that this version knows, in no order.
func Kinds() []string {
	var out []string
	for k := range kinds() {
		out = append(out, k)
	}
	return out
}

// Bodies are a zero body of each kind that this version knows, in no order: their types are those of the schema.
func Bodies() []Body {
	var out []Body
	for _, k := range kinds() {
		out = append(out, k.zero)
	}
	return out
}

type kind struct {
	zero   Body
	decode func([]byte) (Body, error)
}

// kinds is the registry. A new body needs one line here and one in the golden file.
var kinds = sync.OnceValue(func() map[string]kind {
	m := map[string]kind{}
	register[TurnStart](m)
	register[Returned](m)
	register[TurnEnd](m)
	register[StepStart](m)
	register[StepEnd](m)
	register[Request](m)
	register[Response](m)
	register[BesideRequest](m)
	register[BesideResponse](m)
	register[Delta](m)
	register[PartDone](m)
	register[PartReady](m)
	register[Retry](m)
	register[UserMessage](m)
	register[ToolStart](m)
	register[ToolOutput](m)
	register[ToolEnd](m)
	register[Denied](m)
	register[Notice](m)
	register[Terminal](m)
	register[Deferred](m)
	register[FileChanged](m)
	register[BranchChanged](m)
	register[HookStart](m)
	register[HookRun](m)
	register[ModelFallback](m)
	register[Background](m)
	register[ModeChanged](m)
	register[Compacting](m)
	register[Compacted](m)
	register[SideRequest](m)
	register[Asked](m)
	register[Answered](m)
	register[EvalStart](m)
	register[EvalVerdict](m)
	register[EvalComplete](m)
	register[Goal](m)
	register[Opened](m)
	register[Status](m)
	register[State](m)
	register[SessionCreated](m)
	register[SessionRenamed](m)
	register[SessionArchived](m)
	register[SessionDeleted](m)
	register[ServerChanged](m)
	return m
})

func register[B Body](m map[string]kind) {
	var zero B
	m[zero.Kind()] = kind{zero, func(b []byte) (Body, error) {
		var body B
		err := json.Unmarshal(b, &body)
		return body, err
	}}
}

// The bodies below hold interfaces. Each is written through a copy of its type without methods, in which a
// box with the same JSON name hides the field that encoding/json could not read back.

// MarshalJSON writes the delta with its type.
func (d Delta) MarshalJSON() ([]byte, error) {
	raw, err := marshalDelta(d.Delta)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wireDelta{d.MessageID, raw, d.Shown})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (d *Delta) UnmarshalJSON(b []byte) error {
	var w wireDelta
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	delta, err := unmarshalDelta(w.Delta)
	*d = Delta{w.MessageID, delta, w.Shown}
	return err
}

type wireDelta struct {
	MessageID string          `json:"message_id"`
	Delta     json.RawMessage `json:"delta"`
	Shown     *string         `json:"shown,omitempty"`
}

// MarshalJSON writes the part with its type.
func (p PartDone) MarshalJSON() ([]byte, error) {
	type plain PartDone
	return json.Marshal(struct {
		plain
		Part llm.StoredPart `json:"part"`
	}{plain(p), llm.StoredPart{Part: p.Part}})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (p *PartDone) UnmarshalJSON(b []byte) error {
	type plain PartDone
	var w struct {
		plain
		Part llm.StoredPart `json:"part"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	if w.Part.Part == nil {
		return errors.New("there is no part")
	}
	*p = PartDone(w.plain)
	p.Part = w.Part.Part
	return nil
}

// MarshalJSON writes the part with its type.
func (p PartReady) MarshalJSON() ([]byte, error) { return PartDone(p).MarshalJSON() }

// UnmarshalJSON is the inverse of MarshalJSON.
func (p *PartReady) UnmarshalJSON(b []byte) error { return (*PartDone)(p).UnmarshalJSON(b) }

// MarshalJSON writes the preview with its shape.
func (s ToolStart) MarshalJSON() ([]byte, error) {
	type plain ToolStart
	return json.Marshal(struct {
		plain
		Call    llm.ToolCall `json:"call"`
		Preview viewBox      `json:"preview,omitzero"`
	}{plain(s), whole(s.Call), viewBox{s.Preview}})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (s *ToolStart) UnmarshalJSON(b []byte) error {
	type plain ToolStart
	var w struct {
		plain
		Preview viewBox `json:"preview"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*s = ToolStart(w.plain)
	s.Preview = w.Preview.View
	return nil
}

// MarshalJSON writes the result with the types of its parts, and the view with its shape.
func (e ToolEnd) MarshalJSON() ([]byte, error) {
	type plain ToolEnd
	return json.Marshal(struct {
		plain
		Call   llm.ToolCall   `json:"call"`
		Result llm.StoredPart `json:"result"`
		View   viewBox        `json:"view,omitzero"`
	}{plain(e), whole(e.Call), llm.StoredPart{Part: e.Result}, viewBox{e.View}})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (e *ToolEnd) UnmarshalJSON(b []byte) error {
	type plain ToolEnd
	var w struct {
		plain
		Result llm.StoredPart `json:"result"`
		View   viewBox        `json:"view"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	result, ok := w.Result.Part.(llm.ToolResult)
	if !ok {
		return fmt.Errorf("the result is a part of type %T", w.Result.Part)
	}
	*e = ToolEnd(w.plain)
	e.Result, e.View = result, w.View.View
	return nil
}

// MarshalJSON writes the history with the kinds of its bodies.
func (o Opened) MarshalJSON() ([]byte, error) {
	type plain Opened
	w := struct {
		plain
		History []bodyBox `json:"history,omitempty"`
	}{plain: plain(o)}
	for _, b := range o.History {
		w.History = append(w.History, bodyBox{b})
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the form of MarshalJSON.
func (o *Opened) UnmarshalJSON(b []byte) error {
	type plain Opened
	var w struct {
		plain
		History []bodyBox `json:"history"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*o = Opened(w.plain)
	o.History = nil
	for _, h := range w.History {
		o.History = append(o.History, h.Body)
	}
	return nil
}

// MarshalJSON writes the view with its shape.
func (o Output) MarshalJSON() ([]byte, error) {
	type plain Output
	return json.Marshal(struct {
		plain
		View viewBox `json:"view,omitzero"`
	}{plain(o), viewBox{o.View}})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (o *Output) UnmarshalJSON(b []byte) error {
	type plain Output
	var w struct {
		plain
		View viewBox `json:"view"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*o = Output(w.plain)
	o.View = w.View.View
	return nil
}

// MarshalJSON writes the call with an input that is always an object.
func (d Denied) MarshalJSON() ([]byte, error) {
	type plain Denied
	d.Call = whole(d.Call)
	return json.Marshal(plain(d))
}

// MarshalJSON writes the preview with its shape.
func (q Question) MarshalJSON() ([]byte, error) {
	type plain Question
	if q.Call != nil {
		call := whole(*q.Call)
		q.Call = &call
	}
	return json.Marshal(struct {
		plain
		Preview viewBox `json:"preview,omitzero"`
	}{plain(q), viewBox{q.Preview}})
}

// UnmarshalJSON reads the form of MarshalJSON.
func (q *Question) UnmarshalJSON(b []byte) error {
	type plain Question
	var w struct {
		plain
		Preview viewBox `json:"preview"`
	}
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*q = Question(w.plain)
	q.Preview = w.Preview.View
	return nil
}

// whole returns the call in its stored form: a missing input is an empty object.
func whole(c llm.ToolCall) llm.ToolCall {
	if len(c.Input) == 0 {
		c.Input = json.RawMessage("{}")
	}
	return c
}

// viewBox and bodyBox are interfaces that encoding/json can read back.
type (
	viewBox struct{ View }
	bodyBox struct{ Body }
)

// wireBody is a body with its kind: {"kind","body"}.
type wireBody struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

func (b bodyBox) MarshalJSON() ([]byte, error) {
	body, err := json.Marshal(b.Body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(wireBody{b.Kind(), body})
}

func (b *bodyBox) UnmarshalJSON(raw []byte) error {
	var w wireBody
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	body, err := UnmarshalBody(w.Kind, w.Body)
	b.Body = body
	return err
}

func (v viewBox) IsZero() bool                  { return v.View == nil }
func (v viewBox) MarshalJSON() ([]byte, error)  { return MarshalView(v.View) }
func (v *viewBox) UnmarshalJSON(b []byte) error { return into(&v.View, UnmarshalView, b) }

func into[T any](to *T, read func([]byte) (T, error), b []byte) error {
	v, err := read(b)
	if err == nil {
		*to = v
	}
	return err
}
