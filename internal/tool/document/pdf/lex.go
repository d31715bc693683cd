package pdf

import (
	"io"
	"math"
	"strconv"
)

// A value of a PDF is nil, a bool, a float64, a [Name], a [String], an [Array], a [Dict], a *[Stream] or a [Ref].
type (
	// Name is a name without its slash.
	Name string
	// String has the bytes of a string, decrypted.
	String string
	// Array is a list of values.
	Array []any
	// Dict is a dictionary.
	Dict map[Name]any
	// Ref refers to an object by its number.
	Ref struct{ Number, Generation int }
)

// keyword is a token that is no value: an operator, a delimiter.
type keyword string

// deepest is how deep arrays and dictionaries may lie in each other.
const deepest = 100

// lexer reads tokens from a place of a file, or from a buffer.
type lexer struct {
	src     io.ReaderAt // nil: buf is everything
	buf     []byte
	at      int64 // of buf[0]
	pos     int64
	refs    bool                // "1 0 R" is a reference
	decrypt func([]byte) []byte // of strings; nil: none
}

func (l *lexer) peek() (byte, bool) {
	i := l.pos - l.at
	if i >= 0 && i < int64(len(l.buf)) {
		return l.buf[i], true
	}
	if l.src == nil || l.pos < 0 {
		return 0, false
	}
	if cap(l.buf) == 0 {
		l.buf = make([]byte, 4096)
	}
	n, _ := l.src.ReadAt(l.buf[:cap(l.buf)], l.pos)
	l.buf, l.at = l.buf[:n], l.pos
	if n == 0 {
		return 0, false
	}
	return l.buf[0], true
}

func blank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

// space skips blanks and comments.
func (l *lexer) space() {
	for comment := false; ; l.pos++ {
		c, ok := l.peek()
		switch {
		case !ok:
			return
		case comment:
			comment = c != '\n' && c != '\r'
		case c == '%':
			comment = true
		case !blank(c):
			return
		}
	}
}

// token reads a token. ok is false at the end.
func (l *lexer) token() (v any, ok bool) {
	l.space()
	c, ok := l.peek()
	if !ok {
		return nil, false
	}
	switch c {
	case '(':
		l.pos++
		return l.literal(), true
	case '/':
		l.pos++
		return l.name(), true
	case '<', '>':
		l.pos++
		if d, _ := l.peek(); d == c {
			l.pos++
			return keyword([]byte{c, c}), true
		}
		if c == '<' {
			return l.hex(), true
		}
		return keyword(">"), true
	case '[', ']', '{', '}', ')':
		l.pos++
		return keyword([]byte{c}), true
	}
	word := l.word()
	if n, ok := number(word); ok {
		return n, true
	}
	return keyword(word), true
}

func (l *lexer) word() string {
	var b []byte
	for {
		c, ok := l.peek()
		if !ok || blank(c) || delimiter(c) {
			return string(b)
		}
		b = append(b, c)
		l.pos++
	}
}

// number reads a number as readers of PDFs do: what follows a number in its word is ignored.
func number(s string) (float64, bool) {
	if s == "" || s[0] != '-' && s[0] != '+' && s[0] != '.' && (s[0] < '0' || s[0] > '9') {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	for err != nil && len(s) > 1 && len(s) < 100 {
		s = s[:len(s)-1]
		n, err = strconv.ParseFloat(s, 64)
	}
	return n, err == nil && !math.IsInf(n, 0)
}

func (l *lexer) name() Name {
	word := []byte(l.word())
	out := word[:0]
	for i := 0; i < len(word); i++ {
		if word[i] == '#' && i+2 < len(word) && digit(word[i+1]) >= 0 && digit(word[i+2]) >= 0 {
			out = append(out, byte(digit(word[i+1])<<4|digit(word[i+2])))
			i += 2
			continue
		}
		out = append(out, word[i])
	}
	return Name(out)
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (l *lexer) hex() String {
	var b []byte
	high := -1
	for {
		c, ok := l.peek()
		if ok {
			l.pos++
		}
		if !ok || c == '>' {
			break
		}
		switch d := digit(c); {
		case d < 0:
		case high < 0:
			high = d
		default:
			b, high = append(b, byte(high<<4|d)), -1
		}
	}
	if high >= 0 {
		b = append(b, byte(high<<4))
	}
	return l.decrypted(b)
}

func (l *lexer) decrypted(b []byte) String {
	if l.decrypt != nil {
		b = l.decrypt(b)
	}
	return String(b)
}

// literal reads a string in parentheses, of which the first is read.
func (l *lexer) literal() String {
	var b []byte
	for open := 1; ; {
		c, ok := l.peek()
		if !ok {
			break
		}
		l.pos++
		switch c {
		case '\\':
			b = l.escape(b)
			continue
		case '(':
			open++
		case ')':
			open--
		}
		if open == 0 {
			break
		}
		b = append(b, c)
	}
	return l.decrypted(b)
}

// escape reads what follows a backslash.
func (l *lexer) escape(b []byte) []byte {
	c, ok := l.peek()
	if !ok {
		return b
	}
	l.pos++
	switch c {
	case 'n':
		return append(b, '\n')
	case 'r':
		return append(b, '\r')
	case 't':
		return append(b, '\t')
	case 'b':
		return append(b, '\b')
	case 'f':
		return append(b, '\f')
	case '\r', '\n':
		if d, _ := l.peek(); c == '\r' && d == '\n' {
			l.pos++
		}
		return b
	}
	if c < '0' || c > '7' {
		return append(b, c)
	}
	n := c - '0'
	for range 2 {
		d, ok := l.peek()
		if !ok || d < '0' || d > '7' {
			break
		}
		n = n<<3 | (d - '0')
		l.pos++
	}
	return append(b, n)
}

// value reads a value, or a keyword where none is. ok is false at the end.
func (l *lexer) value(depth int) (v any, ok bool) {
	t, ok := l.token()
	if !ok {
		return nil, false
	}
	switch t := t.(type) {
	case float64:
		if r, ok := l.reference(t); ok {
			return r, true
		}
		return t, true
	case keyword:
		return l.composed(t, depth)
	}
	return t, true
}

func (l *lexer) composed(t keyword, depth int) (any, bool) {
	switch t {
	case "true":
		return true, true
	case "false":
		return false, true
	case "null":
		return nil, true
	case "[":
		return l.array(depth)
	case "<<":
		return l.dict(depth)
	}
	return t, true
}

func (l *lexer) array(depth int) (any, bool) {
	var a Array
	for depth < deepest {
		v, ok := l.value(depth + 1)
		if !ok || v == keyword("]") {
			return a, true
		}
		if _, odd := v.(keyword); !odd {
			a = append(a, v)
		}
	}
	return a, false
}

func (l *lexer) dict(depth int) (any, bool) {
	d := Dict{}
	for depth < deepest {
		key, ok := l.token()
		if !ok || key == keyword(">>") {
			return d, true
		}
		name, ok := key.(Name)
		if !ok {
			continue
		}
		v, ok := l.value(depth + 1)
		if !ok || v == keyword(">>") {
			return d, true
		}
		if _, odd := v.(keyword); !odd && v != nil {
			d[name] = v
		}
	}
	return d, false
}

// reference reads the rest of "1 0 R" after the 1.
func (l *lexer) reference(n float64) (Ref, bool) {
	if !l.refs || n < 0 || n != float64(int(n)) {
		return Ref{}, false
	}
	before := l.pos
	g, _ := l.token()
	generation, ok := g.(float64)
	if ok {
		if r, _ := l.token(); r == keyword("R") {
			return Ref{int(n), int(generation)}, true
		}
	}
	l.pos = before
	return Ref{}, false
}
