package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// SSEReader is the EventSource of an event stream as defined by the WHATWG HTML standard (section 9.2.6):
// lines end in LF, CR or CRLF, comments and unknown fields are skipped, data lines are joined, a byte order
// mark is dropped. Unlike the standard it also yields, with Cut set, an event without its blank line at the
// end of the stream, since some servers omit it; if the connection breaks, such an event is dropped.
//
// It reads as little as possible: an event is returned as soon as its blank line is received.
type SSEReader struct {
	src   *bufio.Reader
	limit int

	begun   bool // the byte order mark was checked
	afterCR bool // the last line ended in CR; an LF that follows belongs to it

	line, name, data []byte
	hasData          bool
}

// NewSSEReader reads events from src.
func NewSSEReader(src io.Reader) *SSEReader {
	return &SSEReader{src: bufio.NewReader(src), limit: MaxEvent}
}

// Next returns the next event that has data, io.EOF at the end of the stream, a *EventTooLargeError, or the
// error of the underlying reader.
func (r *SSEReader) Next() (Event, error) {
	r.reset()
	for {
		err := r.readLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return Event{}, err
		}
		blank := len(r.line) == 0
		if !blank {
			r.field()
		}
		switch {
		case r.hasData && (blank || err != nil):
			return Event{Name: r.name, Data: r.data, Cut: err != nil}, nil
		case err != nil:
			return Event{}, err
		case blank:
			r.reset()
		}
	}
}

func (r *SSEReader) reset() { r.name, r.data, r.hasData = r.name[:0], r.data[:0], false }

// field handles a line that is not empty.
func (r *SSEReader) field() {
	name, value, _ := bytes.Cut(r.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		r.name = append(r.name[:0], value...)
	case "data":
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data, r.hasData = append(r.data, value...), true
	}
}

// readLine reads the next line without its end. With io.EOF comes what the stream has after its last line end.
func (r *SSEReader) readLine() error {
	r.line = r.line[:0]
	for {
		c, err := r.src.ReadByte()
		end := c == '\n' || c == '\r'
		switch {
		case err == nil && c == '\n' && r.afterCR:
			r.afterCR = false
			continue
		case err == nil && !end:
			r.line, r.afterCR = append(r.line, c), false
			if len(r.line)+len(r.data) > r.limit {
				return &EventTooLargeError{Limit: r.limit}
			}
			continue
		}
		r.afterCR = c == '\r'
		if !r.begun {
			r.begun = true
			r.line = bytes.TrimPrefix(r.line, []byte("\xef\xbb\xbf"))
		}
		return err
	}
}
