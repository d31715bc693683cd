package dialog

import (
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// options are the answers to choose from, numbered, each with its meaning.
type options struct {
	items   []event.Option
	at      cursor
	multi   bool
	brief   bool // no help: it is shown elsewhere
	checked map[int]bool
	keys    map[string]string // by the option's id: the key that chooses it at once
}

// row is an option's place in the drawn lines.
type row struct{ from, to int }

// lines draws all options, and says which lines are of which option.
func (o *options) lines(t *theme.Theme, width int) (lines []string, rows []row) {
	for i, item := range o.items {
		from := len(lines)
		lines = o.option(lines, t, width, i, item)
		rows = append(rows, row{from, len(lines)})
	}
	return lines, rows
}

func (o *options) option(lines []string, t *theme.Theme, width, i int, item event.Option) []string {
	pointer, style := "  ", t.Text
	if i == o.at.at {
		pointer, style = "❯ ", t.Strong
	}
	head := []line.Span{{Text: pointer, Style: t.Accent}}
	if i < 9 {
		head = append(head, line.Span{Text: strconv.Itoa(i+1) + " ", Style: t.Key})
	} else {
		head = append(head, line.Span{Text: "  "})
	}
	if o.multi {
		box := "[ ] "
		if o.checked[i] {
			box = "[x] "
		}
		head = append(head, line.Span{Text: box, Style: style})
	}
	rest := []line.Span{{Text: strings.Repeat(" ", line.Width(head))}}
	label := []line.Span{{Text: term.EscapeLine(item.Label), Style: style}}
	if key := o.keys[item.ID]; key != "" {
		label = append(label, line.Span{Text: "  " + shortKey(key), Style: t.Key})
	}
	lines = line.Wrap(lines, label, line.Format{Width: width, First: head, Rest: rest})
	if o.brief {
		return lines
	}
	for help := range strings.SplitSeq(item.Help, "\n") {
		if help != "" {
			lines = line.Wrap(lines, []line.Span{{Text: term.EscapeLine(help), Style: t.Dim}},
				line.Format{Width: width, First: rest, Rest: rest, Breaking: line.Cells})
		}
	}
	return lines
}

// shortKey is a key as it is behind an option: a capital instead of "shift+n".
func shortKey(key string) string {
	if letter, ok := strings.CutPrefix(key, "shift+"); ok && len(letter) == 1 {
		return strings.ToUpper(letter)
	}
	return key
}

// window cuts the drawn options to height so that the chosen one is among them.
func window(lines []string, rows []row, at, height int) []string {
	if len(lines) <= height || len(rows) == 0 {
		return fit(lines, height)
	}
	r := rows[min(at, len(rows)-1)]
	from := min(max(r.to-height, 0), r.from)
	return lines[from:min(from+max(height, 1), len(lines))]
}

// digit is the option that a typed digit names, or -1.
func (o *options) digit(k Key) int {
	if len(k.Text) != 1 || k.Text[0] < '1' || k.Text[0] > '9' {
		return -1
	}
	if i := int(k.Text[0] - '1'); i < len(o.items) {
		return i
	}
	return -1
}

// find is the option with an id, or -1.
func (o *options) find(id string) int {
	for i, item := range o.items {
		if item.ID == id {
			return i
		}
	}
	return -1
}
