package editor

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Popup lays out the list that is open: at most maxRows rows of at most width columns; nil when none is.
func (e *Editor) Popup(width, maxRows int) []string {
	switch {
	case width < 1 || maxRows < 1:
		return nil
	case e.find != nil:
		f := e.find
		return e.list(f.items, f.selected, &f.top, "", width, maxRows)
	case e.popup.open():
		p := &e.popup
		sign := ""
		if p.token.kind == event.QueryCommand {
			sign = "/"
		}
		return e.list(p.items, p.selected, &p.top, sign, width, maxRows)
	}
	return nil
}

// list draws the part of a list that has the chosen item in it.
func (e *Editor) list(items []event.Candidate, selected int, top *int, sign string, width, maxRows int) []string {
	n := min(len(items), maxRows)
	*top = min(max(*top, selected-n+1), selected, len(items)-n)
	visible := items[*top : *top+n]
	labels := 0
	for _, c := range visible {
		labels = max(labels, term.Width(labelOf(c, sign)))
	}
	if slices.ContainsFunc(visible, func(c event.Candidate) bool { return c.Help != "" || c.Keys != "" }) {
		labels = min(labels, max(width*2/5, 12))
	}
	var out []string
	for i, c := range visible {
		out = append(out, e.listRow(c, sign, *top+i == selected, labels, width))
	}
	return out
}

// labelOf is the label of an item, with the arguments of a command.
func labelOf(c event.Candidate, sign string) string {
	s := term.EscapeLine(raw(c, sign))
	if sign != "" && c.Hint != "" {
		s += " " + term.EscapeLine(c.Hint)
	}
	return s
}

func raw(c event.Candidate, sign string) string {
	s := c.Text
	if c.Label != "" {
		s = c.Label
	}
	if sign != "" && !strings.HasPrefix(s, sign) {
		s = sign + s
	}
	return s
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

func (e *Editor) listRow(c event.Candidate, sign string, chosen bool, labels, width int) string {
	t := e.opt.Theme
	base, match, head := t.Text, t.Match, "  "
	if chosen {
		base, match, head = t.Selected, t.Selected.With(t.Match), "> "
	}
	w := rowWriter{room: width}
	w.put(head, base)
	shift := 0
	if sign != "" && !strings.HasPrefix(plainLabel(c), sign) {
		shift = 1
	}
	w.label(raw(c, sign), shift, c.Marks, min(labels, w.room), base, match, sign == "")
	if sign != "" && c.Hint != "" {
		w.put(term.Truncate(" "+term.EscapeLine(c.Hint), max(labels+markWidth-w.cells, 0), "…"), base.With(t.Ghost))
	}
	for _, s := range []string{c.Help, c.Keys} {
		if s == "" || w.room < 8 {
			continue
		}
		if pad := labels + markWidth - w.cells; pad > 0 {
			w.put(strings.Repeat(" ", pad), base)
		}
		w.put("  ", base)
		w.put(term.Truncate(term.EscapeLine(s), w.room, "…"), base.With(t.Dim))
	}
	return w.b.String()
}

func plainLabel(c event.Candidate) string {
	if c.Label != "" {
		return c.Label
	}
	return c.Text
}

// rowWriter writes one row and counts its cells.
type rowWriter struct {
	b           strings.Builder
	cells, room int
}

// put writes safe text.
func (w *rowWriter) put(s string, style theme.Style) {
	s = term.Truncate(s, w.room, "")
	n := term.Width(s)
	w.cells, w.room = w.cells+n, w.room-n
	w.b.WriteString(style.Render(s))
}

// label writes foreign text with its matches. A text that is too long loses its beginning (a path says most at
// its end), or its end.
func (w *rowWriter) label(s string, shift int, marks []int, room int, base, match theme.Style, keepEnd bool) {
	runes := []rune(firstLine(s))
	shown := make([]string, len(runes))
	total := 0
	for i, r := range runes {
		shown[i] = term.EscapeLine(string(r))
		total += term.Width(shown[i])
	}
	first, last := 0, len(runes)
	if total > room && keepEnd && strings.Contains(s, "/") {
		for ; first < last && total > room-1; first++ {
			total -= term.Width(shown[first])
		}
		w.put("…", base)
	} else if total > room {
		for ; first < last && total > room-1; last-- {
			total -= term.Width(shown[last-1])
		}
	}
	for i := first; i < last; { // runs of one style, so that marks and letters stay joined
		marked := slices.Contains(marks, i-shift)
		j := i
		for ; j < last && slices.Contains(marks, j-shift) == marked; j++ {
		}
		style := base
		if marked {
			style = match
		}
		w.put(strings.Join(shown[i:j], ""), style)
		i = j
	}
	if last < len(runes) {
		w.put("…", base)
	}
}
