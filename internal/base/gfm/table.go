package gfm

import "strings"

// Align is how the cells of a column are aligned.
type Align int

// Alignments.
const (
	Left Align = iota
	Right
	Center
)

// beginsTable turns the last line of the open paragraph into the header of a table, if text is the line
// below such a header.
func (b *Blocks[T]) beginsTable(text string) bool {
	columns := delimiters(text)
	p := b.Leaf
	header := p.Lines[len(p.Lines)-1]
	if columns == nil || !strings.Contains(header+text, "|") || len(Row(header)) != len(columns) {
		return false
	}
	frame, gap := p.Frame, p.Gap
	if len(p.Lines) > 1 {
		p.Lines = p.Lines[:len(p.Lines)-1]
		b.close()
		frame, gap = Later(frame), len(b.open) == 0
	}
	b.Leaf = &Leaf[T]{
		Kind: Table, Lines: []string{header}, Columns: columns, Frame: frame,
		Gap: gap || b.any && len(b.open) == 0 && p.Gap,
	}
	b.lastTop = Table
	return true
}

// delimiters reads the line below a table's header: "|---|:--:|".
func delimiters(s string) []Align {
	if strings.Trim(s, "|:- ") != "" || !strings.Contains(s, "-") {
		return nil
	}
	var out []Align
	for _, c := range Row(s) {
		first, last := strings.HasPrefix(c, ":"), strings.HasSuffix(c, ":")
		if c = strings.TrimSuffix(strings.TrimPrefix(c, ":"), ":"); c == "" || strings.Trim(c, "-") != "" {
			return nil
		}
		switch {
		case first && last:
			out = append(out, Center)
		case last:
			out = append(out, Right)
		default:
			out = append(out, Left)
		}
	}
	return out
}

// maxColumns bounds a table's columns; the rest of a row is left in its last one.
const maxColumns = 64

// Row cuts a row into its cells, at bars that are not escaped.
func Row(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	var out []string
	from := 0
	for i := 0; i < len(row) && len(out) < maxColumns-1; i++ {
		switch row[i] {
		case '\\':
			i++
		case '|':
			out = append(out, cellText(row[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(row[from:]); rest != "" || len(out) == 0 {
		out = append(out, cellText(rest))
	}
	return out
}

func cellText(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), `\|`, "|") }
