package llm

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Stencil reads the events of a stream, most of which differ from the one before in a few values only: a piece of text, a number,
// padding. It keeps such an event with the places of these values, its holes. An event that has the same bytes around the holes,
// and a value of the same kind in each, has the same members; only the values have to be read. That takes a fraction of the time
// of a Scanner, which reads all others.
type Stencil struct {
	event []byte // the last one that a Scanner read
	holes []hole
	whole bool // a Scanner read it to its end
}

// hole is a value that varies. At most one of text, raw and number is set, and takes it; without any it is passed over.
type hole struct {
	from, to int
	digits   bool // a number, else a string
	text     *string
	raw      *[]byte
	number   *int
}

// Scan keeps an event and returns a Scanner of that copy, so that the values that it returns stay as they are until the next
// call. (Those of a large event, which is not copied, are valid as long as the event.) A value that is read by TextTo, QuotedTo, IntTo or Vary becomes a hole.
func (t *Stencil) Scan(event []byte) Scanner {
	t.holes, t.whole = t.holes[:0], false
	if len(event) > largestStencil {
		t.event = nil
		return Scanner{b: event}
	}
	t.event = append(t.event[:0], event...)
	return Scanner{b: t.event, stencil: t}
}

// largestStencil is the size in bytes of events that are kept; larger ones are rare, and seldom alike.
const largestStencil = 64 << 10

// Done notes whether the event given to Scan was read to its end.
func (t *Stencil) Done(ok bool) bool {
	t.whole = ok && t.event != nil
	return ok
}

// Again reads an event like the last one. If it returns false, the places of the values may hold some of this event, and Scan has
// to follow.
func (t *Stencil) Again(event []byte) bool {
	if !t.whole {
		return false
	}
	s, at := NewScanner(event), 0
	for i := range t.holes {
		h := &t.holes[i]
		same := t.event[at:h.from]
		if !bytes.HasPrefix(event[s.i:], same) {
			return false
		}
		if s.i += len(same); !h.read(&s) {
			return false
		}
		at = h.to
	}
	return sameEnd(t.event[at:], event[s.i:])
}

// read reads the value at a hole, which begins at once.
func (h *hole) read(s *Scanner) bool {
	if s.i >= len(s.b) || s.b[s.i] <= ' ' {
		return false
	}
	if h.digits {
		n, ok := s.Int()
		if ok && h.number != nil {
			*h.number = n
		}
		return ok
	}
	raw, escaped, ok := s.quoted()
	switch {
	case !ok:
		return false
	case h.raw != nil:
		*h.raw = raw
	case h.text != nil && escaped:
		*h.text = unescape(raw[1 : len(raw)-1])
	case h.text != nil:
		*h.text = string(raw[1 : len(raw)-1])
	}
	return true
}

// sameEnd reports whether two events end alike. White space around closing brackets does not count: some servers pad with it.
func sameEnd(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := NewScanner(a), NewScanner(b)
	for {
		c := x.next()
		if c != y.next() {
			return false
		}
		if c != '}' && c != ']' {
			return bytes.Equal(a[x.i:], b[y.i:])
		}
		x.i++
		y.i++
	}
}

// hole notes a value that was read.
func (s *Scanner) hole(h hole) {
	if s.stencil != nil {
		h.to = s.i
		s.stencil.holes = append(s.stencil.holes, h)
	}
}

// TextTo reads a string that varies.
func (s *Scanner) TextTo(text *string) (ok bool) {
	s.next()
	from := s.i
	*text, ok = s.Text()
	s.hole(hole{from: from, text: text})
	return ok
}

// QuotedTo reads a string that varies, with its quotes and escapes. The value is valid until the next event.
func (s *Scanner) QuotedTo(raw *[]byte) (ok bool) {
	s.next()
	from := s.i
	*raw, ok = s.Quoted()
	s.hole(hole{from: from, raw: raw})
	return ok
}

// IntTo reads a number, in the form of Int, that varies.
func (s *Scanner) IntTo(n *int) (ok bool) {
	s.next()
	from := s.i
	*n, ok = s.Int()
	s.hole(hole{from: from, digits: true, number: n})
	return ok
}

// Vary passes over a value, which may be another one in the next event if it is a string or a small number.
func (s *Scanner) Vary() bool {
	c := s.next()
	from := s.i
	if c == '"' {
		_, ok := s.Quoted()
		s.hole(hole{from: from})
		return ok
	}
	if _, ok := s.Int(); ok {
		s.hole(hole{from: from, digits: true})
		return true
	}
	s.i = from
	return s.Skip()
}

// Other passes over the value of a member that is none of those that are known. encoding/json takes a name in any case for theirs,
// so such a name is refused.
func (s *Scanner) Other(name []byte, known ...string) bool {
	for _, k := range known {
		if strings.EqualFold(k, string(name)) {
			return false
		}
	}
	return s.Skip()
}

// DecodeTo reads a value that few events have, with encoding/json; null is nil.
func DecodeTo[T any](s *Scanner, out **T) bool {
	if s.Null() {
		*out = nil
		return true
	}
	raw, ok := s.Raw()
	*out = new(T)
	return ok && Unmarshal(raw, *out) == nil
}

// RawsTo reads a list, or null, and leaves its elements as they are.
func RawsTo(s *Scanner, out *[]json.RawMessage) bool {
	if s.Null() {
		*out = nil
		return true
	}
	*out = []json.RawMessage{}
	return s.Array(func(int) bool {
		raw, ok := s.Raw()
		*out = append(*out, raw)
		return ok
	})
}

// Try reads an object as Object does. If that fails, the object is still to be read.
func (s *Scanner) Try(member func(name []byte) bool) bool {
	from, holes := s.i, 0
	if s.stencil != nil {
		holes = len(s.stencil.holes)
	}
	if s.Object(member) {
		return true
	}
	if s.i = from; s.stencil != nil {
		s.stencil.holes = s.stencil.holes[:holes]
	}
	return false
}
