package tui

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
)

// wrap breaks escaped text into lines of at most width cells, at blanks where there are some. Tabs become
// blanks.
func wrap(text string, width int) []string {
	width = max(width, 1)
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		if strings.ContainsRune(line, '\t') {
			line = untab(line)
		}
		out = wrapLine(out, line, width)
	}
	return out
}

func wrapLine(out []string, line string, width int) []string {
	for len(line) > width || term.Width(line) > width {
		end, cells, blank := 0, 0, -1
		for end < len(line) {
			n, w := term.Cluster(line[end:], cells)
			if cells+w > width {
				break
			}
			if line[end] == ' ' {
				blank = end
			}
			end, cells = end+n, cells+w
		}
		if end >= len(line) {
			break
		}
		switch {
		case line[end] == ' ':
			out, line = append(out, line[:end]), line[end+1:]
		case blank > 0:
			out, line = append(out, line[:blank]), line[blank+1:]
		default:
			if end == 0 { // a wide character in a single column
				n, _ := term.Cluster(line, 0)
				out, line = append(out, "…"), line[n:]
				continue
			}
			out, line = append(out, line[:end]), line[end:]
		}
	}
	return append(out, line)
}

// untab replaces tabs by blanks up to the next stop.
func untab(line string) string {
	var b strings.Builder
	cells := 0
	for line != "" {
		n, w := term.Cluster(line, cells)
		if line[0] == '\t' {
			b.WriteString("        "[:w])
		} else {
			b.WriteString(line[:n])
		}
		line, cells = line[n:], cells+w
	}
	return b.String()
}

// lastCells is the end of an escaped line that fits into width cells.
func lastCells(s string, width int) string {
	over := term.Width(s) - width
	if over <= 0 {
		return s
	}
	for at := 0; over >= 0 && s != ""; { // one cell more, for the ellipsis
		n, w := term.Cluster(s, at)
		s, at, over = s[n:], at+w, over-w
	}
	return "…" + s
}

// middleCells is an escaped line cut in its middle to fit into width cells: both ends of a path matter most.
func middleCells(s string, width int) string {
	if term.Width(s) <= width {
		return s
	}
	tail := max(width*2/3, 1)
	return term.Truncate(s, max(width-tail+1, 1), "…") + strings.TrimPrefix(lastCells(s, tail), "…")
}

// cutCells cuts a styled line to width cells.
func cutCells(s string, width int) string {
	if len(s) <= width || term.Width(line.Strip(s)) <= width {
		return s
	}
	var b strings.Builder
	for cells := 0; s != ""; {
		if s[0] == 0x1b {
			n, _ := term.Sequence(s)
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		n, w := term.Cluster(s, cells)
		if cells+w < width {
			b.WriteString(s[:n])
		} else if cells < width {
			b.WriteString("…")
		}
		s, cells = s[n:], cells+w
	}
	return b.String()
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
