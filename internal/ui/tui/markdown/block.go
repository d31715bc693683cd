package markdown

import (
	"slices"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/syntax"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
)

// kind is the kind of a leaf block.
type kind int

const (
	paragraph kind = iota
	heading
	fence    // fenced code
	indented // indented code
	html     // shown as the text it is
	rule
	table
	empty // a list item without anything in it
)

// container is an open block that holds other blocks.
type container struct {
	quote  bool // else it is a list item
	indent int  // of an item: columns from where its marker's line began to its content
	marker byte // of an item: '-', '+', '*', '.' or ')'
	number int  // of an ordered item
	task   byte // of an item: 0, ' ' or 'x'
	fresh  bool // nothing was put into it yet
	drawn  bool // its marker was drawn with an earlier block
	ends   bool // the item began with a blank line, and may not stay empty for another

	last *sibling // the item that was closed last in here, if nothing came behind it
}

// sibling holds the facts about a list item that the next one of the list depends on.
type sibling struct {
	marker byte
	number int
}

// leaf is a block of text, the unit that is laid out. Lines is its text: of a table the header, the
// alignments and the rows. Once closed it does not change.
type leaf struct {
	kind   kind
	lines  []string
	level  int    // of a heading, 1 to 6
	info   string // of a fence
	frame  []cell // the prefixes of its lines, outermost first
	gap    bool   // a blank line comes before it
	joined bool   // it continues the leaf before it: the text was too long for one
	// growing: more of it may come.
	growing bool

	fenceChar  byte
	fenceLen   int
	fenceStart int      // columns that the fence was indented
	htmlEnd    string   // the end of an HTML block; "" a blank line
	size       int      // bytes of lines
	missing    []string // labels of links that it refers to, if they get defined
	columns    []align
	cells      [][][]line.Span // of a table: rows that were read already
	head       *leaf           // of a joined one: the first of them
	before     *leaf           // of a joined one: the one it continues
	after      syntax.State    // of code: where highlighting is behind its last line

	layout layout
}

// ordered reports an item of a numbered list.
func (c *container) ordered() bool { return c.marker == '.' || c.marker == ')' }

// bullets are the markers of lists in one another.
var bullets = [...]string{"•", "◦", "▪"}

// cell draws a container. depth counts the items around it.
func (c *container) cell(depth int) cell {
	if c.quote {
		return cell{quote: true, first: !c.drawn}
	}
	m := bullets[depth%len(bullets)]
	if c.ordered() {
		m = strconv.Itoa(c.number) + string(c.marker)
	}
	return cell{marker: m, first: !c.drawn, task: c.task}
}

// cell is one container as it is drawn before a block.
type cell struct {
	quote  bool
	marker string // of an item: the bullet or number
	first  bool   // this block is the first in it, so its first line carries the marker
	task   byte   // of an item: 0, ' ' or 'x'
}

// Limits, so that hostile text costs no more than other text.
const (
	maxParagraph = 4 << 10 // bytes of a paragraph, before the rest becomes another
	maxLine      = 8 << 10 // bytes of a line, before it is broken
	maxDepth     = 24      // containers in one another; deeper ones are text
	maxPiece     = 64      // lines of code that are laid out as one leaf
	maxRows      = 32      // rows of a table that are; the first ones set the widths of its columns
)

// blocks turns lines into leaves, one line at a time. It follows the algorithm of CommonMark 0.31
// (appendix "A parsing strategy"), with the tables of GFM. Each line is read once.
type blocks struct {
	root    container
	open    []container
	leaf    *leaf // the open one, not in done yet
	blank   bool  // the line before was blank
	any     bool  // there was a leaf already
	out     []*leaf
	lastTop kind // of the leaf before, for gaps
	depth   int  // containers of the leaf before

	raw  string // the line at hand
	line string // the same without tabs
	pos  int
}

// clone copies the state, so that an unfinished line can be tried.
func (b *blocks) clone() *blocks {
	c := *b
	c.open = append([]container(nil), b.open...)
	c.out = nil
	if b.leaf != nil {
		l := *b.leaf
		l.lines, l.cells = slices.Clip(l.lines), slices.Clip(l.cells)
		c.leaf = &l
	}
	return &c
}

// add takes one line without its newline. broken says that the line continues the last one.
func (b *blocks) add(s string, broken bool) {
	b.raw, b.line, b.pos = s, expand(s), 0
	if broken && b.leaf != nil {
		b.proceed(b.line)
		return
	}
	matched := b.match()
	all := matched == len(b.open)
	if b.leaf != nil && b.leaf.kind != paragraph && b.leaf.kind != table {
		if all && b.goOn() {
			return
		}
		b.close()
	}
	b.start(matched)
}

// indentation is the number of spaces at pos.
func (b *blocks) indentation() int {
	n := 0
	for b.pos+n < len(b.line) && b.line[b.pos+n] == ' ' {
		n++
	}
	return n
}

func (b *blocks) rest() string  { return b.line[min(b.pos, len(b.line)):] }
func (b *blocks) isBlank() bool { return b.pos+b.indentation() >= len(b.line) }
func (b *blocks) inside() *container {
	if len(b.open) == 0 {
		return &b.root
	}
	return &b.open[len(b.open)-1]
}

// match walks the open containers that the line continues.
func (b *blocks) match() int {
	for i := range b.open {
		c, indent := &b.open[i], b.indentation()
		switch {
		case c.quote && indent <= 3 && strings.HasPrefix(b.line[b.pos+indent:], ">"):
			b.pos += indent + 1
			if strings.HasPrefix(b.rest(), " ") {
				b.pos++
			}
		case c.quote:
			return i
		case b.isBlank():
			if c.ends && c.fresh {
				return i
			}
		case indent >= c.indent:
			b.pos += c.indent
		default:
			return i
		}
	}
	return len(b.open)
}

// goOn gives the line to the open leaf, which is not a paragraph, unless it ended before the line.
func (b *blocks) goOn() bool {
	l := b.leaf
	switch l.kind {
	case fence:
		if b.closesFence(l) {
			b.close()
			return true
		}
		s := b.rest()
		if strings.HasPrefix(b.raw, b.line[:min(b.pos, len(b.line))]) {
			s = expand(b.raw[min(b.pos, len(b.raw)):]) // tabs count from where the code begins
		}
		n := 0
		for n < len(s) && n < l.fenceStart && s[n] == ' ' {
			n++
		}
		b.proceed(s[n:])
		return true
	case indented:
		if b.isBlank() {
			b.proceed(strings.Repeat(" ", max(0, len(b.rest())-4)))
			return true
		}
		if b.indentation() < 4 {
			return false
		}
		b.proceed(b.rest()[4:])
		return true
	case html:
		if l.htmlEnd == "" && b.isBlank() {
			return false
		}
		b.proceed(b.rest())
		if endsHTML(b.rest(), l.htmlEnd) {
			b.close()
		}
		return true
	}
	return false
}

// proceed appends a line to the open leaf.
func (b *blocks) proceed(s string) {
	l := b.leaf
	l.lines, l.size = append(l.lines, s), l.size+len(s)+1
	switch l.kind {
	case paragraph:
		if l.size > maxParagraph {
			b.split()
		}
	case table:
		if len(l.lines) >= maxRows {
			b.split()
		}
	case fence, indented, html:
		if len(l.lines) >= maxPiece || l.size >= 4*maxLine {
			b.split()
		}
	}
}

// split closes the open leaf and opens another that continues it.
func (b *blocks) split() {
	l := *b.leaf
	b.close()
	l.lines, l.size, l.gap, l.joined, l.layout, l.before = nil, 0, false, true, layout{}, b.out[len(b.out)-1]
	l.cells = nil
	if l.head == nil {
		l.head = l.before
	}
	l.frame = later(l.frame)
	if l.kind == indented {
		// Blank lines at the end belong to the code only if more code follows.
		prev := b.out[len(b.out)-1]
		for n := len(prev.lines); n > 1 && strings.TrimSpace(prev.lines[n-1]) == ""; n-- {
			l.lines = append([]string{prev.lines[n-1]}, l.lines...)
			prev.lines = prev.lines[:n-1]
		}
	}
	b.leaf = &l
}

// later is a frame for a block that is not the first in its containers.
func later(frame []cell) []cell {
	out := append([]cell(nil), frame...)
	for i := range out {
		out[i].first = false
	}
	return out
}

// close ends the open leaf.
func (b *blocks) close() {
	l := b.leaf
	if l == nil {
		return
	}
	b.leaf = nil
	if l.kind == indented {
		for n := len(l.lines); n > 0 && strings.TrimSpace(l.lines[n-1]) == ""; n-- {
			l.lines, b.blank = l.lines[:n-1], true
		}
	}
	if l.joined && len(l.lines) == 0 {
		return
	}
	b.out = append(b.out, l)
}

// closeTo ends the containers behind the first n, and the leaf in them.
func (b *blocks) closeTo(n int) {
	if n == len(b.open) {
		return
	}
	b.close()
	for len(b.open) > n {
		c := b.open[len(b.open)-1]
		b.open = b.open[:len(b.open)-1]
		b.inside().last = nil
		if !c.quote {
			b.inside().last = &sibling{c.marker, c.number}
		}
	}
}

// begin opens a leaf in the containers that are open.
func (b *blocks) begin(k kind) *leaf {
	b.close()
	l := &leaf{kind: k, gap: b.gapBefore(k)}
	for i := range b.open {
		c := &b.open[i]
		l.frame = append(l.frame, c.cell(b.bulletDepth(i)))
		c.fresh, c.drawn = false, true
	}
	b.inside().last = nil
	b.any, b.blank, b.lastTop, b.depth = true, false, k, len(b.open)
	b.leaf = l
	return l
}

// gapBefore reports whether a blank line comes before a new leaf: where the source has one, and around
// blocks that are always separate.
func (b *blocks) gapBefore(k kind) bool {
	if !b.any || b.blank {
		return b.any
	}
	apart := func(k kind) bool { return k == heading || k == fence || k == table || k == rule }
	return len(b.open) == 0 && b.depth == 0 && (apart(k) || apart(b.lastTop)) || len(b.open) == 0 && b.depth > 0
}

func (b *blocks) bulletDepth(n int) int {
	depth := 0
	for _, c := range b.open[:n] {
		if !c.quote {
			depth++
		}
	}
	return depth
}
