package editor

import (
	"unicode"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
)

// move does the actions that only move the cursor.
func (e *Editor) move(a keys.Action) bool {
	b := &e.buf
	to := b.cursor
	switch a {
	case keys.Left:
		to = b.previous(to)
	case keys.Right:
		to = b.next(to)
	case keys.WordLeft:
		to = b.wordLeft(to)
	case keys.WordRight:
		to = b.wordRight(to)
	case keys.LineStart:
		to.col = 0
	case keys.LineEnd:
		to.col = len(b.lines[to.line].text)
	case keys.TextStart:
		to = pos{}
	case keys.TextEnd:
		to = b.end()
	default:
		return false
	}
	b.cursor, b.goal = to, -1
	e.undo.open, e.enterWaits = false, nil
	return true
}

// vertical moves by rows as they are drawn; false: there is no such row.
func (e *Editor) vertical(by int) bool {
	width := e.textWidth()
	p := e.buf.cursor
	row, cell := e.cellOf(p, width)
	if e.buf.goal < 0 {
		e.buf.goal = cell
	}
	row += by
	switch {
	case row < 0 && p.line == 0:
		return false
	case row < 0:
		p.line--
		row = len(e.rows(p.line, width)) - 1
	case row >= len(e.rows(p.line, width)):
		if p.line+1 >= len(e.buf.lines) {
			return false
		}
		p.line, row = p.line+1, 0
	}
	e.buf.cursor = e.placeAt(p.line, row, e.buf.goal, width)
	e.undo.open = false
	return true
}

// class parts text into words: blanks, letters and digits, signs, chips.
type class int

const (
	space class = iota
	word
	sign
	folded
)

func classOf(s string) class {
	if isChip(s) {
		return folded
	}
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case r == '\n' || unicode.IsSpace(r):
		return space
	case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return word
	}
	return sign
}

// wordLeft is where the word begins that ends at or before p.
func (b *buffer) wordLeft(p pos) pos {
	kind := space
	for p != (pos{}) {
		prev := b.previous(p)
		c := classOf(b.text(prev, p))
		switch {
		case kind == space && c != space:
			kind = c
		case c != kind:
			return p
		}
		if p = prev; kind == folded {
			return p
		}
	}
	return p
}

// wordRight is where the word ends that begins at or after p.
func (b *buffer) wordRight(p pos) pos {
	kind := space
	for p != b.end() {
		next := b.next(p)
		c := classOf(b.text(p, next))
		switch {
		case kind == space && c != space:
			kind = c
		case c != kind:
			return p
		}
		if p = next; kind == folded {
			return p
		}
	}
	return p
}
