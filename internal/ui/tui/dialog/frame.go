package dialog

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// frame is the border around a dialog: title and a note above, hints below.
type frame struct {
	theme *theme.Theme
	title string // escaped
	note  string // escaped, at the right of the title
	hints []hint
}

// hint is a key and its effect.
type hint struct{ key, does string }

// narrow is the width below which a dialog has no sides, to leave its text the cells.
const narrow = 40

// inner is the width of the text within a frame of the given width.
func inner(width int) int {
	if width < narrow {
		return max(width, 1)
	}
	return width - 4
}

// indent is how far the text is from the left side of the frame.
func indent(width int) int {
	if width < narrow {
		return 0
	}
	return 2
}

// low is the height below which a dialog has neither title nor hints.
const low = 6

// rows is how many lines of a dialog of that height are for its text.
func rows(height int) int {
	if height < low {
		return max(height, 1)
	}
	return height - 2
}

// under is 1 where there is no title above the first line.
func under(height int) int {
	if height < low {
		return 1
	}
	return 0
}

// draw puts the frame around lines, each at most inner(width) wide, no more than rows(height).
func (f frame) draw(width, height int, lines []string) []string {
	lines = fit(lines, rows(height))
	out := make([]string, 0, len(lines)+2)
	if height < low {
		for _, l := range lines {
			out = append(out, f.side(width, l))
		}
		return out
	}
	out = append(out, f.top(width))
	for _, l := range lines {
		out = append(out, f.side(width, l))
	}
	return append(out, f.bottom(width))
}

func (f frame) side(width int, l string) string {
	if width < narrow {
		return l
	}
	side := f.theme.BorderFocus.Render("│")
	pad := inner(width) - term.Width(line.Strip(l))
	return side + " " + l + strings.Repeat(" ", max(pad, 0)) + " " + side
}

func (f frame) top(width int) string {
	t := f.theme
	note := f.note
	if note != "" {
		note = " " + note + " "
	}
	title := " " + term.Truncate(f.title, max(width-6-term.Width(note), 1), "…") + " "
	gap := width - 4 - term.Width(title) - term.Width(note)
	if gap < 0 {
		return line.Join(width, line.Span{Text: strings.TrimSpace(title), Style: t.Title})
	}
	return t.BorderFocus.Render("╭─") + t.Title.Render(title) + t.BorderFocus.Render(strings.Repeat("─", gap)) +
		t.Dim.Render(note) + t.BorderFocus.Render("─╮")
}

func (f frame) bottom(width int) string {
	t := f.theme
	var spans []line.Span
	cells := 0
	for _, h := range f.fitting(width - 4) {
		n := term.Width(h.key) + term.Width(h.does) + 4
		if cells > 0 {
			spans = append(spans, line.Span{Text: " ·", Style: t.Border})
			cells += 2
			n -= 2
		}
		spans = append(spans, line.Span{Text: " " + h.key, Style: t.Key}, line.Span{Text: " " + h.does, Style: t.Dim})
		cells += n - 2
	}
	if cells > 0 {
		spans = append(spans, line.Span{Text: " "})
	}
	if width < narrow {
		return line.Join(width, spans...)
	}
	return t.BorderFocus.Render("╰─") + line.Join(width-4, spans...) +
		t.BorderFocus.Render(strings.Repeat("─", max(width-4-line.Width(spans), 0))) + t.BorderFocus.Render("─╯")
}

// fitting returns the hints that fit. The hint for leaving is dropped last.
func (f frame) fitting(width int) []hint {
	hints := slices.Clone(f.hints)
	for len(hints) > 0 {
		cells := 2 - 2*len(hints) // the first has no separator
		for _, h := range hints {
			cells += term.Width(h.key) + term.Width(h.does) + 4
		}
		if cells <= width {
			break
		}
		last := len(hints) - 1
		if hints[last].key == "esc" {
			last = max(last-1, 0)
		}
		hints = slices.Delete(hints, last, last+1)
	}
	return hints
}

// fit cuts lines to height, with a mark that there are more.
func fit(lines []string, height int) []string {
	if len(lines) > height {
		return lines[:max(height, 0)]
	}
	return lines
}

// page is text that scrolls.
type page struct {
	top  int
	seen int // lines that were on the screen so far, from the first
}

// window gives the part of count lines to show in height rows.
func (p *page) window(height, count int) (from, to int) {
	p.top = min(max(p.top, 0), max(count-height, 0))
	to = min(p.top+height, count)
	if p.top <= p.seen {
		p.seen = max(p.seen, to)
	}
	return p.top, to
}

// key scrolls and reports whether the key was one for scrolling.
func (p *page) key(k Key, height int) bool {
	switch {
	case k.is(keys.PageDown, keys.SelectPageDown, keys.HalfPageDown):
		p.top += max(height-1, 1)
	case k.is(keys.PageUp, keys.SelectPageUp, keys.HalfPageUp):
		p.top -= max(height-1, 1)
	case k.is(keys.LineUp):
		p.top--
	case k.is(keys.LineDown):
		p.top++
	case k.is(keys.Top, keys.SelectFirst):
		p.top = 0
	case k.is(keys.Bottom, keys.SelectLast):
		p.top = 1 << 30
	default:
		return false
	}
	return true
}
