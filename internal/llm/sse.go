package llm

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// SSEReader is the EventSource of an event stream as defined by the WHATWG HTML standard (section 9.2.6):
// lines end in LF, CR or CRLF, comments and unknown fields are skipped, data lines are joined, a byte order
// mark is dropped. Unlike the standard it also yields, with Cut set, an event without its blank line at the
// end of the stream, since some servers omit it; if the connection breaks, such an event is dropped.
//
// It reads as little as possible: an event is returned as soon as its blank line is received.
type SSEReader struct {
	src   io.Reader
	buf   []byte
	start int // first byte of the event being read
	pos   int // first byte not yet assigned to a line
	scan  int // bytes before it hold no line end
	limit int
	err   error // sticky error of src

	begun  bool // the byte order mark was checked
	skipLF bool // the last line ended in CR; skip a LF that follows

	name, data span   // offsets from start, valid if have is set
	joined     []byte // data of an event with several data lines
	lines      int    // data lines so far
}

type span struct{ from, to int }

// NewSSEReader reads events from src.
func NewSSEReader(src io.Reader) *SSEReader {
	return &SSEReader{src: src, limit: MaxEvent}
}

// SSE yields the events of r; it ends after the last one, or after an error other than io.EOF.
func SSE(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		sr := NewSSEReader(r)
		for {
			ev, err := sr.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// Next returns the next event that has data, io.EOF at the end of the stream, a *EventTooLargeError, or the
// error of the underlying reader.
func (r *SSEReader) Next() (Event, error) {
	r.reset()
	for {
		line, ok, err := r.line()
		if err != nil {
			return Event{}, err
		}
		if !ok { // end of the stream
			if r.lines > 0 {
				return r.event(true), nil
			}
			return Event{}, io.EOF
		}
		if line.from != line.to {
			r.field(line)
			continue
		}
		if r.lines > 0 {
			return r.event(false), nil
		}
		r.reset()
	}
}

// reset starts a new event at pos.
func (r *SSEReader) reset() {
	r.start = r.pos
	r.name, r.data, r.lines = span{}, span{}, 0
	r.joined = r.joined[:0]
	if cap(r.joined) > 1<<20 {
		r.joined = nil
	}
}

func (r *SSEReader) event(cut bool) Event {
	ev := Event{Name: r.at(r.name), Cut: cut}
	if r.lines == 1 {
		ev.Data = r.at(r.data)
	} else {
		ev.Data = r.joined
	}
	return ev
}

func (r *SSEReader) at(s span) []byte { return r.buf[r.start+s.from : r.start+s.to] }

// field handles a line that is not empty.
func (r *SSEReader) field(line span) {
	b := r.at(line)
	colon := bytes.IndexByte(b, ':')
	name, from := b, line.to
	if colon >= 0 {
		name, from = b[:colon], line.from+colon+1
		if from < line.to && b[colon+1] == ' ' {
			from++
		}
	}
	value := span{from, line.to}
	switch string(name) {
	case "event":
		r.name = value
	case "data":
		r.addData(value)
	}
}

func (r *SSEReader) addData(value span) {
	r.lines++
	switch r.lines {
	case 1:
		r.data = value
		return
	case 2:
		r.joined = append(r.joined, r.at(r.data)...)
	}
	r.joined = append(r.joined, '\n')
	r.joined = append(r.joined, r.at(value)...)
}

// line returns the next line, as offsets from start, without its end. ok is false at the end of the stream.
func (r *SSEReader) line() (line span, ok bool, err error) {
	for {
		r.dropMarks()
		if i := r.lineEnd(); i >= 0 {
			line = span{r.pos - r.start, i - r.start}
			r.skipLF = r.buf[i] == '\r'
			r.pos, r.scan = i+1, i+1
			return line, true, nil
		}
		if r.begun {
			r.scan = len(r.buf)
		}
		if r.err == nil {
			r.err = r.fill()
			continue
		}
		if !errors.Is(r.err, io.EOF) {
			return line, false, r.err
		}
		if r.pos == len(r.buf) {
			return line, false, nil
		}
		line = span{r.pos - r.start, len(r.buf) - r.start}
		r.pos = len(r.buf)
		return line, true, nil
	}
}

// dropMarks skips the LF of a CRLF whose CR ended the last line, and the byte order mark of the stream.
func (r *SSEReader) dropMarks() {
	if r.skipLF && r.pos < len(r.buf) {
		if r.buf[r.pos] == '\n' {
			r.pos++
		}
		r.skipLF = false
	}
	if !r.begun && (len(r.buf) >= 3 || r.err != nil) {
		r.begun = true
		if bytes.HasPrefix(r.buf, []byte("\xef\xbb\xbf")) {
			r.pos = 3
		}
	}
	r.scan = max(r.scan, r.pos)
}

// lineEnd returns the position of the next CR or LF, or -1. A first line shorter than a byte order mark
// waits.
func (r *SSEReader) lineEnd() int {
	if !r.begun {
		return -1
	}
	rest := r.buf[r.scan:]
	lf := bytes.IndexByte(rest, '\n')
	if lf >= 0 {
		rest = rest[:lf]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		return r.scan + cr
	}
	if lf < 0 {
		return -1
	}
	return r.scan + lf
}

// fill makes room and reads once.
func (r *SSEReader) fill() error {
	if r.start > 0 && (r.start == len(r.buf) || cap(r.buf)-len(r.buf) < 1024) {
		n := copy(r.buf, r.buf[r.start:])
		r.buf = r.buf[:n]
		r.pos -= r.start
		r.scan -= r.start
		r.start = 0
	}
	if len(r.buf)-r.start > r.limit || len(r.joined) > r.limit {
		return &EventTooLargeError{Limit: r.limit}
	}
	if cap(r.buf)-len(r.buf) < 1024 {
		grown := make([]byte, len(r.buf), max(8<<10, 2*cap(r.buf)))
		copy(grown, r.buf)
		r.buf = grown
	}
	for range 100 {
		n, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		if n > 0 || err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}
