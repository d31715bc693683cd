package gfm

import (
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a leaf block.
type Kind int

// Kinds.
const (
	Paragraph Kind = iota
	Heading
	Fence    // fenced code
	Indented // indented code
	HTML     // shown as the text it is
	Rule
	Table
	Empty // a list item without anything in it
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

// Leaf is a block of text, the unit that is laid out. Once closed it does not change.
type Leaf[T any] struct {
	Kind    Kind
	Lines   []string // its text: of a table the header, the alignments and the rows
	Level   int      // of a heading, 1 to 6
	Info    string   // of a fence
	Columns []Align  // of a table
	Frame   []Cell   // the containers around it, outermost first
	Gap     bool     // a blank line comes before it
	Joined  bool     // it continues the leaf before it: the text was too long for one
	Head    *Leaf[T] // of a joined one: the first of them
	Before  *Leaf[T] // of a joined one: the one it continues
	Own     T        // what the caller keeps with it

	fenceChar  byte
	fenceLen   int
	fenceStart int    // columns that the fence was indented
	htmlEnd    string // the end of an HTML block; "" a blank line
	size       int    // bytes of its lines
}

// ordered reports an item of a numbered list.
func (c *container) ordered() bool { return c.marker == '.' || c.marker == ')' }

// bullets are the markers of lists in one another.
var bullets = [...]string{"•", "◦", "▪"}

// cell describes a container. depth counts the items around it.
func (c *container) cell(depth int) Cell {
	if c.quote {
		return Cell{Quote: true, First: !c.drawn}
	}
	m := bullets[depth%len(bullets)]
	if c.ordered() {
		m = strconv.Itoa(c.number) + string(c.marker)
	}
	return Cell{Marker: m, First: !c.drawn, Task: c.task}
}

// Cell is one container of a leaf.
type Cell struct {
	Quote  bool   // else it is a list item
	Marker string // of an item: the bullet or number
	First  bool   // this leaf is the first in it, so its first line carries the marker
	Task   byte   // of an item: 0, ' ' or 'x'
}

// MaxLine is how many bytes of a line a caller gives to Add at most; it breaks longer ones.
const MaxLine = 8 << 10

// Limits, so that hostile text costs no more than other text.
const (
	maxParagraph = 4 << 10 // bytes of a paragraph, before the rest becomes another
	maxDepth     = 24      // containers in one another; deeper ones are text
	maxPiece     = 64      // lines of code that are laid out as one leaf
	maxRows      = 32      // rows of a table that are; the first ones set the widths of its columns
)

// Blocks turns lines into leaves, one line at a time. It follows the algorithm of CommonMark 0.31
// (appendix "A parsing strategy"), with the tables of GFM. Each line is read once.
type Blocks[T any] struct {
	root    container
	open    []container
	Leaf    *Leaf[T]   // the open one, not in Out yet
	blank   bool       // the line before was blank
	any     bool       // there was a leaf already
	Out     []*Leaf[T] // those that are closed; the caller takes them
	lastTop Kind       // of the leaf before, for gaps
	depth   int        // containers of the leaf before

	raw  string // the line at hand
	line string // the same without tabs
	pos  int
}

// Clone copies the state, so that an unfinished line can be tried.
func (b *Blocks[T]) Clone() *Blocks[T] {
	c := *b
	c.open = append([]container(nil), b.open...)
	c.Out = nil
	if b.Leaf != nil {
		l := *b.Leaf
		l.Lines = slices.Clip(l.Lines)
		c.Leaf = &l
	}
	return &c
}

// End closes everything that is open.
func (b *Blocks[T]) End() {
	b.closeTo(0)
	b.close()
}

// Add takes one line without its newline. broken says that the line continues the last one.
func (b *Blocks[T]) Add(s string, broken bool) {
	b.raw, b.line, b.pos = s, expand(s), 0
	if broken && b.Leaf != nil {
		b.Proceed(b.line)
		return
	}
	matched := b.match()
	all := matched == len(b.open)
	if b.Leaf != nil && b.Leaf.Kind != Paragraph && b.Leaf.Kind != Table {
		if all && b.goOn() {
			return
		}
		b.close()
	}
	b.start(matched)
}

// indentation is the number of spaces at pos.
func (b *Blocks[T]) indentation() int {
	n := 0
	for b.pos+n < len(b.line) && b.line[b.pos+n] == ' ' {
		n++
	}
	return n
}

func (b *Blocks[T]) rest() string  { return b.line[min(b.pos, len(b.line)):] }
func (b *Blocks[T]) isBlank() bool { return b.pos+b.indentation() >= len(b.line) }
func (b *Blocks[T]) inside() *container {
	if len(b.open) == 0 {
		return &b.root
	}
	return &b.open[len(b.open)-1]
}

// match walks the open containers that the line continues.
func (b *Blocks[T]) match() int {
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
func (b *Blocks[T]) goOn() bool {
	l := b.Leaf
	switch l.Kind {
	case Fence:
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
		b.Proceed(s[n:])
		return true
	case Indented:
		if b.isBlank() {
			b.Proceed(strings.Repeat(" ", max(0, len(b.rest())-4)))
			return true
		}
		if b.indentation() < 4 {
			return false
		}
		b.Proceed(b.rest()[4:])
		return true
	case HTML:
		if l.htmlEnd == "" && b.isBlank() {
			return false
		}
		b.Proceed(b.rest())
		if endsHTML(b.rest(), l.htmlEnd) {
			b.close()
		}
		return true
	}
	return false
}

// Proceed appends a line to the open leaf.
func (b *Blocks[T]) Proceed(s string) {
	l := b.Leaf
	l.Lines, l.size = append(l.Lines, s), l.size+len(s)+1
	switch l.Kind {
	case Paragraph:
		if l.size > maxParagraph {
			b.Split()
		}
	case Table:
		if len(l.Lines) >= maxRows {
			b.Split()
		}
	case Fence, Indented, HTML:
		if len(l.Lines) >= maxPiece || l.size >= 4*MaxLine {
			b.Split()
		}
	}
}

// Split closes the open leaf and opens another that continues it.
func (b *Blocks[T]) Split() {
	l := *b.Leaf
	b.close()
	var own T
	l.Lines, l.size, l.Gap, l.Joined, l.Own, l.Before = nil, 0, false, true, own, b.Out[len(b.Out)-1]
	if l.Head == nil {
		l.Head = l.Before
	}
	l.Frame = Later(l.Frame)
	if l.Kind == Indented {
		// Blank lines at the end belong to the code only if more code follows.
		prev := b.Out[len(b.Out)-1]
		for n := len(prev.Lines); n > 1 && strings.TrimSpace(prev.Lines[n-1]) == ""; n-- {
			l.Lines = append([]string{prev.Lines[n-1]}, l.Lines...)
			prev.Lines = prev.Lines[:n-1]
		}
	}
	b.Leaf = &l
}

// Later is a frame for a block that is not the first in its containers.
func Later(frame []Cell) []Cell {
	out := append([]Cell(nil), frame...)
	for i := range out {
		out[i].First = false
	}
	return out
}

// close ends the open leaf.
func (b *Blocks[T]) close() {
	l := b.Leaf
	if l == nil {
		return
	}
	b.Leaf = nil
	if l.Kind == Indented {
		for n := len(l.Lines); n > 0 && strings.TrimSpace(l.Lines[n-1]) == ""; n-- {
			l.Lines, b.blank = l.Lines[:n-1], true
		}
	}
	if l.Joined && len(l.Lines) == 0 {
		return
	}
	b.Out = append(b.Out, l)
}

// closeTo ends the containers behind the first n, and the leaf in them.
func (b *Blocks[T]) closeTo(n int) {
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
func (b *Blocks[T]) begin(k Kind) *Leaf[T] {
	b.close()
	l := &Leaf[T]{Kind: k, Gap: b.gapBefore(k)}
	for i := range b.open {
		c := &b.open[i]
		l.Frame = append(l.Frame, c.cell(b.bulletDepth(i)))
		c.fresh, c.drawn = false, true
	}
	b.inside().last = nil
	b.any, b.blank, b.lastTop, b.depth = true, false, k, len(b.open)
	b.Leaf = l
	return l
}

// gapBefore reports whether a blank line comes before a new leaf: where the source has one, and around
// blocks that are always separate.
func (b *Blocks[T]) gapBefore(k Kind) bool {
	if !b.any || b.blank {
		return b.any
	}
	apart := func(k Kind) bool { return k == Heading || k == Fence || k == Table || k == Rule }
	return len(b.open) == 0 && b.depth == 0 && (apart(k) || apart(b.lastTop)) || len(b.open) == 0 && b.depth > 0
}

func (b *Blocks[T]) bulletDepth(n int) int {
	depth := 0
	for _, c := range b.open[:n] {
		if !c.quote {
			depth++
		}
	}
	return depth
}
