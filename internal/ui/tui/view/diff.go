package view

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/syntax"
	"github.com/lathe-dev/lathe/internal/base/unified"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
)

// diff draws a change: line numbers, signs, and the changes within lines.
func (b *Block) diff(v event.Diff) {
	var list []unified.Line
	for _, d := range v.Each() {
		if len(v.Files) > 0 {
			list = append(list, unified.Line{Sign: '@', Text: term.EscapeLine(d.Path)})
		}
		list = append(list, parse(d.Unified)...)
	}
	if len(list) == 0 {
		b.add(b.t.Dim, cmp.Or(strings.TrimSpace(term.EscapeLine(v.Unified)), "no change"), line.Words)
		return
	}
	if len(v.Files) == 0 {
		b.lang = syntax.ForPath(v.Path)
	}
	digits := 1
	for _, l := range list {
		digits = max(digits, len(strconv.Itoa(number(l))))
	}
	words := unified.Words(list)
	for i, l := range list {
		b.diffRow(l, i, digits, words[i])
	}
	b.fold(shortDiff, 0, "line")
}

// number is the number of a line in the old text for one that is removed, else in the new one.
func number(l unified.Line) int { return cmp.Or(l.New, l.Old) }

func (b *Block) diffRow(l unified.Line, i, digits int, words [][2]int) {
	d := b.t.Diff
	mark := line.Span{Text: fmt.Sprintf("%*d ", digits, number(l)), Style: d.Number}
	r := row{text: l.Text, brk: line.Cells, words: words}
	switch l.Sign {
	case '@':
		if i == 0 && l.Text == "" {
			return
		}
		r.first, r.side, r.style, r.brk = []line.Span{{Text: strings.Repeat(" ", digits) + " ⋯ ", Style: d.Hunk}}, none,
			d.Hunk, line.None
	case '\\':
		r.first, r.side, r.style = []line.Span{{Text: strings.Repeat(" ", digits+3)}}, none, d.Hunk
	case '+':
		r.first, r.side, r.style = []line.Span{mark, {Text: "+ ", Style: d.AddedMark}}, after, d.Added
	case '-':
		r.first, r.side, r.style = []line.Span{mark, {Text: "- ", Style: d.RemovedMark}}, before, d.Removed
	default:
		r.first, r.side, r.style = []line.Span{mark, {Text: "  "}}, both, b.t.Text
	}
	b.rows = append(b.rows, r)
}

// parse reads a unified diff of one file, escaped and without tabs.
func parse(diff string) []unified.Line {
	list := unified.Parse(term.Escape(diff))
	for i := range list {
		list[i].Text = untab(list[i].Text, tabStop)
	}
	return list
}

// paint is the text of a row in its colours: those of its language, with the changed words over them.
func (b *Block) paint(i int) []line.Span {
	r := &b.rows[i]
	var spans []line.Span
	if b.lang != nil && r.side != none && (r.side == both || b.t.Diff.Fill) {
		b.lang.Line(b.state(i), r.text, func(k syntax.Kind, text string) {
			spans = append(spans, line.Span{Text: text, Style: r.style.With(b.t.Paint(k))})
		})
	} else {
		spans = []line.Span{{Text: r.text, Style: r.style}}
	}
	if len(r.words) == 0 {
		return spans
	}
	over := b.t.Diff.AddedWord
	if r.side == before {
		over = b.t.Diff.RemovedWord
	}
	var out []line.Span
	at := 0
	for _, s := range spans {
		for s.Text != "" {
			n, inside := within(r.words, at, len(s.Text))
			piece := line.Span{Text: s.Text[:n], Style: s.Style}
			if inside {
				piece.Style = r.style.With(over)
			}
			out = append(out, piece)
			s.Text, at = s.Text[n:], at+n
		}
	}
	return out
}

// within says how many of the next n bytes from at are alike: inside one of the ranges, or outside of all.
func within(ranges [][2]int, at, n int) (int, bool) {
	for _, r := range ranges {
		switch {
		case at < r[0]:
			return min(n, r[0]-at), false
		case at < r[1]:
			return min(n, r[1]-at), true
		}
	}
	return n, false
}

// state is the state of highlighting before a row. The old and the new text each have their own; a hunk
// starts over.
func (b *Block) state(i int) syntax.State {
	side := 1
	if b.rows[i].side == before {
		side = 0
	}
	known := b.states[side]
	for len(known) <= i {
		j := len(known) // the state behind row j
		var s syntax.State
		if j > 0 {
			s = known[j-1]
		}
		r := &b.rows[j]
		switch {
		case r.side == none:
			s = syntax.State{}
		case r.side == both || r.side == before == (side == 0):
			s = b.lang.Line(s, r.text, func(syntax.Kind, string) {})
		}
		known = append(known, s)
	}
	b.states[side] = known
	if i == 0 {
		return syntax.State{}
	}
	return known[i-1]
}
