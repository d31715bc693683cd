package line

import (
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// place is a position between two characters of the spans.
type place struct{ span, at int }

// wrapper breaks one paragraph.
type wrapper struct {
	f     Format
	spans []Span
	lines []string

	scratch []Span // of the line that is being written

	first, rest           string // the prefixes, written
	firstCells, restCells int

	room     int   // cells for text in the line at hand
	start    place // where it begins
	cells    int   // in it so far
	brk      place // the last place where it may be broken: the text before it stays
	next     place // where the next line starts, behind spaces
	nextAt   int   // cells up to next
	breaks   bool  // there is such a place
	wide     bool  // the last character was an ideograph
	swallow  bool  // spaces at the start of a wrapped line vanish
	begun    bool  // the first line was written
	finished bool
}

// prefix writes a prefix that leaves at least half of the width to the text, and its cells.
func (w *wrapper) prefix(spans []Span) (string, int) {
	room := w.f.Width - max(1, (w.f.Width+1)/2)
	n := Width(spans)
	if n == 0 {
		return "", 0
	}
	if n > room {
		spans, n = cut(spans, room)
	}
	var b strings.Builder
	o := output{b: &b}
	for _, s := range spans {
		o.text(s, s.Text)
	}
	o.end()
	return b.String(), n
}

// cut keeps the start of spans that fits into room cells.
func cut(spans []Span, room int) ([]Span, int) {
	var out []Span
	n := 0
	for _, s := range spans {
		s.Text = term.Truncate(s.Text, room-n, "")
		n += term.Width(s.Text)
		out = append(out, s)
	}
	return out, n
}

func (w *wrapper) run() {
	for i := range w.spans {
		for j := 0; j < len(w.spans[i].Text); {
			j = w.step(i, j)
			if w.finished {
				return
			}
		}
	}
	w.emit(w.start, place{len(w.spans), 0})
}

// step takes the character at a place and returns the place behind it in the same span.
func (w *wrapper) step(i, j int) int {
	s := w.spans[i].Text
	c := s[j]
	if c == '\n' {
		w.emit(w.start, place{i, j})
		w.begin(place{i, j + 1}, 0)
		w.swallow = false
		return j + 1
	}
	n, cells := 1, 1
	if c < ' ' || c >= 0x7f || j+1 < len(s) && s[j+1] >= utf8.RuneSelf {
		n, cells = term.Cluster(s[j:], w.cells)
		if c < ' ' {
			cells = 0 // never written, see output
		}
	}
	here, behind := place{i, j}, place{i, j + n}
	if c == ' ' && n == 1 && w.f.Breaking == Words {
		w.space(here, behind)
		return j + n
	}
	if w.f.Breaking == Words && cells == 2 && w.cells > 0 && !closing(s[j:]) || w.wide && cells > 0 && c >= ' ' &&
		!closing(s[j:]) {
		w.mark(here, here)
	}
	for w.cells+cells > w.room && w.start != here && !w.finished {
		w.overflow(here)
	}
	w.cells += cells
	w.swallow, w.wide = false, w.f.Breaking == Words && cells == 2
	return j + n
}

// space takes a space between words. At the start of a wrapped line, and at the end of any, it vanishes.
func (w *wrapper) space(here, behind place) {
	w.wide = false
	switch {
	case w.swallow:
		w.start = behind
		return
	case w.breaks && w.next == here && w.brk != here:
		w.next = behind // one more space of the same run
	default:
		w.brk, w.next, w.breaks = here, behind, true
	}
	w.cells++
	w.nextAt = w.cells
}

// mark notes a place where the line may be broken without anything vanishing.
func (w *wrapper) mark(here, next place) {
	if w.breaks && w.next == here {
		return // a space is there
	}
	w.brk, w.next, w.breaks, w.nextAt = here, next, true, w.cells
}

// overflow ends the line before the character at here, which does not fit any more.
func (w *wrapper) overflow(here place) {
	switch {
	case w.f.Breaking == None:
		w.truncate()
	case w.breaks && (w.brk != w.start || w.next != w.start):
		if w.brk != w.start { // else there are only spaces
			w.emit(w.start, w.brk)
		}
		w.begin(w.next, w.cells-w.nextAt)
	default:
		w.emit(w.start, here)
		w.begin(here, 0)
	}
}

// begin starts another line at a place; cells of it were walked already.
func (w *wrapper) begin(at place, cells int) {
	w.start, w.cells, w.breaks, w.wide, w.swallow = at, cells, false, false, cells == 0
	if w.begun {
		w.room = w.f.Width - w.restCells
	}
}

// truncate ends the only line with a sign that something is missing.
func (w *wrapper) truncate() {
	w.finished = true
	kept, n := between(nil, w.spans, w.start, place{len(w.spans), 0}), 0
	kept, n = cut(kept, w.room-1)
	if last := len(kept) - 1; last >= 0 {
		kept = append(kept, Span{Text: "…", Style: kept[last].Style})
	}
	w.write(kept, n+1)
}

// emit writes the line between two places.
func (w *wrapper) emit(from, to place) {
	w.scratch = between(w.scratch[:0], w.spans, from, to)
	spans := w.scratch
	if w.f.Breaking == Words {
		spans = trimRight(spans)
	}
	w.write(spans, -1)
}

// trimRight drops the spaces at the end of a line.
func trimRight(spans []Span) []Span {
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		if last.Text = strings.TrimRight(last.Text, " "); last.Text != "" {
			break
		}
		spans = spans[:len(spans)-1]
	}
	return spans
}

// write appends one line. cells is its width without the prefix, or -1 if it is to be counted.
func (w *wrapper) write(spans []Span, cells int) {
	prefix, prefixCells := w.rest, w.restCells
	if !w.begun {
		prefix, prefixCells, w.begun = w.first, w.firstCells, true
	}
	var b strings.Builder
	b.WriteString(prefix)
	o := output{b: &b, under: w.f.FillStyle, narrow: w.f.Width-prefixCells < 2}
	for _, s := range spans {
		o.text(s, s.Text)
	}
	if w.f.Fill {
		if cells < 0 {
			cells = Width(spans)
		}
		o.text(Span{}, strings.Repeat(" ", max(0, w.f.Width-prefixCells-cells)))
	}
	o.end()
	w.lines = append(w.lines, b.String())
}

// between appends the spans between two places.
func between(out, spans []Span, from, to place) []Span {
	for i := from.span; i <= to.span && i < len(spans); i++ {
		s := spans[i]
		end := len(s.Text)
		if i == to.span {
			end = to.at
		}
		at := 0
		if i == from.span {
			at = from.at
		}
		if at < end {
			s.Text = s.Text[at:end]
			out = append(out, s)
		}
	}
	return out
}

// closing reports punctuation of East Asian text that may not begin a line.
func closing(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r > 0x2000 && strings.ContainsRune("、。，．・：；？！）］｝」』】〉》〕ー々’”…", r) || r < 0x80 && strings.ContainsRune(
		",.;:?!)]}", r)
}
