package editor

import (
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// tabStop is the distance of tab stops in the prompt.
const tabStop = 4

// glyph is how the first character of s is drawn in a row of width cells, when it begins in the cell at: its
// bytes in s, its cells, and the text to write. Controls are escaped, and a glyph wider than a whole row is cut.
func (e *Editor) glyph(s string, at, width int) (n, cells int, shown string) {
	switch c := s[0]; {
	case c == '\t':
		cells = min(tabStop-at%tabStop, width)
		return 1, cells, strings.Repeat(" ", cells)
	case c >= ' ' && c < 0x7f && (len(s) == 1 || s[1] < utf8.RuneSelf):
		return 1, 1, s[:1]
	}
	n = character(s)
	if isChip(s) {
		if c := e.chips[chipID(s)]; c != nil {
			shown = term.EscapeLine(c.label)
		}
	} else {
		shown = escaped(s[:n], s[n:])
	}
	if cells = term.Width(shown); cells > width {
		shown = term.Truncate(shown, width, "…")
		cells = term.Width(shown)
	}
	if cells == 0 && shown != "" && width > 0 {
		shown, cells = "◌"+shown, 1 // a mark with nothing to stand on
	}
	return n, cells, shown
}

// escaped is one character made safe. A joiner at its end is judged with the next character.
func escaped(s, following string) string {
	if r, _ := utf8.DecodeLastRuneInString(s); r != 0x200c && r != 0x200d || following == "" || following[0] == '\t' {
		return term.Escape(s)
	}
	_, n := utf8.DecodeRuneInString(following)
	return strings.TrimSuffix(term.Escape(s+following[:n]), term.Escape(following[:n]))
}

// rows lays line i out for a width and returns the bytes its rows begin with. The blank at which a full row
// ends hangs behind it, where the cursor has its place, too.
func (e *Editor) rows(i, width int) []int {
	l := &e.buf.lines[i]
	if l.width != width {
		l.width, l.rows = width, e.wrap(l.text, width, l.rows[:0])
	}
	return l.rows
}

func (e *Editor) wrap(s string, width int, rows []int) []int {
	rows = append(rows, 0)
	if len(s) <= width && simple(s) {
		return rows
	}
	start, room, word := 0, 0, 0 // of the row: its first byte, its cells so far; the last word's first byte
	for at := 0; at < len(s); {
		n, cells, _ := e.glyph(s[at:], room, width)
		if room+cells > width {
			if s[at] == ' ' {
				at++
				start, word, room = at, at, 0
				rows = append(rows, start)
				continue
			}
			if word > start && cells < 2 {
				start, at = word, word // the word goes to the next row
			} else {
				start, word = at, at
			}
			rows, room = append(rows, start), 0
			continue
		}
		room, at = room+cells, at+n
		if s[at-n] == ' ' || s[at-n] == '\t' || cells == 2 { // ideographs part words, too
			word = at
		}
	}
	return rows
}

// simple reports text whose bytes are its cells.
func simple(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// rowOf is the row of a line that holds a byte.
func rowOf(rows []int, col int) int {
	for i := len(rows) - 1; i > 0; i-- {
		if col >= rows[i] {
			return i
		}
	}
	return 0
}

// cellOf is the cell in its row of a place.
func (e *Editor) cellOf(p pos, width int) (row, cell int) {
	rows := e.rows(p.line, width)
	row = rowOf(rows, p.col)
	s := e.buf.lines[p.line].text
	for at := rows[row]; at < p.col; {
		n, cells, _ := e.glyph(s[at:], cell, width)
		at, cell = at+n, cell+cells
	}
	return row, cell
}

// placeAt is the place nearest to a cell in a row.
func (e *Editor) placeAt(line, row, cell, width int) pos {
	rows := e.rows(line, width)
	s := e.buf.lines[line].text
	end := len(s)
	if row+1 < len(rows) {
		end = rows[row+1]
	}
	at, col := 0, rows[row]
	for col < end {
		n, cells, _ := e.glyph(s[col:], at, width)
		if at+cells > cell && (at+cells-cell)*2 > cells || col+n >= end && row+1 < len(rows) {
			break // the end of a row that goes on is the beginning of the next
		}
		at, col = at+cells, col+n
	}
	return pos{line, col}
}
