// Package view draws the shapes of event.View, one renderer for each.
//
// The words: the header is the one line with a call's name, title and state; below it is the
// body, made of rows, each of which takes one or more lines. Short is a glance, with a note of
// the rest; expanded is everything.
//
// Promises: every shape is drawn, also one that this version does not know; nothing is wider than asked;
// foreign text is escaped, and of programs' output only colours are kept. Only the lines asked for are
// laid out ([Block.Slice]), so that an expanded view of any size costs no more than its visible lines.
package view

import (
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/syntax"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Options say how a view is drawn.
type Options struct {
	Width    int
	Theme    *theme.Theme // nil: no styles
	Links    bool         // the terminal understands OSC 8
	State    theme.State
	Tool     string        // the name of the tool, for the header
	Title    string        // of the call, from its events
	Expanded bool          // everything, not only a glance
	Live     string        // output of a call that still runs, as it came
	Duration time.Duration // of the call, or how long it runs already
	Key      string        // the key that expands, for the note about left out lines ("ctrl+o")
	Spinner  int           // 1 + the picture of the spinner to show while it runs; 0: the symbol of the state
}

var noTheme = &theme.Theme{Bare: true}

func (o Options) theme() *theme.Theme {
	if o.Theme == nil {
		return noTheme
	}
	return o.Theme
}

// Render draws the body below a call's header. A nil view draws the live output, if there is any.
func Render(v event.View, o Options) []string {
	b := New(v, o)
	return b.Slice(0, b.Height())
}

// Block is the body of a view, of which only a part is laid out at a time. It is not safe for use by
// several goroutines.
type Block struct {
	o       Options
	t       *theme.Theme
	width   int
	rows    []row
	offsets []int // of the rows' lines: row i is [offsets[i], offsets[i+1])
	lang    *syntax.Language
	states  [2][]syntax.State // behind each row, of the old and the new text
}

// row is a unit of layout.
type row struct {
	first []line.Span // is before its first line, and as blanks before the others
	text  string      // escaped, without tabs and newlines
	style theme.Style
	brk   line.Breaking
	side  side
	words [][2]int    // bytes of text that differ from the line it is paired with
	spans []line.Span // instead of text and style
	drawn bool        // text is a line that is laid out already
}

// side says which text a row is of, where there are two.
type side int

const (
	both side = iota
	before
	after
	none // no code
)

// New prepares a view for drawing in parts.
func New(v event.View, o Options) *Block {
	b := &Block{o: o, t: o.theme(), width: max(o.Width, 1)}
	switch v := v.(type) {
	case event.Diff:
		b.diff(v)
	case event.Command:
		b.command(v)
	case event.Listing:
		b.listing(v)
	case event.TextView:
		b.text(v)
	case event.Todo:
		b.todo(v)
	case event.Image:
		b.image(v)
	case event.Subagent:
		b.subagent(v)
	case event.UnknownView:
		b.unknown(v)
	case nil:
		b.output(o.Live, liveTail, false)
	}
	return b
}

// alone reports that no header names the call and its state.
func (b *Block) alone() bool { return b.o.Title == "" && b.o.Tool == "" }

// Height is the number of lines.
func (b *Block) Height() int {
	if len(b.offsets) != len(b.rows)+1 {
		b.offsets = make([]int, 1, len(b.rows)+1)
		for i := range b.rows {
			b.offsets = append(b.offsets, b.offsets[i]+b.count(&b.rows[i]))
		}
	}
	return b.offsets[len(b.rows)]
}

// Slice is the lines from (from 0) up to but without to; lines outside of [0, Height) are left out.
func (b *Block) Slice(from, to int) []string {
	from, to = max(from, 0), min(to, b.Height())
	if from >= to {
		return nil
	}
	out := make([]string, 0, to-from)
	i, _ := slices.BinarySearch(b.offsets, from+1)
	for i--; i < len(b.rows) && b.offsets[i] < to; i++ {
		lines := b.draw(i)
		out = append(out, lines[max(0, from-b.offsets[i]):min(len(lines), to-b.offsets[i])]...)
	}
	return out
}

// count is the number of lines of a row.
func (b *Block) count(r *row) int {
	if r.drawn || r.brk == line.None {
		return 1
	}
	f := b.format(r)
	if room := b.width - line.Width(r.first); len(r.text) <= room && r.spans == nil {
		return 1 // a byte is at most one cell
	}
	if r.spans != nil {
		return len(line.Wrap(nil, r.spans, f))
	}
	return len(line.Wrap(nil, line.Plain(r.text), f))
}

func (b *Block) format(r *row) line.Format {
	f := line.Format{Width: b.width, First: r.first, Breaking: r.brk}
	if n := line.Width(r.first); n > 0 {
		f.Rest = line.Plain(strings.Repeat(" ", n))
	}
	if r.side == before || r.side == after {
		f.FillStyle = r.style
		f.Fill = b.t.Diff.Fill
	}
	return f
}

// draw lays a row out.
func (b *Block) draw(i int) []string {
	r := &b.rows[i]
	switch {
	case r.drawn:
		return []string{r.text}
	case r.spans != nil:
		return line.Wrap(nil, r.spans, b.format(r))
	case b.lang != nil && r.side != none, len(r.words) > 0:
		return line.Wrap(nil, b.paint(i), b.format(r))
	}
	return line.Wrap(nil, []line.Span{{Text: r.text, Style: r.style}}, b.format(r))
}

// add appends a row of one span.
func (b *Block) add(style theme.Style, text string, brk line.Breaking) {
	b.rows = append(b.rows, row{text: text, style: style, brk: brk, side: none})
}

// fold keeps the first head and the last tail rows, and says how many it left out. Expanded views are
// not folded.
func (b *Block) fold(head, tail int, what string) {
	hidden := len(b.rows) - head - tail
	if b.o.Expanded || hidden <= 1 {
		return
	}
	note := row{spans: b.note(hidden, what), brk: line.None, side: none}
	b.rows = append(append(b.rows[:head:head], note), b.rows[len(b.rows)-tail:]...)
}

// note says that there is more, and how to see it.
func (b *Block) note(hidden int, what string) []line.Span {
	text := "… " + count(hidden, "more "+what)
	if b.o.Key != "" {
		text += " (" + b.o.Key + ")"
	}
	return []line.Span{{Text: text, Style: b.t.Dim}}
}
