package dialog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/term"
	"github.com/lathe-dev/lathe/internal/tui/keys"
	"github.com/lathe-dev/lathe/internal/tui/line"
	"github.com/lathe-dev/lathe/internal/tui/markdown"
	"github.com/lathe-dev/lathe/internal/tui/theme"
)

// Picker is a list to choose from: sessions, models, messages, commands. Typing narrows it.
type Picker struct {
	pick  event.Pick
	theme *theme.Theme
	now   func() time.Time

	search lineInput
	shown  []int // indices of the items that match
	at     cursor
	room   int

	asking *event.PickAction // the text for this action is typed
	text   lineInput
	undo   *Command // takes back what was done last
	caret  [2]int

	previewOf    string // the item and width the preview was made for
	previewLines []string
}

// NewPicker makes the dialog of a list. It begins on the current item.
func NewPicker(p event.Pick, t *theme.Theme) *Picker {
	d := &Picker{pick: p, theme: t, now: time.Now}
	d.filter()
	for i, n := range d.shown {
		if p.Items[n].Current {
			d.at.at = i
		}
	}
	return d
}

// Update puts another list in place, after an action changed it, and keeps the search and the place.
func (d *Picker) Update(p event.Pick) {
	d.pick, d.previewOf = p, ""
	d.filter()
	d.at.move(0, len(d.shown))
}

// Command is the command that choosing runs: it tells what the list is of.
func (d *Picker) Command() string { return d.pick.Command }

// ID is empty: nobody waits for an answer.
func (d *Picker) ID() string { return "" }

// filter keeps the items that contain every word of the search.
func (d *Picker) filter() {
	words := strings.Fields(strings.ToLower(d.search.text))
	d.shown = d.shown[:0]
	for i, item := range d.pick.Items {
		if holds(strings.ToLower(item.Label+" "+item.Detail+" "+item.ID), words) {
			d.shown = append(d.shown, i)
		}
	}
}

func holds(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// item is the one under the cursor, or nil.
func (d *Picker) item() *event.PickItem {
	if d.at.at >= len(d.shown) {
		return nil
	}
	return &d.pick.Items[d.shown[d.at.at]]
}

// Contexts are those of a list with a line that is typed into.
func (d *Picker) Contexts() []keys.Context { return typing }

// Takes reports whether a key of that name does something in this list, whatever it does elsewhere.
func (d *Picker) Takes(name string) bool {
	if name == undoKey {
		return d.undo != nil
	}
	return slices.ContainsFunc(d.pick.Actions, func(a event.PickAction) bool { return a.Key == name })
}

// undoKey takes back what was done last with an item.
const undoKey = "ctrl+z"

// Key takes a key.
func (d *Picker) Key(k Key) Result {
	if d.asking != nil {
		return d.typed(k)
	}
	item := d.item()
	for i := range d.pick.Actions {
		if a := &d.pick.Actions[i]; a.Key == k.Name && item != nil {
			return d.act(a, *item)
		}
	}
	switch {
	case k.Name == undoKey && d.undo != nil:
		r := Result{Run: d.undo, After: d.refresh(""), Toast: "undone"}
		d.undo = nil
		return r
	case k.cancels() && d.search.text != "":
		d.search.text = ""
		d.narrow()
	case k.cancels():
		return Result{Close: true}
	case k.accepts() && item == nil:
		return Result{Toast: "there is nothing to choose"}
	case k.accepts():
		return Result{Close: true, Run: &Command{d.pick.Command, item.ID}}
	case d.at.key(k, len(d.shown), d.room):
	case d.search.key(k):
		d.narrow()
	}
	return Result{}
}

func (d *Picker) narrow() {
	d.filter()
	d.at = cursor{}
}

// act does another thing with an item, after asking for a text where it needs one.
func (d *Picker) act(a *event.PickAction, item event.PickItem) Result {
	if a.Ask != "" {
		d.asking, d.text = a, lineInput{text: item.Label}
		return Result{}
	}
	r := Result{Run: &Command{a.Command, item.ID}, After: d.refresh(a.Refresh)}
	if d.undo = nil; a.Undo != "" {
		d.undo = &Command{a.Undo, item.ID}
		r.Toast = a.Label + ": " + undoKey + " takes it back"
	}
	return r
}

func (d *Picker) refresh(command string) *Command {
	if command == "" {
		for _, a := range d.pick.Actions {
			if a.Refresh != "" {
				command = a.Refresh
			}
		}
	}
	if command == "" {
		return nil
	}
	name, args, _ := strings.Cut(command, " ")
	return &Command{name, args}
}

// typed takes a key while the text for an action is typed.
func (d *Picker) typed(k Key) Result {
	switch {
	case k.cancels():
		d.asking = nil
	case k.accepts() && strings.TrimSpace(d.text.text) != "":
		a, item := d.asking, d.item()
		d.asking = nil
		if item == nil {
			return Result{}
		}
		return Result{Run: &Command{a.Command, item.ID + " " + strings.TrimSpace(d.text.text)}, After: d.refresh(a.Refresh)}
	default:
		d.text.key(k)
	}
	return Result{}
}

// Cursor is where the search, or the text for an action, is typed.
func (d *Picker) Cursor() (x, y int, ok bool) { return d.caret[0], d.caret[1], true }

// besides is the width from which the preview stands beside the list.
const besides = 90

// Lines draws the dialog.
func (d *Picker) Lines(width, height int) []string {
	w, room := inner(width), rows(height)
	lines := []string{d.field(width, w)}
	d.caret[1] = 1 - under(height)
	if room > 3 {
		lines = append(lines, "")
	}
	d.room = max(room-len(lines), 1)
	left, right := w, 0
	if w >= besides && d.hasPreview() {
		left = w / 2
		right = w - left - 3
	}
	list := d.list(left, min(d.room, max(len(d.shown), 1)))
	if right > 0 {
		list = d.beside(list, left, right)
	}
	f := frame{theme: d.theme, title: term.EscapeLine(d.pick.Title), note: d.count(), hints: d.hints()}
	return f.draw(width, height, append(lines, list...))
}

func (d *Picker) count() string {
	if len(d.shown) == len(d.pick.Items) {
		return fmt.Sprint(len(d.shown))
	}
	return fmt.Sprintf("%d of %d", len(d.shown), len(d.pick.Items))
}

// field is the line that is typed into.
func (d *Picker) field(width, w int) string {
	label, in := "❯ ", &d.search
	if d.asking != nil {
		label, in = term.EscapeLine(d.asking.Ask)+": ", &d.text
	}
	text, caret := in.show(w - term.Width(label))
	d.caret[0] = indent(width) + term.Width(label) + caret
	span := line.Span{Text: text}
	if text == "" {
		span = line.Span{Text: "type to search", Style: d.theme.Placeholder}
	}
	return line.Join(w, line.Span{Text: label, Style: d.theme.Accent}, span)
}

func (d *Picker) hints() []hint {
	if d.asking != nil {
		return []hint{{"enter", "save"}, {"esc", "back"}}
	}
	hs := []hint{{"enter", "choose"}}
	for _, a := range d.pick.Actions {
		hs = append(hs, hint{a.Key, a.Label})
	}
	if d.undo != nil {
		hs = append(hs, hint{undoKey, "undo"})
	}
	return append(hs, hint{"esc", "close"})
}

// list draws the items of the window.
func (d *Picker) list(width, height int) []string {
	if len(d.shown) == 0 {
		text := d.pick.Empty
		if text == "" || d.search.text != "" {
			text = "nothing matches"
		}
		return []string{line.Join(width, line.Span{Text: term.EscapeLine(text), Style: d.theme.Dim})}
	}
	from, to := d.at.window(height, len(d.shown))
	var out []string
	for i := from; i < to; i++ {
		out = append(out, d.row(width, d.pick.Items[d.shown[i]], i == d.at.at))
	}
	return out
}

// row draws an item: its label, then the detail and the time at the right.
func (d *Picker) row(width int, item event.PickItem, chosen bool) string {
	t := d.theme
	pointer, style := "  ", t.Text
	if chosen {
		pointer, style = "❯ ", t.Strong
	}
	mark := ""
	if item.Current {
		mark = "● "
	}
	head := []line.Span{{Text: pointer, Style: t.Accent}, {Text: strings.Repeat("  ", min(item.Depth, width/8))}, {Text: mark, Style: t.Good}}
	side := term.EscapeLine(item.Detail)
	if !item.Time.IsZero() {
		side = strings.TrimSpace(side + "  " + ago(d.now().Sub(item.Time)))
	}
	side = term.Truncate(side, width/2, "…")
	room := width - line.Width(head) - term.Width(side) - 2
	if item.Label == "" {
		item.Label, style = "no title", t.Dim
	}
	label := term.Truncate(term.EscapeLine(item.Label), max(room, 1), "…")
	gap := max(width-line.Width(head)-term.Width(label)-term.Width(side), 1)
	return line.Join(width, append(head, line.Span{Text: label, Style: style},
		line.Span{Text: strings.Repeat(" ", gap)}, line.Span{Text: side, Style: t.Dim})...)
}

func (d *Picker) hasPreview() bool {
	for _, i := range d.pick.Items {
		if i.Preview != "" {
			return true
		}
	}
	return false
}

// beside puts the preview of the chosen item to the right of the list.
func (d *Picker) beside(list []string, left, right int) []string {
	preview := fit(d.preview(right), d.room)
	for len(list) < len(preview) {
		list = append(list, "")
	}
	bar := " " + d.theme.Border.Render("│") + " "
	for i, l := range list {
		pad := strings.Repeat(" ", max(left-term.Width(line.Strip(l)), 0))
		list[i] = l + pad + bar
		if i < len(preview) {
			list[i] += preview[i]
		}
	}
	return list
}

func (d *Picker) preview(width int) []string {
	item := d.item()
	if item == nil {
		return nil
	}
	if key := fmt.Sprint(item.ID, width); key != d.previewOf {
		d.previewOf = key
		d.previewLines = markdown.Render(item.Preview, width, markdown.Options{Theme: d.theme})
	}
	return d.previewLines
}

// ago is a duration in words that are short and true to one digit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
