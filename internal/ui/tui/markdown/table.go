package markdown

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/base/gfm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
)

// read makes the spans of the rows that are not read yet.
func (r *renderer) read(l *leaf) {
	for len(l.Own.cells) < len(l.Lines) {
		i := len(l.Own.cells)
		style := r.theme.Text
		if i == 0 && !l.Joined {
			style = r.theme.TableHead
		}
		row := make([][]line.Span, len(l.Columns))
		for j, c := range gfm.Row(l.Lines[i]) {
			if j < len(row) {
				row[j] = r.inline(l, c, style)
			}
		}
		l.Own.cells = append(l.Own.cells, row)
	}
}

const (
	columnGap  = 3 // cells of " │ "
	leastShare = 5 // cells of a column below which a table is stacked
)

// widths are the columns' widths in room cells, from the first rows of the table; nil if it has to be
// stacked.
func widths(cells [][][]line.Span, columns, room int) []int {
	natural, longest := make([]int, columns), make([]int, columns)
	for _, row := range cells {
		for j, c := range row {
			for text := range strings.SplitSeq(plain(c), "\n") {
				natural[j] = max(natural[j], term.Width(text))
				for word := range strings.FieldsSeq(text) {
					longest[j] = max(longest[j], term.Width(word))
				}
			}
		}
	}
	room -= columnGap * (columns - 1)
	total, least := 0, 0
	for j := range natural {
		natural[j] = max(natural[j], 1)
		total, least = total+natural[j], least+min(natural[j], leastShare)
	}
	switch {
	case total <= room:
		return natural
	case least > room:
		return nil
	}
	return share(natural, longest, room)
}

// share gives every column its least width, and the widest ones the rest, so that their rows get about
// equally long.
func share(natural, longest []int, room int) []int {
	out := make([]int, len(natural))
	rest := room
	for j := range natural {
		out[j] = min(natural[j], leastShare)
		rest -= out[j]
	}
	grow := func(limit func(j int) int) {
		for rest > 0 {
			at := -1
			for j := range out {
				if out[j] < limit(j) && (at < 0 || out[j] < out[at]) {
					at = j
				}
			}
			if at < 0 {
				return
			}
			out[at]++
			rest--
		}
	}
	grow(func(j int) int { return min(longest[j], room/2) }) // whole words first
	for rest > 0 {
		at := -1 // then the column whose text is longest for its width
		for j := range out {
			if out[j] < natural[j] && (at < 0 || natural[j]*out[at] > natural[at]*out[j]) {
				at = j
			}
		}
		if at < 0 {
			break
		}
		out[at]++
		rest--
	}
	return out
}

func plain(spans []line.Span) string {
	if len(spans) == 1 {
		return spans[0].Text
	}
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// table lays a table, or a part of one, out.
func (r *renderer) table(l *leaf, width int) []string {
	r.read(l)
	head := l
	if l.Joined {
		head = l.Head
		r.read(head)
	}
	first, rest := r.frame(l)
	room := max(1, width-max(line.Width(first), line.Width(rest)))
	cols := widths(head.Own.cells, len(head.Columns), room)
	if cols == nil {
		return r.stacked(l, head.Own.cells[0], width, first, rest)
	}
	var out []string
	for i, row := range l.Own.cells {
		out = r.row(out, row, cols, l.Columns, width, first, rest)
		first = rest
		if i == 0 && !l.Joined {
			out = append(out, r.tableRule(cols, width, rest))
		}
	}
	return out
}

// row lays one row out: the cells side by side, as many lines as the longest of them needs.
func (r *renderer) row(dst []string, row [][]line.Span, cols []int, columns []gfm.Align, width int, first,
	rest []line.Span,
) []string {
	cells, lines := make([][]string, len(cols)), 1
	for j := range cols {
		cells[j] = line.Wrap(nil, row[j], line.Format{Width: cols[j]})
		lines = max(lines, len(cells[j]))
	}
	bar := r.theme.Rule.Render("│")
	for i := range lines {
		var b strings.Builder
		b.WriteString(line.Join(width, first...))
		for j, w := range cols {
			text := ""
			if i < len(cells[j]) {
				text = cells[j][i]
			}
			if j > 0 {
				b.WriteString(" " + bar + " ")
			}
			writeCell(&b, text, w, columns[j], j == len(cols)-1)
		}
		dst = append(dst, strings.TrimRight(b.String(), " "))
		first = rest
	}
	return dst
}

func writeCell(b *strings.Builder, text string, w int, a gfm.Align, last bool) {
	room := max(0, w-term.Width(line.Strip(text)))
	before := 0
	switch a {
	case gfm.Right:
		before = room
	case gfm.Center:
		before = room / 2
	}
	b.WriteString(strings.Repeat(" ", before))
	b.WriteString(text)
	if !last {
		b.WriteString(strings.Repeat(" ", room-before))
	}
}

func (r *renderer) tableRule(cols []int, width int, rest []line.Span) string {
	var b strings.Builder
	for j, w := range cols {
		if j > 0 {
			b.WriteString("─┼─")
		}
		b.WriteString(strings.Repeat("─", w))
	}
	return line.Join(width, append(rest[:len(rest):len(rest)], line.Span{Text: b.String(), Style: r.theme.Rule})...)
}

// stacked lays the rows out one below the other, each cell on its own lines behind its column's name.
func (r *renderer) stacked(l *leaf, head [][]line.Span, width int, first, rest []line.Span) []string {
	rows := l.Own.cells
	var out []string
	if !l.Joined {
		rows = rows[1:]
		if len(rows) == 0 {
			rows = [][][]line.Span{make([][]line.Span, len(head))}
		}
	}
	for i, row := range rows {
		if i > 0 || l.Joined {
			out = append(out, line.Join(width, append(rest[:len(rest):len(rest)],
				line.Span{Text: "──", Style: r.theme.Rule})...))
		}
		for j, c := range row {
			spans := append(head[j][:len(head[j]):len(head[j])], line.Span{Text: ": ", Style: r.theme.TableHead})
			out = line.Wrap(out, append(spans, c...), line.Format{
				Width: width, First: first,
				Rest: append(rest[:len(rest):len(rest)], line.Span{Text: "  "}),
			})
			first = rest
		}
	}
	return out
}
