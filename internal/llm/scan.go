package llm

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
)

// Scanner reads one JSON value in a single pass, for the events of which streams mostly consist. It accepts less than
// encoding/json: a method that returns false leaves the value to that. Whatever it accepts, encoding/json accepts too.
// Slices that it returns are parts of the value.
type Scanner struct {
	b       []byte
	i       int
	depth   int
	stencil *Stencil // notes the values that vary
}

// NewScanner returns a Scanner at the beginning of a value.
func NewScanner(value []byte) Scanner { return Scanner{b: value} }

// mostNested is the depth of values that Skip passes over.
const mostNested = 32

func (s *Scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// next returns the next byte that is no white space, or 0 at the end.
func (s *Scanner) next() byte {
	if s.i < len(s.b) && s.b[s.i] > ' ' {
		return s.b[s.i]
	}
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *Scanner) byte(c byte) bool {
	if s.next() != c {
		return false
	}
	s.i++
	return true
}

func (s *Scanner) word(w string) bool {
	if s.next() != w[0] || len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return false
	}
	s.i += len(w)
	return true
}

// Null reads null.
func (s *Scanner) Null() bool { return s.word("null") }

// End reports whether nothing follows.
func (s *Scanner) End() bool { return s.next() == 0 && s.i == len(s.b) }

// Object reads an object. member reads the value of the member with a name without escapes.
func (s *Scanner) Object(member func(name []byte) bool) bool {
	if !s.byte('{') {
		return false
	}
	if s.byte('}') {
		return true
	}
	for {
		name, ok := s.plain()
		if !ok || !s.byte(':') || !member(name) {
			return false
		}
		if s.byte('}') {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

// Array reads an array. element reads the element at an index.
func (s *Scanner) Array(element func(i int) bool) bool {
	if !s.byte('[') {
		return false
	}
	if s.byte(']') {
		return true
	}
	for i := 0; ; i++ {
		if !element(i) {
			return false
		}
		if s.byte(']') {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

// plain reads a string without escapes.
func (s *Scanner) plain() ([]byte, bool) {
	raw, escaped, ok := s.quoted()
	if !ok || escaped {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

// quoted reads a string with its quotes.
func (s *Scanner) quoted() (raw []byte, escaped, ok bool) {
	if s.next() != '"' {
		return nil, false, false
	}
	from, wide := s.i, false
	for i := from + 1; ; {
		i += plainRun(s.b[i:], wide)
		if i >= len(s.b) {
			return nil, false, false
		}
		switch c := s.b[i]; {
		case c == '"':
			s.i = i + 1
			raw = s.b[from:s.i]
			return raw, escaped, !wide || utf8.Valid(raw)
		case c == '\\':
			n := escapeLength(s.b[i:])
			if n == 0 {
				return nil, false, false
			}
			escaped = true
			i += n
		case c < ' ':
			return nil, false, false
		default: // above ASCII
			wide = true
			i++
		}
	}
}

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones // the highest bit of each byte
)

// plainRun returns how many bytes b begins with that a string has as they are: no quote, backslash or control character, and,
// unless wide is set, none above ASCII. It looks at eight at once: the lowest bit that is set in odd is that of the first byte
// that ends the run (bits above it may be wrong).
func plainRun(b []byte, wide bool) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, slash := w^('"'*ones), w^('\\'*ones)
		odd := ((quote-ones)&^quote | (slash-ones)&^slash | (w-' '*ones)&^w) & highs
		if !wide {
			odd |= w & highs
		}
		if odd != 0 {
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(b) && b[i] >= ' ' && b[i] != '"' && b[i] != '\\' && (wide || b[i] < utf8.RuneSelf) {
		i++
	}
	return i
}

// escapeLength returns the length of the escape that b begins with; 0: it has none, or half of a surrogate pair.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	if b[1] != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), b[1]) < 0 {
			return 0
		}
		return 2
	}
	if r, ok := hex4(b); !ok || r >= 0xd800 && r < 0xe000 {
		return 0
	}
	return 6
}

// hex4 reads the character of an escape with four digits.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// Quoted reads a string and returns it with its quotes and escapes.
func (s *Scanner) Quoted() ([]byte, bool) {
	raw, _, ok := s.quoted()
	return raw, ok
}

// Text reads a string.
func (s *Scanner) Text() (string, bool) {
	raw, escaped, ok := s.quoted()
	switch {
	case !ok:
		return "", false
	case !escaped:
		return string(raw[1 : len(raw)-1]), true
	}
	return unescape(raw[1 : len(raw)-1]), true
}

// Same reads a string. If it is the text before, that is returned: a stream repeats ids and names in each event.
func (s *Scanner) Same(before string) (string, bool) {
	raw, ok := s.plain()
	if !ok {
		return "", false
	}
	if string(raw) == before {
		return before, true
	}
	return string(raw), true
}

// unescape returns a text whose escapes are known to be valid.
func unescape(raw []byte) string {
	var out strings.Builder
	out.Grow(len(raw))
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			out.Write(raw)
			return out.String()
		}
		out.Write(raw[:i])
		n := 2
		switch c := raw[i+1]; c {
		case 'b':
			out.WriteByte('\b')
		case 'f':
			out.WriteByte('\f')
		case 'n':
			out.WriteByte('\n')
		case 'r':
			out.WriteByte('\r')
		case 't':
			out.WriteByte('\t')
		case 'u':
			r, _ := hex4(raw[i:])
			out.WriteRune(r)
			n = 6
		default:
			out.WriteByte(c)
		}
		raw = raw[i+n:]
	}
}

// Unquote returns the text of a JSON string that is given with its quotes. ok is false for escapes of surrogates and for
// strings that are not valid.
func Unquote(raw []byte) (text string, ok bool) {
	s := NewScanner(raw)
	text, ok = s.Text()
	return text, ok && s.i == len(raw)
}

// Bool reads true or false.
func (s *Scanner) Bool() (value, ok bool) {
	if s.word("true") {
		return true, true
	}
	return false, s.word("false")
}

// Int reads a number of at most nine digits that is not negative.
func (s *Scanner) Int() (n int, ok bool) {
	s.next()
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		n = n*10 + int(s.b[s.i]-'0')
		if s.i++; s.i-from > 9 {
			return 0, false
		}
	}
	if s.i == from || s.b[from] == '0' && s.i-from > 1 || !s.ended() {
		return 0, false
	}
	return n, true
}

// ended reports whether a number ends here.
func (s *Scanner) ended() bool {
	if s.i == len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case ',', '}', ']', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

// number reads any number.
func (s *Scanner) number() bool {
	if s.next() == '-' {
		s.i++
	}
	from := s.i
	if n := s.digits(); n == 0 || n > 1 && s.b[from] == '0' {
		return false
	}
	if s.at('.') && s.digits() == 0 {
		return false
	}
	if s.at('e') || s.at('E') {
		if !s.at('+') {
			s.at('-')
		}
		if s.digits() == 0 {
			return false
		}
	}
	return s.ended()
}

// at passes over a byte if it is the next.
func (s *Scanner) at(c byte) bool {
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// digits passes over digits and returns how many there were.
func (s *Scanner) digits() int {
	from := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i - from
}

// Raw reads any value and returns it as it is.
func (s *Scanner) Raw() ([]byte, bool) {
	s.next()
	from := s.i
	ok := s.Skip()
	return s.b[from:s.i], ok
}

// Skip reads any value.
func (s *Scanner) Skip() bool {
	switch s.next() {
	case '"':
		_, ok := s.Quoted()
		return ok
	case '{', '[':
		if s.depth >= mostNested {
			return false
		}
		s.depth++
		defer func() { s.depth-- }()
		if s.b[s.i] == '{' {
			return s.Object(func([]byte) bool { return s.Skip() })
		}
		return s.Array(func(int) bool { return s.Skip() })
	case 't', 'f':
		_, ok := s.Bool()
		return ok
	case 'n':
		return s.Null()
	}
	return s.number()
}

// Kind reads a string that is one of kinds.
func (s *Scanner) Kind(kinds ...string) (string, bool) {
	raw, ok := s.plain()
	if !ok {
		return "", false
	}
	for _, k := range kinds {
		if string(raw) == k {
			return k, true
		}
	}
	return "", false
}

// Members notes the members of an object that were read: encoding/json merges those that come twice.
type Members uint32

// First reports whether a member, which has a bit of its own, comes for the first time.
func (m *Members) First(bit Members) bool {
	again := *m&bit != 0
	*m |= bit
	return !again
}

// Has reports whether a member was read.
func (m Members) Has(bit Members) bool { return m&bit != 0 }
