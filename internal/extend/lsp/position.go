package lsp

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is the unit of Position.Character.
type Encoding string

// The encodings of the protocol.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// Position is a place in a text, both numbers from 0; Character counts units of the server's Encoding.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is a part of a text; End is not in it.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// text is a document with its lines.
type text struct {
	s     string
	lines []int // offsets of the beginnings of lines
}

func newText(s string) *text {
	t := &text{s: s, lines: make([]int, 1, 1+strings.Count(s, "\n"))}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\n':
			t.lines = append(t.lines, i+1)
		case '\r':
			if i+1 == len(s) || s[i+1] != '\n' {
				t.lines = append(t.lines, i+1)
			}
		}
	}
	return t
}

// line returns a line without its end, "" beyond the text.
func (t *text) line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	end := len(t.s)
	if n+1 < len(t.lines) {
		end = t.lines[n+1]
	}
	return strings.TrimRight(t.s[t.lines[n]:end], "\r\n")
}

// offset returns the byte at a position. ok is false for one outside of the text, for which the nearest offset is
// returned.
func (t *text) offset(p Position, e Encoding) (at int, ok bool) {
	if p.Line < 0 || p.Character < 0 {
		return 0, false
	}
	if p.Line >= len(t.lines) {
		return len(t.s), p.Line == len(t.lines) && p.Character == 0 // some servers end a text on the line after the last
	}
	line := t.line(p.Line)
	col, ok := bytesOf(line, p.Character, e)
	return t.lines[p.Line] + col, ok
}

// position returns the position of a byte, which is moved to the beginning of its character.
func (t *text) position(at int, e Encoding) Position {
	at = max(0, min(at, len(t.s)))
	lo, hi := 0, len(t.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; t.lines[mid] <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return Position{Line: lo, Character: units(t.s[t.lines[lo]:at], e)}
}

// bytesOf returns how many bytes of a line the first n units are. ok is false if there are fewer, or n is inside of a
// character.
func bytesOf(line string, n int, e Encoding) (at int, ok bool) {
	if e == UTF8 {
		if n > len(line) {
			return len(line), false
		}
		for n > 0 && n < len(line) && !utf8.RuneStart(line[n]) {
			n--
			ok = true
		}
		return n, !ok
	}
	for i, r := range line {
		if n <= 0 {
			return i, n == 0
		}
		n -= size(r, e)
	}
	return len(line), n == 0
}

func units(s string, e Encoding) int {
	if e == UTF8 {
		return len(s)
	}
	n := 0
	for _, r := range s {
		n += size(r, e)
	}
	return n
}

func size(r rune, e Encoding) int {
	if e == UTF32 {
		return 1
	}
	return max(1, utf16.RuneLen(r)) // an invalid byte is one unit
}

// difference returns the one part in which two texts differ, as offsets of old and the text that takes its place.
func difference(old, now string) (start, end int, insert string) {
	for start < len(old) && start < len(now) && old[start] == now[start] {
		start++
	}
	for start > 0 && (start < len(old) && !utf8.RuneStart(old[start]) || start < len(now) && !utf8.RuneStart(
		now[start]) || old[start-1] == '\r') {
		start--
	}
	end = len(old)
	tail := len(now)
	for end > start && tail > start && old[end-1] == now[tail-1] {
		end--
		tail--
	}
	for end < len(old) && (!utf8.RuneStart(old[end]) || old[end] == '\n' && end > 0 && old[end-1] == '\r' ||
		old[end] == '\n' && tail > 0 && now[tail-1] == '\r') {
		end++
		tail++
	}
	return start, end, now[start:tail]
}
