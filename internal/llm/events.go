package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
)

// MaxEvent is the size in bytes at which an event is rejected.
const MaxEvent = 16 << 20

// maxWhole is the size in bytes at which a reply that is not a stream is rejected.
const maxWhole = 64 << 20

// Event is one unit of a reply in any framing. Name and Data are valid until the next call of Next.
type Event struct {
	Name []byte // SSE: the event field; AWS: :event-type; else empty
	Data []byte // usually JSON
	Cut  bool   // the reply ended inside the event, so Data may lack its end
}

// EventSource reads the events of a reply. Next returns io.EOF after the last one, and io.ErrUnexpectedEOF
// when the reply ended inside an event that cannot be decoded even in part; Reply.Failed turns all errors,
// including these, into an *Error.
type EventSource interface {
	Next() (Event, error)
}

// EventTooLargeError says that an event exceeded the limit.
type EventTooLargeError struct{ Limit int }

func (e *EventTooLargeError) Error() string {
	return fmt.Sprintf("an event of the reply is larger than %d MB", e.Limit>>20)
}

// Framing is the division of a reply into events.
type Framing int

// The framings. Servers that cannot stream answer with one JSON value, the only event.
const (
	FramingSSE Framing = iota
	FramingJSON
	FramingAWS // application/vnd.amazon.eventstream
)

const awsStreamType = "application/vnd.amazon.eventstream"

// framingOf chooses by the content type, but never against the first byte: gateways label JSON as an event
// stream and the reverse, and no line of an event stream begins with a bracket.
func framingOf(contentType string, first byte) Framing {
	kind, _, _ := mime.ParseMediaType(contentType)
	switch {
	case first == '{' || first == '[':
		return FramingJSON
	case kind == awsStreamType:
		return FramingAWS
	}
	return FramingSSE
}

// Events returns the events of the reply.
func (r *Reply) Events() EventSource {
	switch r.Framing {
	case FramingJSON:
		return &wholeReader{src: r.body}
	case FramingAWS:
		return NewAWSReader(r.body)
	}
	return beats{NewSSEReader(r.body)}
}

// beats leaves out the events that only keep a connection open, whatever their data.
type beats struct{ *SSEReader }

// Next returns the next event that tells something.
func (b beats) Next() (Event, error) {
	for {
		ev, err := b.SSEReader.Next()
		if err != nil || !isBeat(ev) {
			return ev, err
		}
	}
}

func isBeat(ev Event) bool {
	if len(ev.Data) > 8 {
		return string(ev.Name) == "ping"
	}
	switch string(ev.Name) {
	case "ping":
		return true
	case "", "message":
		data := bytes.TrimSpace(ev.Data)
		return len(data) == 0 || string(data) == "null"
	}
	return false
}

// HasError reports whether the member "error" of an event tells of one: some hosts send it always, without a value.
func HasError(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "{}", "false":
		return false
	}
	return true
}

// wholeReader yields a reply that is one JSON value.
type wholeReader struct {
	src  io.Reader
	done bool
}

func (w *wholeReader) Next() (Event, error) {
	if w.done {
		return Event{}, io.EOF
	}
	w.done = true
	b, err := io.ReadAll(io.LimitReader(w.src, maxWhole+1))
	if err != nil {
		return Event{}, err
	}
	if len(b) > maxWhole {
		return Event{}, &EventTooLargeError{Limit: maxWhole}
	}
	return Event{Data: b, Cut: cutJSON(b)}, nil
}

// cutJSON reports whether b is a truncated JSON value.
func cutJSON(b []byte) bool {
	if json.Valid(b) {
		return false
	}
	var v json.RawMessage
	return errors.Is(json.NewDecoder(bytes.NewReader(b)).Decode(&v), io.ErrUnexpectedEOF)
}
