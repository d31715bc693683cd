package editor

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// markWidth is the width of the mark before the text: "> ".
const markWidth = 2

// finding is the mark of the search.
const finding = "search: "

// textWidth leaves a column for the cursor behind a full row.
func (e *Editor) textWidth() int { return max(e.width-markWidth-1, 1) }

// mark is the sign before the text. Modes are told apart without colours.
func (e *Editor) mark() (string, theme.Style) {
	t := e.opt.Theme
	switch e.mode {
	case Shell:
		return "! ", t.Warn
	case Memory:
		return "# ", t.Info
	}
	return "> ", t.Accent
}

// View lays the prompt out in width columns and at most maxHeight rows, at least one. x, y is where the
// terminal's cursor belongs.
func (e *Editor) View(width, maxHeight int) (lines []string, x, y int) {
	e.width, maxHeight = max(width, 1), max(maxHeight, 1)
	if e.find != nil {
		return e.viewFind(maxHeight)
	}
	room := e.textWidth()
	row, cell := e.cursorRow(room)
	total := 0
	for i := range e.buf.lines {
		total += len(e.rows(i, room))
	}
	height := min(total, maxHeight)
	e.top = min(max(e.top, row-height+1), row, total-height)
	mark, style := e.mark()
	for i, l := range e.visibleRows(room, height) {
		head := strings.Repeat(" ", markWidth)
		if e.top+i == 0 {
			head = style.Render(mark)
		}
		lines = append(lines, cut(head, l, e.width))
	}
	e.ghost(lines, row-e.top, cell, room)
	return lines, min(markWidth+cell, e.width-1), row - e.top
}

// cut joins the mark and the text in a terminal too narrow for both.
func cut(head, text string, width int) string {
	if width <= markWidth {
		return text
	}
	return head + text
}

// cursorRow is the row, counted from the first of all, and the cell of the cursor.
func (e *Editor) cursorRow(room int) (row, cell int) {
	for i := range e.buf.cursor.line {
		row += len(e.rows(i, room))
	}
	r, cell := e.cellOf(e.buf.cursor, room)
	return row + r, cell
}

// visibleRows draws height rows from the first one that is shown.
func (e *Editor) visibleRows(room, height int) []string {
	var out []string
	skip := e.top
	for i := 0; i < len(e.buf.lines) && len(out) < height; i++ {
		rows := e.rows(i, room)
		if skip >= len(rows) {
			skip -= len(rows)
			continue
		}
		for r := skip; r < len(rows) && len(out) < height; r++ {
			end := len(e.buf.lines[i].text)
			if r+1 < len(rows) {
				end = rows[r+1]
			}
			out = append(out, e.drawRow(e.buf.lines[i].text[rows[r]:end], room))
		}
		skip = 0
	}
	return out
}

func (e *Editor) drawRow(s string, room int) string {
	if simple(s) {
		return s[:min(len(s), room)]
	}
	var b strings.Builder
	for at := 0; s != ""; {
		n, cells, shown := e.glyph(s, at, room)
		if at+cells > room {
			break // the blank that hangs
		}
		if isChip(s) {
			shown = e.opt.Theme.Badge.Render(shown)
		}
		b.WriteString(shown)
		s, at = s[n:], at+cells
	}
	return b.String()
}

// ghost adds suggested text: the placeholder, or the arguments of a command.
func (e *Editor) ghost(lines []string, row, cell, room int) {
	t := e.opt.Theme
	text, style := e.hint(), t.Ghost
	if e.buf.empty() {
		text, style = e.opt.Placeholder, t.Placeholder
		switch e.mode {
		case Shell:
			text = "your command"
		case Memory:
			text = "a line for the memory file"
		}
	}
	if text == "" || row < 0 || row >= len(lines) || e.width <= markWidth {
		return
	}
	lines[row] += style.Render(term.Truncate(term.EscapeLine(text), room+1-cell, "…"))
}

// viewFind draws the search: the query, and below it the match.
func (e *Editor) viewFind(maxHeight int) (lines []string, x, y int) {
	t := e.opt.Theme
	query := term.EscapeLine(e.find.query)
	head := term.Truncate(finding, e.width-1, "")
	room := max(e.width-term.Width(head)-1, 0)
	for term.Width(query) > room && query != "" { // the end is where one types
		n, _ := term.Cluster(query, 0)
		query = query[n:]
	}
	x = term.Width(head) + term.Width(query)
	lines = append(lines, t.Accent.Render(head)+query)
	f := e.find
	if f.selected >= len(f.items) {
		if f.query != "" && maxHeight > 1 {
			lines = append(lines, t.Dim.Render(term.Truncate("  no earlier prompt matches", e.width, "…")))
		}
		return lines, x, 0
	}
	count := fmt.Sprintf("  %d of %d", f.selected+1, len(f.items))
	if len(f.items) >= findLimit {
		count += "+"
	}
	lines[0] += t.Dim.Render(term.Truncate(count, max(e.width-x, 0), ""))
	text := f.items[f.selected].Text
	for s := range strings.SplitSeq(text[:min(len(text), 4000)], "\n") {
		if len(lines) >= maxHeight {
			break
		}
		lines = append(lines, t.Dim.Render(term.Truncate("  "+term.EscapeLine(clean(s)), e.width, "…")))
	}
	return lines, x, 0
}
