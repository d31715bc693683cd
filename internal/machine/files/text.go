package files

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is how the bytes of a file stand for characters.
type Encoding string

// The encodings. Latin1 is any file that is not valid UTF-8 and has no UTF-8 sequence beyond ASCII: each
// byte is one character. Mixed has both: valid sequences are UTF-8, each other byte Latin-1.
const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le" // only with a byte order mark
	UTF16BE Encoding = "utf-16be" // only with a byte order mark
	Latin1  Encoding = "latin-1"
	Mixed   Encoding = "utf-8 with invalid bytes"
)

// Text is a file's content as text. View is the form that the model sees and edits: UTF-8, without byte order mark,
// with \r\n as \n. Every byte of the file that an edit does not touch stays as it is.
type Text struct {
	View     string
	Encoding Encoding
	BOM      bool
	CRLF, LF int // line ends of each kind

	raw   []byte
	plain bool // View is raw without its byte order mark
}

// Decode reads content as text. It never fails: bytes that are not valid are shown as Latin-1.
func Decode(raw []byte) *Text {
	t := &Text{raw: raw, Encoding: UTF8}
	switch {
	case bytes.HasPrefix(raw, []byte{0xFF, 0xFE}):
		t.Encoding, t.BOM = UTF16LE, true
	case bytes.HasPrefix(raw, []byte{0xFE, 0xFF}):
		t.Encoding, t.BOM = UTF16BE, true
	case bytes.HasPrefix(raw, []byte("\xEF\xBB\xBF")):
		t.BOM = true
	}
	body := raw[t.start():]
	if t.Encoding == UTF8 {
		t.CRLF = bytes.Count(body, []byte("\r\n"))
		t.LF = bytes.Count(body, []byte("\n")) - t.CRLF
		valid := utf8.Valid(body)
		if valid && t.CRLF == 0 {
			t.View, t.plain = string(body), true
			return t
		}
		if valid {
			t.View = strings.ReplaceAll(string(body), "\r\n", "\n")
			return t
		}
		t.Encoding = invalidKind(body)
	}
	t.decodeSlowly(body)
	return t
}

// start is where the text begins in raw, after the byte order mark.
func (t *Text) start() int {
	switch {
	case !t.BOM:
		return 0
	case t.Encoding == UTF8:
		return 3
	}
	return 2
}

// invalidKind distinguishes Latin1 from Mixed for content that is not valid UTF-8.
func invalidKind(body []byte) Encoding {
	for len(body) > 0 {
		r, n := utf8.DecodeRune(body)
		if n > 1 && r != utf8.RuneError {
			return Mixed
		}
		body = body[n:]
	}
	return Latin1
}

func (t *Text) decodeSlowly(body []byte) {
	var b strings.Builder
	b.Grow(len(body))
	t.CRLF, t.LF = 0, 0
	for len(body) > 0 {
		r, n := t.next(body)
		if r == '\n' {
			if n > t.width() {
				t.CRLF++
			} else {
				t.LF++
			}
		}
		b.WriteRune(r)
		body = body[n:]
	}
	t.View = b.String()
}

// width is the size of an ASCII character in the file.
func (t *Text) width() int {
	if t.Encoding == UTF16LE || t.Encoding == UTF16BE {
		return 2
	}
	return 1
}

// next reads one character of the view from raw bytes and returns how many of them it takes; \r\n is one.
func (t *Text) next(raw []byte) (rune, int) {
	r, n := t.char(raw)
	if r == '\r' && len(raw) > n {
		if r2, n2 := t.char(raw[n:]); r2 == '\n' {
			return '\n', n + n2
		}
	}
	return r, n
}

func (t *Text) char(raw []byte) (rune, int) {
	switch t.Encoding {
	case UTF16LE, UTF16BE:
		return t.char16(raw)
	case Latin1:
		return rune(raw[0]), 1
	}
	r, n := utf8.DecodeRune(raw)
	if r == utf8.RuneError && n == 1 {
		return rune(raw[0]), 1
	}
	return r, n
}

// char16 reads one UTF-16 character. Half a pair and half a unit are shown as U+FFFD.
func (t *Text) char16(raw []byte) (rune, int) {
	if len(raw) < 2 {
		return utf8.RuneError, len(raw)
	}
	u := rune(t.order().Uint16(raw))
	if !utf16.IsSurrogate(u) {
		return u, 2
	}
	if len(raw) >= 4 {
		if r := utf16.DecodeRune(u, rune(t.order().Uint16(raw[2:]))); r != utf8.RuneError {
			return r, 4
		}
	}
	return utf8.RuneError, 2
}

// byteOrder reads and appends two-byte units.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func (t *Text) order() byteOrder {
	if t.Encoding == UTF16BE {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Newline is the line end that most lines have: "\n" or "\r\n".
func (t *Text) Newline() string {
	if t.CRLF > t.LF {
		return "\r\n"
	}
	return "\n"
}

// Region is a part of a View, in bytes: from Start up to End.
type Region struct{ Start, End int }

// Replace puts text in place of each region of the view and returns the new content of the file. Regions
// are in order and apart. New line ends are those of the lines replaced, else those of most lines.
func (t *Text) Replace(regions []Region, text string) ([]byte, error) {
	return t.ReplaceEach(regions, func(int) string { return text })
}

// ReplaceEach is Replace with a text for each region.
func (t *Text) ReplaceEach(regions []Region, text func(i int) string) ([]byte, error) {
	if t.plain {
		return t.replacePlain(regions, text), nil
	}
	cuts, parts := make([]int, 0, 4*len(regions)), make([]string, 0, len(regions))
	size := len(t.raw)
	for i, g := range regions {
		s := text(i)
		head, tail := commonEnds(t.View[g.Start:g.End], s)
		cuts = append(cuts, g.Start, g.Start+head, g.End-tail, g.End)
		parts = append(parts, s[head:len(s)-tail])
		size += len(s)
	}
	offsets := t.rawOffsets(cuts)
	out := make([]byte, 0, size)
	from := 0
	for i, part := range parts {
		o := offsets[4*i : 4*i+4]
		start, end := o[1], o[2]
		out = append(out, t.raw[from:start]...)
		var err error
		if out, err = t.encode(out, part, t.newlineOf(regions[i], t.raw[o[0]:o[3]])); err != nil {
			return nil, err
		}
		from = end
	}
	return append(out, t.raw[from:]...), nil
}

func (t *Text) replacePlain(regions []Region, text func(i int) string) []byte {
	size := len(t.raw)
	for i, g := range regions {
		size += len(text(i)) - (g.End - g.Start)
	}
	out := make([]byte, 0, size)
	from, shift := 0, t.start()
	for i, g := range regions {
		out = append(append(out, t.raw[from:g.Start+shift]...), text(i)...)
		from = g.End + shift
	}
	return append(out, t.raw[from:]...)
}

// newlineOf is the line end to write inside a region, whose bytes are raw.
func (t *Text) newlineOf(g Region, raw []byte) string {
	if t.CRLF == 0 {
		return "\n"
	}
	if t.LF > 0 && strings.Contains(t.View[g.Start:g.End], "\n") {
		part := &Text{Encoding: t.Encoding}
		part.decodeSlowly(raw)
		return part.Newline()
	}
	return t.Newline()
}

// rawOffsets maps ascending offsets of the view to offsets of the file.
func (t *Text) rawOffsets(view []int) []int {
	out := make([]int, 0, len(view))
	raw, at := t.start(), 0
	for _, want := range view {
		for at < want {
			r, n := t.next(t.raw[raw:])
			raw += n
			at += utf8.RuneLen(r)
		}
		out = append(out, raw)
	}
	return out
}

// commonEnds counts the bytes at which two strings agree at both ends, in whole characters.
func commonEnds(a, b string) (head, tail int) {
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	for head > 0 && (!startsRune(a, head) || !startsRune(b, head)) {
		head--
	}
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && !utf8.RuneStart(a[len(a)-tail]) {
		tail--
	}
	return head, tail
}

func startsRune(s string, i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }

// encode appends text to out in the file's encoding, its line ends as newline.
func (t *Text) encode(out []byte, text, newline string) ([]byte, error) {
	if newline != "\n" {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", newline)
	}
	switch t.Encoding {
	case UTF16LE, UTF16BE:
		for _, u := range utf16.Encode([]rune(text)) {
			out = t.order().AppendUint16(out, u)
		}
		return out, nil
	case Latin1:
		for _, r := range text {
			if r > 0xFF {
				return nil, fmt.Errorf("the file is not UTF-8 but Latin-1 (one byte a character) and cannot hold %q; "+
					"write that text in ASCII, or convert the file to UTF-8 first", r)
			}
			out = append(out, byte(r))
		}
		return out, nil
	}
	return append(out, text...), nil
}

// Rewrite encodes a whole new content the way the file was: its encoding and byte order mark, and \r\n
// when every line ended so and the new content has no \r. A Latin-1 file that cannot hold the new content becomes
// UTF-8.
func (t *Text) Rewrite(content string) []byte {
	content = strings.TrimPrefix(content, "\uFEFF")
	newline := "\n"
	if t.CRLF > 0 && t.LF == 0 && !strings.Contains(content, "\r") {
		newline = "\r\n"
	}
	bom := append([]byte(nil), t.raw[:t.start()]...)
	if out, err := t.encode(bom, content, newline); err == nil {
		return out
	}
	utf := &Text{Encoding: UTF8}
	out, _ := utf.encode(nil, content, newline) // UTF-8 holds every text
	return out
}
