package dialog

import (
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Page is a text that may change while it is read, such as the transcript of an agent. It follows its end until it is
// scrolled back.
type Page struct {
	shown event.Page
	theme *theme.Theme
	make  func(text string, width int) []string
	page  page
	room  int
	back  bool // it was scrolled back

	asking bool // a message is typed
	text   lineInput
	caret  [2]int

	width int
	lines []string
}

// tellKey types a message.
const tellKey = "ctrl+t"

// NewPage makes a page. Lines draws a Markdown text for a width: lines ready for the terminal, none of them wider.
func NewPage(p event.Page, t *theme.Theme, lines func(text string, width int) []string) *Page {
	return &Page{shown: p, theme: t, make: lines}
}

// Update takes the page as it is now.
func (d *Page) Update(p event.Page) { d.shown, d.width = p, 0 }

// Live is the command that returns the page again while it changes, or "".
func (d *Page) Live() string { return d.shown.Live }

// Back is the command that leads back to where the page came from, or "".
func (d *Page) Back() string { return d.shown.Back }

// ID is empty: no one waits for an answer.
func (d *Page) ID() string { return "" }

// Contexts are those of a page to read, or of a line that is typed into.
func (d *Page) Contexts() []keys.Context {
	if d.asking {
		return typing
	}
	return []keys.Context{keys.Help, keys.Select, keys.Scroll}
}

// Takes reports whether a key of that name does something on this page, whatever it does elsewhere.
func (d *Page) Takes(name string) bool { return name == tellKey && d.shown.Tell != "" }

// Key scrolls, begins a message, or closes; closing leads back to where the page came from.
func (d *Page) Key(k Key) Result {
	if d.asking {
		return d.typed(k)
	}
	top := d.page.top
	switch {
	case d.Takes(k.Name):
		d.asking, d.text = true, lineInput{}
	case d.page.key(k, d.room):
	case k.is(keys.SelectNext):
		d.page.top++
	case k.is(keys.SelectPrevious):
		d.page.top--
	case k.accepts(), k.cancels():
		r := Result{Close: true}
		if d.shown.Back != "" {
			r.Run = &Command{Name: d.shown.Back}
		}
		return r
	}
	d.back = d.page.top < top || d.back && d.page.top < len(d.lines)-d.room
	return Result{}
}

// typed takes a key while a message is typed.
func (d *Page) typed(k Key) Result {
	switch {
	case k.cancels():
		d.asking = false
	case k.accepts() && strings.TrimSpace(d.text.text) != "":
		d.asking = false
		name, args, _ := strings.Cut(d.shown.Tell, " ")
		return Result{Run: &Command{name, args + " " + strings.TrimSpace(d.text.text)}, Toast: "sent: " + d.text.text}
	default:
		d.text.key(k)
	}
	return Result{}
}

// Cursor is where a message is typed.
func (d *Page) Cursor() (x, y int, ok bool) { return d.caret[0], d.caret[1], d.asking }

// Lines draws the page.
func (d *Page) Lines(width, height int) []string {
	if w := inner(width); d.width != w {
		d.width, d.lines = w, d.make(d.shown.Text, w)
	}
	room := rows(height)
	if d.asking {
		room--
	}
	d.room = max(min(room, len(d.lines)), 1)
	if !d.back {
		d.page.top = len(d.lines)
	}
	from, to := d.page.window(d.room, len(d.lines))
	f := frame{theme: d.theme, title: term.EscapeLine(d.shown.Title), hints: []hint{{"esc", "back"}}}
	if d.shown.Tell != "" {
		f.hints = append(f.hints, hint{tellKey, "message"})
	}
	if to-from < len(d.lines) {
		f.note = fmt.Sprintf("%d to %d of %d", from+1, to, len(d.lines))
		f.hints = append(f.hints, hint{"up/down", "scroll"}, hint{"pgup/pgdn", "page"})
	}
	lines := d.lines[from:to:to]
	if d.asking {
		typed := "Message: " + term.EscapeLine(d.text.text)
		lines = append(lines, term.Truncate(typed, inner(width), "…"))
		d.caret = [2]int{min(term.Width(typed), inner(width)-1) + indent(width), len(lines) - under(height)}
	}
	return f.draw(width, height, lines)
}
