package dialog

import (
	"fmt"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Text is a page to read: help, the list of keys, a command's output.
type Text struct {
	title string
	theme *theme.Theme
	make  func(width int) []string
	page  page
	room  int

	width int
	lines []string
}

// NewText makes a page. Lines draws its text for a width: lines ready for the terminal, none of them wider.
func NewText(title string, t *theme.Theme, lines func(width int) []string) *Text {
	return &Text{title: title, theme: t, make: lines}
}

// ID is empty: no one waits for an answer.
func (d *Text) ID() string { return "" }

// Contexts are those of a page to read.
func (d *Text) Contexts() []keys.Context { return []keys.Context{keys.Help, keys.Select, keys.Scroll} }

// Key scrolls, or closes.
func (d *Text) Key(k Key) Result {
	switch {
	case d.page.key(k, d.room):
	case k.is(keys.SelectNext):
		d.page.top++
	case k.is(keys.SelectPrevious):
		d.page.top--
	case k.accepts(), k.cancels():
		return Result{Close: true}
	}
	return Result{}
}

// Cursor reports that a text has no cursor.
func (d *Text) Cursor() (x, y int, ok bool) { return 0, 0, false }

// Lines draws the page.
func (d *Text) Lines(width, height int) []string {
	if w := inner(width); d.width != w {
		d.width, d.lines = w, d.make(w)
	}
	d.room = max(min(rows(height), len(d.lines)), 1)
	from, to := d.page.window(d.room, len(d.lines))
	f := frame{theme: d.theme, title: term.EscapeLine(d.title), hints: []hint{{"esc", "close"}}}
	if to-from < len(d.lines) {
		f.note = fmt.Sprintf("%d to %d of %d", from+1, to, len(d.lines))
		f.hints = append(f.hints, hint{"up/down", "scroll"}, hint{"pgup/pgdn", "page"})
	}
	return f.draw(width, height, d.lines[from:to])
}
