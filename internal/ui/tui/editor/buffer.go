package editor

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// pos is a place between two characters: a line and a byte in it.
type pos struct{ line, col int }

// line is one line of text, without its newline, and how it was laid out last.
type line struct {
	text  string
	width int   // of the layout; 0: none
	rows  []int // the byte each row begins with
}

// buffer is text with a cursor. Its lines are never none.
type buffer struct {
	lines  []line
	cursor pos
	goal   int // the cell that moving up and down aims at; -1: where the cursor is
}

func newBuffer(text string) buffer {
	b := buffer{goal: -1}
	for s := range strings.SplitSeq(text, "\n") {
		b.lines = append(b.lines, line{text: s})
	}
	return b
}

func (b *buffer) empty() bool { return len(b.lines) == 1 && b.lines[0].text == "" }
func (b *buffer) end() pos    { return pos{len(b.lines) - 1, len(b.lines[len(b.lines)-1].text)} }

// text is the part between two places.
func (b *buffer) text(from, to pos) string {
	if from.line == to.line {
		return b.lines[from.line].text[from.col:to.col]
	}
	var s strings.Builder
	s.WriteString(b.lines[from.line].text[from.col:])
	for _, l := range b.lines[from.line+1 : to.line] {
		s.WriteByte('\n')
		s.WriteString(l.text)
	}
	s.WriteByte('\n')
	s.WriteString(b.lines[to.line].text[:to.col])
	return s.String()
}

func (b *buffer) all() string { return b.text(pos{}, b.end()) }

// replace puts s in the place of the text between two places, and the cursor behind it.
func (b *buffer) replace(from, to pos, s string) {
	head, tail := b.lines[from.line].text[:from.col], b.lines[to.line].text[to.col:]
	if from.line == to.line && !strings.Contains(s, "\n") {
		b.lines[from.line] = line{text: head + s + tail}
		b.cursor = pos{from.line, from.col + len(s)}
		return
	}
	parts := strings.Split(s, "\n")
	fresh := make([]line, len(parts))
	for i, p := range parts {
		fresh[i].text = p
	}
	last := len(fresh) - 1
	fresh[0].text = head + fresh[0].text
	b.cursor = pos{from.line + last, len(fresh[last].text)}
	fresh[last].text += tail
	b.lines = slices.Replace(b.lines, from.line, to.line+1, fresh...)
}

// after is the place behind s when s is inserted at p.
func (p pos) after(s string) pos {
	n := strings.Count(s, "\n")
	if n == 0 {
		return pos{p.line, p.col + len(s)}
	}
	return pos{p.line + n, len(s) - strings.LastIndexByte(s, '\n') - 1}
}

// next is the place behind the character at p.
func (b *buffer) next(p pos) pos {
	s := b.lines[p.line].text[p.col:]
	switch {
	case s != "":
		return pos{p.line, p.col + character(s)}
	case p.line+1 < len(b.lines):
		return pos{p.line + 1, 0}
	}
	return p
}

// previous is the place before the character that ends at p.
func (b *buffer) previous(p pos) pos {
	if p.col == 0 {
		if p.line == 0 {
			return p
		}
		return pos{p.line - 1, len(b.lines[p.line-1].text)}
	}
	s := b.lines[p.line].text[:p.col]
	if n := len(s); n > 1 && s[n-1] < utf8.RuneSelf && s[n-2] < utf8.RuneSelf {
		return pos{p.line, n - 1}
	}
	at := boundary(s)
	for {
		n := character(s[at:])
		if at+n >= len(s) {
			return pos{p.line, at}
		}
		at += n
	}
}

// character is the number of bytes of the first character of s as people see it.
func character(s string) int {
	if isChip(s) {
		return chipBytes
	}
	n, _ := term.Cluster(s, 0)
	for i, r := range s[:n] {
		if unicode.Is(unicode.Cf, r) && r != 0x200c && r != 0x200d { // shown by its number, so it is alone
			if i == 0 {
				return utf8.RuneLen(r)
			}
			return i
		}
	}
	return max(n, 1)
}

// boundary is a place in s, before its last character, where certainly a character begins: so that a step back
// need not look at the whole line.
func boundary(s string) int {
	for i := len(s) - 1; i > 0; i-- {
		if s[i] < utf8.RuneSelf && s[i-1] < utf8.RuneSelf {
			return i
		}
	}
	return 0
}

// snap moves a place to where a character begins.
func (b *buffer) snap(p pos) pos {
	p.line = min(max(p.line, 0), len(b.lines)-1)
	s := b.lines[p.line].text
	if p.col >= len(s) {
		return pos{p.line, len(s)}
	}
	at := 0
	if p.col > 0 {
		at = boundary(s[:p.col])
	}
	for at < p.col {
		n := character(s[at:])
		if at+n > p.col {
			break
		}
		at += n
	}
	return pos{p.line, at}
}
