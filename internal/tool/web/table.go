package web

import "strings"

// cellsMax is how many columns a table has at most; a wider one is there for its layout.
const cellsMax = 50

func (w *writer) table(n *node, depth int) {
	rows, wide := [][]string(nil), 0
	if !w.layout(n, depth) {
		rows = w.rows(n, depth, nil)
	}
	for _, r := range rows {
		wide = max(wide, len(r))
	}
	if wide < 2 || wide > cellsMax {
		w.paragraph(n, depth)
		return
	}
	if c := find(n, "caption", depth); c != nil {
		w.node(c, depth+1)
	}
	w.line(2)
	for i, r := range rows {
		for len(r) < wide {
			r = append(r, "")
		}
		w.raw("| " + strings.Join(r, " | ") + " |")
		w.line(1)
		if i == 0 {
			w.raw("|" + strings.Repeat(" --- |", wide))
			w.line(1)
		}
	}
	w.line(2)
}

// layout reports a table that only arranges parts of the page: it says so, or its cells hold tables or headings.
func (w *writer) layout(n *node, depth int) bool {
	if role := n.attr("role"); role == "presentation" || role == "none" {
		return true
	}
	for _, c := range n.shallow(depth) {
		if !w.skip(c) && (c.name == "table" || heading(c.name) || w.layout(c, depth+1)) {
			return true
		}
	}
	return false
}

func (w *writer) rows(n *node, depth int, rows [][]string) [][]string {
	for _, c := range n.shallow(depth) {
		if w.skip(c) {
			continue
		}
		if c.name != "tr" {
			rows = w.rows(c, depth+1, rows)
			continue
		}
		var row []string
		for _, cell := range c.shallow(depth) {
			if (cell.name == "td" || cell.name == "th") && !w.skip(cell) {
				row = append(row, strings.ReplaceAll(strings.Join(w.lines(cell, depth), "<br>"), "|", `\|`))
			}
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}
