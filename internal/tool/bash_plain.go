package tool

import (
	"fmt"
	"unicode/utf8"
)

// plainText turns the bytes of a terminal program into text: escape sequences (ECMA-48) and control
// characters but newline, tab, carriage return and backspace go, each run of bytes that are not UTF-8
// becomes one U+FFFD, and characters that hide text or turn its direction are spelled out (<U+202E>). It
// keeps its state between pieces, so a sequence or a character may be cut anywhere.
type plainText struct {
	state   byte
	invalid bool    // the last byte was not UTF-8
	part    [4]byte // the begin of a character
	parts   int
}

const (
	ground    = iota
	escape    // after ESC
	escMiddle // after ESC and an intermediate byte
	csi       // control sequence: parameters, intermediates, a final byte
	str       // OSC, DCS, APC, PM, SOS: up to ST or BEL; a line break ends it too, or a stray one would eat all
	strEscape // in a string, after ESC
)

// add appends the text of p to dst.
func (t *plainText) add(dst, p []byte) []byte {
	for i := 0; i < len(p); {
		if t.state == ground && t.parts == 0 {
			n := printable(p[i:])
			if n > 0 {
				dst, t.invalid = append(dst, p[i:i+n]...), false
				i += n
				continue
			}
		}
		if t.state != ground {
			if t.sequence(p[i]) {
				i++
			}
			continue
		}
		var n int
		dst, n = t.ground(dst, p[i:])
		i += n
	}
	return dst
}

// printable is the length of the ASCII text that p starts with.
func printable(p []byte) int {
	for i, c := range p {
		if (c < 0x20 && c != '\n' && c != '\t') || c >= 0x7F {
			return i
		}
	}
	return len(p)
}

// ground takes one character, or completes one that was cut, and returns how many bytes it used.
func (t *plainText) ground(dst, p []byte) ([]byte, int) {
	if t.parts > 0 || p[0] >= utf8.RuneSelf {
		return t.wide(dst, p)
	}
	switch c := p[0]; {
	case c == 0x1B:
		t.state = escape
	case c == '\n' || c == '\t' || c == '\r' || c == '\b' || (c >= 0x20 && c < 0x7F):
		t.invalid = false
		dst = append(dst, c)
	}
	return dst, 1
}

// wide takes a character of several bytes.
func (t *plainText) wide(dst, p []byte) ([]byte, int) {
	had := t.parts
	buf := t.part
	n := had + copy(buf[had:], p)
	if !utf8.FullRune(buf[:n]) {
		t.part, t.parts = buf, n
		return dst, n - had
	}
	t.parts = 0
	r, w := utf8.DecodeRune(buf[:n])
	if r == utf8.RuneError && w == 1 {
		if !t.invalid {
			dst = append(dst, "\uFFFD"...)
		}
		t.invalid = true
		if had > 0 { // the bytes kept from before were no character; p is looked at again
			return dst, 0
		}
		return dst, 1
	}
	t.invalid = false
	return appendRune(dst, r), w - had
}

func appendRune(dst []byte, r rune) []byte {
	switch {
	case r >= 0x80 && r <= 0x9F: // C1 controls
		return dst
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0xE0000 && r <= 0xE007F:
		return fmt.Appendf(dst, "<U+%04X>", r)
	}
	return utf8.AppendRune(dst, r)
}

// sequence takes one byte of an escape sequence and reports whether it was used; a byte that cannot be part
// of it ends it.
func (t *plainText) sequence(c byte) bool {
	switch t.state {
	case escape:
		return t.afterEscape(c)
	case escMiddle:
		if c >= 0x20 && c <= 0x2F {
			return true
		}
		t.state = ground
		return c >= 0x30 && c <= 0x7E
	case csi:
		if c >= 0x20 && c <= 0x3F {
			return true
		}
		t.state = ground
		return c >= 0x40 && c <= 0x7E
	case strEscape:
		t.state = ground
		return c == '\\'
	}
	switch c { // in a string
	case 0x07, 0x18, 0x1A:
		t.state = ground
	case 0x1B:
		t.state = strEscape
	case '\n':
		t.state = ground
		return false
	}
	return true
}

func (t *plainText) afterEscape(c byte) bool {
	switch {
	case c == '[':
		t.state = csi
	case c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X':
		t.state = str
	case c >= 0x20 && c <= 0x2F:
		t.state = escMiddle
	case c >= 0x30 && c <= 0x7E:
		t.state = ground
	default:
		t.state = ground
		return false
	}
	return true
}

// end closes a character that was cut by the end of the output.
func (t *plainText) end(dst []byte) []byte {
	if t.parts > 0 && !t.invalid {
		dst = append(dst, "\uFFFD"...)
	}
	t.parts = 0
	return dst
}

// lineText applies carriage return and backspace as a terminal does, so that a progress bar is its last
// state and not a thousand of them. A line of more than 64 KiB is passed on in pieces.
type lineText struct {
	line []byte
	cr   bool
}

const lineMost = 64 << 10

func (l *lineText) add(p []byte, emit func([]byte)) {
	for len(p) > 0 {
		n := 0
		for n < len(p) && p[n] != '\r' && p[n] != '\b' {
			n++
		}
		l.plain(p[:n], emit)
		if n == len(p) {
			return
		}
		if p[n] == '\r' {
			l.cr = true
		} else if len(l.line) > 0 && !l.cr {
			_, w := utf8.DecodeLastRune(l.line)
			l.line = l.line[:len(l.line)-w]
		}
		p = p[n+1:]
	}
}

// plain takes text without carriage returns.
func (l *lineText) plain(p []byte, emit func([]byte)) {
	if len(p) == 0 {
		return
	}
	if l.cr && p[0] != '\n' {
		l.line = l.line[:0]
	}
	l.cr = false
	last := len(p)
	for last > 0 && p[last-1] != '\n' {
		last--
	}
	if last > 0 {
		if len(l.line) > 0 {
			emit(l.line)
			l.line = l.line[:0]
		}
		emit(p[:last])
	}
	l.line = append(l.line, p[last:]...)
	if len(l.line) > lineMost {
		emit(l.line)
		l.line = l.line[:0]
	}
}

func (l *lineText) end(emit func([]byte)) {
	if len(l.line) > 0 {
		emit(l.line)
		l.line = nil
	}
}
