package term

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostMarks is how many combining marks may sit on one character before the rest is shown by number: a
// tower of marks reaches into other lines.
const mostMarks = 8

// Escaper is [Escape] for text that comes in pieces, which may cut characters in two. The zero value is
// ready. Its joined results are Escape's result for the joined pieces.
type Escaper struct {
	rest  string // the end of the text so far, which cannot be judged before more comes
	prev  rune   // the last character that was kept, 0 at the start and after one that was shown
	marks int    // combining marks since the last other character
}

// Next takes more text and returns the part that can be shown now.
func (e *Escaper) Next(s string) string {
	if e.rest == "" && plain(s) {
		if s != "" {
			e.prev, e.marks = rune(s[len(s)-1]), 0
		}
		return s
	}
	s, e.rest = e.rest+s, ""
	return e.run(s, false)
}

// End returns the rest, and makes the Escaper ready for another text.
func (e *Escaper) End() string {
	s := e.rest
	e.rest = ""
	out := e.run(s, true)
	*e = Escaper{}
	return out
}

// run escapes s. Unless last, it keeps back the end if the next text could change how it is shown.
func (e *Escaper) run(s string, last bool) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for s != "" {
		if n := plainRun(s); n > 0 {
			b.WriteString(s[:n])
			e.prev, e.marks = rune(s[n-1]), 0
			s = s[n:]
			continue
		}
		n := e.one(&b, s, last)
		if n == 0 {
			e.rest = s
			break
		}
		s = s[n:]
	}
	return b.String()
}

// one writes the first character of s and returns its length; 0 if more text is needed to judge it.
func (e *Escaper) one(b *strings.Builder, s string, last bool) int {
	if !last && !utf8.FullRuneInString(s) {
		return 0
	}
	r, n := utf8.DecodeRuneInString(s)
	var shown [12]byte
	switch {
	case simple(r):
		b.WriteString(s[:n])
		e.prev, e.marks = r, 0
	case r == utf8.RuneError && n == 1:
		e.show(b, appendByte(shown[:0], s[0]))
	case r == '\r':
		if !last && len(s) == 1 {
			return 0
		}
		if !strings.HasPrefix(s, "\r\n") { // of CRLF only the newline is shown
			e.show(b, appendShown(shown[:0], r))
		}
	case contextual(r):
		if !last && !utf8.FullRuneInString(s[n:]) {
			return 0
		}
		next, _ := utf8.DecodeRuneInString(s[n:])
		e.decide(b, r, keeps(e.prev, r, next))
	default:
		if isMark(r) {
			e.marks++
		}
		e.decide(b, r, !unsafeRune(r) && e.marks <= mostMarks)
	}
	return n
}

// plainRun is the length of the printable ASCII text, newlines and tabs that s starts with.
func plainRun(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			return i
		}
	}
	return len(s)
}

// simple reports characters that are safe wherever they stand and no marks, of the ranges that most text is
// made of: Latin, Greek, Cyrillic, arrows to symbols, kana, Han, Hangul, emoji. For all others the tables
// are asked.
func simple(r rune) bool {
	switch {
	case r < 0x300:
		return r >= 0xa0 && r != 0xad
	case r < 0x2190:
		return 0x370 <= r && r <= 0x482 || 0x48a <= r && r <= 0x52f || 0x2010 <= r && r <= 0x2027
	case r <= 0xd7a3:
		return r < 0x2800 || 0x2801 <= r && r < 0x2c00 || 0x3001 <= r && r <= 0x3029 || 0x3041 <= r && r <= 0x3096 ||
			0x30a0 <= r && r <= 0x30ff || 0x3400 <= r && r <= 0x9fff || r >= 0xac00
	}
	return 0x1f300 <= r && r <= 0x1f64f || 0x1f680 <= r && r <= 0x1f6ff || 0x1f900 <= r && r <= 0x1f9ff
}

// isMark reports marks that are drawn onto the character before them.
func isMark(r rune) bool { return r >= 0x300 && unicode.In(r, unicode.Mn, unicode.Me) }

func (e *Escaper) decide(b *strings.Builder, r rune, safe bool) {
	if safe {
		e.keep(b, r)
		return
	}
	var shown [12]byte
	e.show(b, appendShown(shown[:0], r))
}

func (e *Escaper) keep(b *strings.Builder, r rune) {
	b.WriteRune(r)
	e.prev = r
	if !contextual(r) && !isMark(r) {
		e.marks = 0
	}
}

func (e *Escaper) show(b *strings.Builder, shown []byte) {
	b.Write(shown)
	e.prev = '›'
}

// Writer escapes everything written to it.
type Writer struct {
	w io.Writer
	e Escaper
}

// NewWriter returns a Writer to w. End it with Flush.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Write escapes p and writes it, but for an end that needs more text to be judged. It returns len(p), or
// 0 and the error of the writer beneath.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.write(w.e.Next(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes the text that was kept back.
func (w *Writer) Flush() error { return w.write(w.e.End()) }

func (w *Writer) write(s string) error {
	if s == "" {
		return nil
	}
	_, err := io.WriteString(w.w, s)
	return err
}
