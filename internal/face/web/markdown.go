package web

import (
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/gfm"
	"github.com/lathe-dev/lathe/internal/base/syntax"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// own is what is kept with a block: where highlighting is behind the last line of code.
type own struct{ after syntax.State }

type leaf = gfm.Leaf[own]

// mostOpen is how many bytes of blocks may be open before they are closed in the middle of a list or of code.
const mostOpen = 8 << 10

// Document is Markdown that grows. What is settled is sent once; only its tail is rendered again.
type document struct {
	escaper term.Escaper
	blocks  gfm.Blocks[own]
	links   gfm.Links
	partial string
	broken  bool

	raw     strings.Builder
	chunk   []*leaf // closed, but the next block may go on in their list or quote
	size    int     // bytes of chunk
	settled writer  // rendered, not taken yet
	missing bool    // it refers to a link that was not defined then
	top     int     // the level of the first heading, from which the others count; 0: there was none
}

func newDocument() *document { return &document{links: gfm.Links{}} }

// markdown renders a whole text.
func markdown(w *writer, text string) {
	d := newDocument()
	d.add(text)
	d.end()
	w.WriteString(d.settled.String())
}

// add takes text, which may be cut anywhere.
func (d *document) add(text string) {
	d.raw.WriteString(text)
	d.take(d.escaper.Next(text))
}

func (d *document) take(text string) {
	for text != "" {
		line, rest, ended := strings.Cut(text, "\n")
		d.partial, text = d.partial+line, rest
		for len(d.partial) > gfm.MaxLine {
			cut := strings.LastIndexByte(d.partial[:gfm.MaxLine], ' ') + 1
			for cut = max(cut, gfm.MaxLine/2); d.partial[cut]&0xc0 == 0x80; cut-- {
			}
			d.blocks.Add(d.partial[:cut], d.broken)
			d.partial, d.broken = d.partial[cut:], true
		}
		if ended {
			d.blocks.Add(d.partial, d.broken)
			d.partial, d.broken = "", false
		}
	}
	d.settle()
}

// settle renders the blocks that nothing can change any more.
func (d *document) settle() {
	for _, l := range d.blocks.Out {
		if l.Kind == gfm.Paragraph {
			if l.Lines, _ = d.links.Define(l.Lines); len(l.Lines) == 0 {
				l.Kind = gfm.Empty
			}
		}
		if apart := len(l.Frame) == 0 && !l.Joined; apart || d.size > mostOpen {
			d.flush()
		}
		d.chunk = append(d.chunk, l)
		for _, s := range l.Lines {
			d.size += len(s)
		}
	}
	d.blocks.Out = d.blocks.Out[:0]
}

func (d *document) flush() {
	d.render(&d.settled, d.chunk)
	d.chunk, d.size = nil, 0
}

// end marks the end of the text.
func (d *document) end() {
	d.take(d.escaper.End())
	if d.partial != "" {
		d.blocks.Add(d.partial, d.broken)
		d.partial = ""
	}
	d.blocks.End()
	d.settle()
	d.flush()
}

// changes are the HTML that was settled since the last call, and that of the tail, which the next call replaces.
func (d *document) changes() (settled, tail string) {
	settled = d.settled.String()
	d.settled.Reset()
	try := d.blocks.Clone()
	if shown := gfm.PartialLine(d.partial, try); shown != "" {
		try.Add(shown, d.broken)
	}
	try.End()
	for _, l := range try.Out {
		if l.Kind == gfm.Paragraph || l.Kind == gfm.Heading {
			l.Lines = gfm.CloseInline(l.Lines)
		}
	}
	var w writer
	d.render(&w, append(d.chunk[:len(d.chunk):len(d.chunk)], try.Out...))
	return settled, w.String()
}

// render writes blocks with the lists and quotes around them, all closed at the end.
func (d *document) render(w *writer, list []*leaf) {
	var open []gfm.Cell
	for i, l := range list {
		joined := l.Joined && i > 0
		if !joined {
			open = frame(w, open, l.Frame)
		}
		d.leaf(w, l, joined, i+1 < len(list) && list[i+1].Joined)
	}
	frame(w, open, nil)
}

// frame closes and opens lists, items and quotes to get from one block's containers to those of the next.
func frame(w *writer, open, want []gfm.Cell) []gfm.Cell {
	n := 0
	for n < len(open) && n < len(want) && !want[n].First && open[n].Quote == want[n].Quote {
		n++
	}
	for len(open) > n {
		last := open[len(open)-1]
		same := len(open) == n+1 && n < len(want) && !last.Quote && !want[n].Quote && ordered(last) == ordered(want[n])
		switch {
		case last.Quote:
			w.tag("</blockquote>")
		case same:
			w.tag("</li>")
			item(w, want[n])
			open[n] = want[n]
			n++
			continue
		case ordered(last):
			w.tag("</li></ol>")
		default:
			w.tag("</li></ul>")
		}
		open = open[:len(open)-1]
	}
	open = open[:len(open):len(open)]
	for _, c := range want[n:] {
		switch {
		case c.Quote:
			w.tag("<blockquote>")
		case ordered(c):
			w.tag("<ol>")
			item(w, c)
		default:
			w.tag("<ul>")
			item(w, c)
		}
		open = append(open, c)
	}
	return open
}

func ordered(c gfm.Cell) bool { return !c.Quote && c.Marker[0] < 0x80 }

func item(w *writer, c gfm.Cell) {
	switch {
	case !c.First:
		w.tag(`<li class="cont">`)
	case c.Task == 'x':
		w.tag(`<li class="task"><span class="box" role="img" aria-label="done">☑</span> `)
	case c.Task == ' ':
		w.tag(`<li class="task"><span class="box" role="img" aria-label="open">☐</span> `)
	case ordered(c):
		n, _ := strconv.Atoi(c.Marker[:len(c.Marker)-1])
		w.tag("<li")
		w.attr(" value=", strconv.Itoa(n))
		w.tag(">")
	default:
		w.tag("<li>")
	}
}

// leaf writes a block. joined: it goes on in the element of the one before; more: the next one goes on in its.
func (d *document) leaf(w *writer, l *leaf, joined, more bool) {
	switch l.Kind {
	case gfm.Paragraph:
		w.tag("<p>")
		d.inline(w, strings.Join(l.Lines, "\n"))
		w.tag("</p>")
	case gfm.Heading:
		headings := [...][2]markup{
			{"<h2>", "</h2>"}, {"<h3>", "</h3>"}, {"<h4>", "</h4>"}, {"<h5>", "</h5>"}, {"<h6>", "</h6>"}, {"<h6>", "</h6>"},
		}
		if d.top == 0 {
			d.top = l.Level
		}
		h := headings[min(max(l.Level-d.top, 0), 5)] // below those of the page
		w.tag(h[0])
		d.inline(w, strings.TrimRight(strings.Join(l.Lines, "\n"), " "))
		w.tag(h[1])
	case gfm.Fence, gfm.Indented, gfm.HTML:
		d.code(w, l, joined, more)
	case gfm.Rule:
		w.tag("<hr>")
	case gfm.Table:
		d.table(w, l, joined, more)
	}
}

func (d *document) code(w *writer, l *leaf, joined, more bool) {
	name := ""
	if l.Kind == gfm.Fence {
		name = language(l.Info)
	}
	if !joined {
		openCode(w, name)
	}
	var state syntax.State
	if l.Before != nil {
		state = l.Before.Own.after
	}
	lang := syntax.Find(name)
	for _, s := range l.Lines {
		state = highlight(w, lang, state, s)
		w.tag("\n")
	}
	l.Own.after = state
	if !more {
		closeCode(w)
	}
}

// language is the name in the info string of a fence: "go", "{.python}", "rust,ignore", "js title=x".
func language(info string) string {
	name := strings.TrimLeft(info, "{. ")
	if i := strings.IndexAny(name, " ,;:{}("); i >= 0 {
		name = name[:i]
	}
	return name
}

func (d *document) table(w *writer, l *leaf, joined, more bool) {
	if !joined {
		w.tag(`<div class="scroll" tabindex="0" role="region" aria-label="table"><table>`)
	}
	for i, row := range l.Lines {
		cell, end := markup("<td"), markup("</td>")
		if i == 0 && !l.Joined {
			cell, end = `<th scope="col"`, "</th>"
		}
		w.tag("<tr>")
		cells := gfm.Row(row)
		for j, a := range l.Columns {
			w.tag(cell)
			switch a {
			case gfm.Right:
				w.tag(` class="right"`)
			case gfm.Center:
				w.tag(` class="center"`)
			}
			w.tag(">")
			if j < len(cells) {
				d.inline(w, cells[j])
			}
			w.tag(end)
		}
		w.tag("</tr>")
	}
	if !more {
		w.tag("</table></div>")
	}
}
