package llmtest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// event is one server-sent event of a response, or a whole response that is not a stream.
type event struct {
	data []byte
	part int // the index of its part, or -1
}

// stream is a response being built.
type stream struct {
	events []event
	part   int // of the events being added
	shape  map[string]bool
	n      int  // events added, for the irregularities
	binary bool // the framing is Amazon's event stream
	socket bool // events are messages on a WebSocket
}

func newStream(shape map[string]bool) *stream {
	return &stream{part: -1, shape: shape, socket: shape["socket"]}
}

// add appends an event with v as its data; name may be "".
func (s *stream) add(name string, v map[string]any) {
	if s.shape["unknown_fields"] {
		v["x_unknown"] = map[string]any{"nested": []int{1, 2}, "text": "data: [DONE]"}
	}
	s.raw(name, marshal(v))
	s.n++
	if s.binary {
		if s.shape["unknown_events"] {
			s.append(AWSFrame("xBrandNew", []byte(`{"contentBlockIndex":0,"text":"x"}`)))
		}
		return
	}
	if s.socket {
		s.addOdd()
		return
	}
	if s.shape["comments"] {
		s.append([]byte(": keep-alive\n\n"))
	}
	if s.shape["unknown_events"] && s.n%2 == 1 {
		s.append([]byte("event: x_brand_new\nid: 7\nretry: 10\ndata: " +
			"{\"type\":\"x_brand_new\",\"index\":0,\"object\":\"x.brand.new\"}\n\n"))
	}
}

// addOdd adds what a WebSocket has in the place of comments, and events of unknown type.
func (s *stream) addOdd() {
	if s.shape["comments"] {
		s.append(socketFrame(opPing, []byte("keep-alive")))
	}
	if s.shape["unknown_events"] && s.n%2 == 1 {
		s.append(socketFrame(opText, []byte(`{"type":"x_brand_new","index":0}`)))
	}
}

// plain is text in the place of an event's data.
func (s *stream) plain(text string) []byte {
	if s.socket {
		return socketFrame(opText, []byte(text))
	}
	return []byte("data: " + text + "\n\n")
}

func (s *stream) raw(name string, data []byte) {
	switch {
	case s.binary:
		s.append(AWSFrame(name, data))
		return
	case s.socket:
		s.append(socketFrame(opText, data))
		return
	}
	colon := ": "
	if s.shape["no_space"] {
		colon = ":"
	}
	b := make([]byte, 0, len(data)+len(name)+20)
	if name != "" && !s.shape["no_event_name"] {
		b = append(append(append(b, "event"...), colon...), name+"\n"...)
	}
	b = append(append(append(b, "data"...), colon...), data...)
	s.append(append(b, "\n\n"...))
}

func (s *stream) append(b []byte) {
	if s.shape["crlf"] && !s.binary && !s.socket {
		b = bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))
	}
	s.events = append(s.events, event{b, s.part})
}

// marshal encodes values that always encode, without HTML escapes.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("llmtest: " + err.Error()) // only called with values built here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// span returns the range of the events of a part (all events for "").
func (s *stream) span(part string, blocks []block) (from, to int) {
	if part == "" {
		return 0, len(s.events)
	}
	n, err := strconv.Atoi(part)
	for i, b := range blocks {
		if b.label == part {
			n, err = i, nil
		}
	}
	from = len(s.events)
	for i, e := range s.events {
		if err == nil && e.part == n {
			from = min(from, i)
			to = i + 1
		}
	}
	return from, max(from, to)
}

// offset converts a place to a byte offset in the body and the index of the event there.
func (s *stream) offset(at At, blocks []block) (offset, index int) {
	from, to := s.span(at.Part, blocks)
	switch {
	case at.Event != nil:
		index = *at.Event
		if index < 0 {
			index += len(s.events)
		}
		index = min(max(index, 0), len(s.events))
		return s.size(0, index), index
	case at.After:
		return s.size(0, to), to
	case at.Byte != nil:
		offset = *at.Byte
		if offset < 0 {
			offset += s.size(from, to)
		}
		offset = min(max(offset, 0), s.size(from, to))
	default:
		offset = int(float64(s.size(from, to)) * at.Fraction)
	}
	offset += s.size(0, from)
	return offset, s.eventAt(offset)
}

func (s *stream) size(from, to int) int {
	n := 0
	for _, e := range s.events[from:to] {
		n += len(e.data)
	}
	return n
}

func (s *stream) eventAt(offset int) int {
	n := 0
	for i, e := range s.events {
		if n >= offset {
			return i
		}
		n += len(e.data)
	}
	return len(s.events)
}

// insert puts an event before event i.
func (s *stream) insert(i int, data []byte) {
	s.events = append(s.events[:i:i], append([]event{{data, -1}}, s.events[i:]...)...)
}

// pause is a wait after offset bytes of the body; a negative one lasts until the client leaves.
type pause struct {
	offset int
	wait   time.Duration
}

// performance is a prepared response.
type performance struct {
	status int
	header map[string]string
	body   []byte
	pauses []pause // by offset
	first  time.Duration
	write  int // bytes per write, 0: no limit
	gap    time.Duration
	end    string // "": cleanly; reset, close: cut after body
	pinged bool   // on a WebSocket: a ping goes before a failure
	code   int    // on a WebSocket: the code that goes before the cut, 0: none
	bare   bool   // cut or stalled before the headers
	fault  string // the applied fault, for the record
}

// pace adds the pauses between events.
func (p *performance) pace(s *stream) {
	p.body = make([]byte, 0, s.size(0, len(s.events)))
	for i, e := range s.events {
		p.body = append(p.body, e.data...)
		if p.gap > 0 && p.write == 0 && i < len(s.events)-1 {
			p.pauses = append(p.pauses, pause{len(p.body), p.gap})
		}
	}
}

// cut shortens the body.
func (p *performance) cut(offset int) {
	p.body = p.body[:offset]
	for i, ps := range p.pauses {
		if ps.offset >= offset {
			p.pauses = p.pauses[:i]
			return
		}
	}
}

// stall adds a pause.
func (p *performance) stall(offset int, wait time.Duration) {
	at := 0
	for at < len(p.pauses) && p.pauses[at].offset < offset {
		at++
	}
	p.pauses = append(p.pauses[:at:at], append([]pause{{offset, wait}}, p.pauses[at:]...)...)
}
