package tui

import (
	"strconv"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// cell is one place of the screen. The zero value is a blank in the default style.
type cell struct {
	char  int32  // a rune, or below zero the index of a cluster; 0 for a blank and the rest of a wide character
	style uint16 // index into styles
	wide  uint8  // cells that the character takes; 0 for a blank and the rest of a wide character
	rest  bool   // the rest of a wide character
}

// most is how many styles or clusters are kept before all are forgotten: foreign text could make any number.
const most = 16384

// cells turns styled lines into cells. Styles and clusters of several runes are kept once.
type cells struct {
	styles   []style
	styleID  map[style]uint16
	clusters []string
	charID   map[string]int32
}

func newCells() *cells {
	c := &cells{}
	c.forget()
	return c
}

func (c *cells) forget() {
	c.styles, c.styleID = []style{{}}, map[style]uint16{{}: 0}
	c.clusters, c.charID = []string{""}, map[string]int32{}
}

// full reports that the tables should be forgotten, with all cells that refer to them.
func (c *cells) full() bool { return len(c.styles) > most || len(c.clusters) > most }

func (c *cells) id(s style) uint16 {
	id, ok := c.styleID[s]
	if !ok {
		id = uint16(len(c.styles))
		c.styles, c.styleID[s] = append(c.styles, s), id
	}
	return id
}

func (c *cells) cluster(s string) int32 {
	id, ok := c.charID[s]
	if !ok {
		id = -int32(len(c.clusters))
		c.clusters, c.charID[s] = append(c.clusters, s), id
	}
	return id
}

// parse turns a styled line into at most width cells, without the blanks at its end. Escape sequences other
// than styles and links, and control characters, are dropped: they have no business in a line.
func (c *cells) parse(into []cell, line string, width int) []cell {
	into = into[:0]
	var st style
	id := uint16(0)
	for i := 0; i < len(line); {
		b := line[i]
		switch {
		case b == 0x1b:
			n := escape(line[i:], &st)
			if line[i+n-1] == 'G' {
				into = toColumn(into, line[i:i+n])
			}
			id = c.id(st)
			i += n
			continue
		case b == '\t':
			for range 8 - len(into)%8 {
				into = append(into, cell{char: ' ', style: id, wide: 1})
			}
			i++
		case b < ' ' || b == 0x7f:
			i++
			continue
		case b < utf8.RuneSelf && (i+1 == len(line) || line[i+1] < utf8.RuneSelf):
			into = append(into, cell{char: int32(b), style: id, wide: 1})
			i++
		default:
			n, w := term.Cluster(line[i:], len(into))
			into = c.add(into, line[i:i+n], w, id)
			i += n
		}
		if len(into) > width {
			into = into[:width]
			dropHalf(into)
			break
		}
	}
	return c.trim(into)
}

// toColumn cuts or fills the line up to a column, for text that is drawn in columns.
func toColumn(into []cell, sequence string) []cell {
	n, err := strconv.Atoi(sequence[2 : len(sequence)-1])
	if err != nil || n < 1 {
		return into
	}
	for len(into) < n-1 {
		into = append(into, cell{char: ' ', wide: 1})
	}
	into = into[:n-1]
	dropHalf(into)
	return into
}

// dropHalf replaces a wide character that does not fit at the end of a line.
func dropHalf(line []cell) {
	if last := len(line) - 1; last >= 0 && line[last].wide == 2 {
		line[last] = cell{char: ' ', style: line[last].style, wide: 1}
	}
}

func (c *cells) add(into []cell, text string, w int, id uint16) []cell {
	if w == 0 {
		return into
	}
	char, n := utf8.DecodeRuneInString(text)
	if n != len(text) {
		char = c.cluster(text)
	}
	into = append(into, cell{char: char, style: id, wide: uint8(w)})
	for range w - 1 {
		into = append(into, cell{style: id, rest: true})
	}
	return into
}

// trim drops blanks in the default style from the end, and makes the other blanks of that style equal.
func (c *cells) trim(line []cell) []cell {
	n := len(line)
	for n > 0 && line[n-1].char == ' ' && !c.styles[line[n-1].style].marksBlanks() {
		n--
	}
	return line[:n]
}

func (c *cells) text(b []byte, x cell) []byte {
	switch {
	case x.char == 0:
		return append(b, ' ')
	case x.char < 0:
		return append(b, c.clusters[-x.char]...)
	}
	return utf8.AppendRune(b, x.char)
}
