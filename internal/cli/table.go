package cli

import (
	"os"
	"strings"

	xterm "golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// width is how many cells a line of stdout has; 0 where it is no terminal, and lines may be of any length.
func (s *streams) width() int {
	f, ok := s.out.(*os.File)
	if !ok || !s.outTTY {
		return 0
	}
	w, _, err := xterm.GetSize(int(f.Fd()))
	if err != nil || w <= 0 {
		return 80
	}
	return w
}

// columns lays rows out in aligned columns of escaped text. The last column is cut where the line would
// become longer than width cells; 0 cuts nothing.
func columns(rows [][]string, width int) string {
	var widths []int
	for _, row := range rows {
		for i := range row {
			row[i] = term.EscapeLine(row[i])
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], term.Width(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		writeRow(&b, row, widths, width)
	}
	return b.String()
}

// minLast is how much of the last column is shown however narrow the terminal is.
const minLast = 10

func writeRow(b *strings.Builder, row []string, widths []int, width int) {
	var line strings.Builder
	used := 0
	for i, cell := range row {
		if i == len(row)-1 {
			if width > 0 {
				cell = term.Truncate(cell, max(width-used-1, minLast), "…")
			}
			line.WriteString(cell)
			break
		}
		line.WriteString(cell + strings.Repeat(" ", widths[i]-term.Width(cell)+2))
		used += widths[i] + 2
	}
	b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
}
