package session

import (
	"bytes"
	"iter"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner reads JSON in place. It is several times faster than encoding/json and makes no garbage, so
// that a session of 100 MB opens within its budgets. It is lenient about values it skips; on anything out of the
// ordinary it sets bad, and the caller reads the line with encoding/json instead.
type scanner struct {
	b   []byte
	i   int
	bad bool
	tmp []byte // for strings with escapes

	known func() *knownTexts // nil: none
}

func (s *scanner) reset(b []byte) { s.b, s.i, s.bad = b, 0, false }

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) eat(c byte) bool {
	if s.bad || s.peek() != c {
		return false
	}
	s.i++
	return true
}

func (s *scanner) need(c byte) {
	if !s.eat(c) {
		s.bad = true
	}
}

// fields yields the keys of an object; the body of the loop must read or skip the value.
func (s *scanner) fields() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if s.need('{'); !s.eat('}') {
			s.members(yield)
		}
	}
}

// more yields the keys that follow after the first member of an object was read.
func (s *scanner) more() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if s.eat(',') {
			s.members(yield)
			return
		}
		s.need('}')
	}
}

func (s *scanner) members(yield func([]byte) bool) {
	for !s.bad {
		key := s.quoted()
		if bytes.IndexByte(key, '\\') >= 0 {
			s.bad = true
		}
		s.need(':')
		if s.bad || !yield(key) {
			return
		}
		if !s.eat(',') {
			s.need('}')
			return
		}
	}
}

// elements yields the position in an array; the body of the loop must read or skip the value.
func (s *scanner) elements() iter.Seq[int] {
	return func(yield func(int) bool) {
		s.need('[')
		if s.eat(']') {
			return
		}
		for n := 0; !s.bad; n++ {
			if !yield(n) {
				return
			}
			if !s.eat(',') {
				s.need(']')
				return
			}
		}
	}
}

// quoted returns the bytes between the quotes of a string, escapes as they are.
func (s *scanner) quoted() []byte {
	s.need('"')
	for i := s.i; !s.bad; {
		j := bytes.IndexByte(s.b[i:], '"')
		if j < 0 {
			break
		}
		end := i + j
		slashes := 0
		for k := end - 1; k >= s.i && s.b[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			raw := s.b[s.i:end]
			s.i = end + 1
			return raw
		}
		i = end + 1
	}
	s.bad = true
	return nil
}

// str reads a string.
func (s *scanner) str() string {
	raw := s.quoted()
	if bytes.IndexByte(raw, '\\') < 0 {
		if !utf8.Valid(raw) {
			s.bad = true
		}
		return s.text(raw)
	}
	var ok bool
	if s.tmp, ok = unescape(s.tmp[:0], raw); !ok {
		s.bad = true
	}
	return s.text(s.tmp)
}

// text returns b as a string, shared with an equal one already in memory.
func (s *scanner) text(b []byte) string {
	if s.known == nil || len(b) < sharedText {
		return string(b)
	}
	return s.known().string(b)
}

// unescape appends the text that raw, the inside of a JSON string, represents.
func unescape(dst, raw []byte) ([]byte, bool) {
	if !utf8.Valid(raw) {
		return dst, false
	}
	for {
		k := bytes.IndexByte(raw, '\\')
		if k < 0 {
			return append(dst, raw...), true
		}
		dst = append(dst, raw[:k]...)
		if k+1 >= len(raw) {
			return dst, false
		}
		c := raw[k+1]
		raw = raw[k+2:]
		if c == 'u' {
			r, n := unicodeEscape(raw)
			if n == 0 {
				return dst, false
			}
			dst, raw = utf8.AppendRune(dst, r), raw[n:]
			continue
		}
		p := bytes.IndexByte([]byte(`"\/bfnrt`), c)
		if p < 0 {
			return dst, false
		}
		dst = append(dst, "\"\\/\b\f\n\r\t"[p])
	}
}

// unicodeEscape reads the digits after \u, a second half of a pair included, and returns the number of bytes.
func unicodeEscape(raw []byte) (rune, int) {
	r := hex4(raw)
	if r < 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 4
	}
	if len(raw) >= 10 && raw[4] == '\\' && raw[5] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(raw[6:])); pair != utf8.RuneError {
			return pair, 10
		}
	}
	return utf8.RuneError, 4
}

func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// num reads an integer.
func (s *scanner) num() int {
	s.peek()
	start := s.i
	for s.i < len(s.b) && (s.b[s.i] == '-' || s.b[s.i] >= '0' && s.b[s.i] <= '9') {
		s.i++
	}
	n, err := strconv.Atoi(string(s.b[start:s.i]))
	if err != nil {
		s.bad = true
	}
	return n
}

// yes reads true or false.
func (s *scanner) yes() bool {
	switch raw := s.raw(); string(raw) {
	case "true":
		return true
	case "false":
		return false
	}
	s.bad = true
	return false
}

// raw skips a value and returns its bytes.
func (s *scanner) raw() []byte {
	s.peek()
	start := s.i
	s.skip()
	return s.b[start:s.i]
}

// skip passes one value by; brackets are counted, not matched.
func (s *scanner) skip() {
	depth := 0
	for !s.bad {
		switch c := s.peek(); c {
		case 0:
			s.bad = true
		case '"':
			s.quoted()
		case '{', '[':
			depth++
			s.i++
			continue
		case '}', ']':
			depth--
			s.i++
		case ',', ':':
			s.i++
			if depth == 0 {
				s.bad = true
			}
			continue
		default:
			s.literal()
		}
		if depth <= 0 {
			s.bad = s.bad || depth < 0
			return
		}
	}
}

func (s *scanner) literal() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\r', '\n':
			return
		}
		s.i++
	}
}
