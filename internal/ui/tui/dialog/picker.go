package dialog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/base/fuzzy"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/markdown"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
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
	undo   *Command // undoes the last change
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

// Command is the command that choosing runs: it names the kind of list.
func (d *Picker) Command() string { return d.pick.Command }

// Live is the command line that returns the list again; "" if it does not change by itself.
func (d *Picker) Live() string { return d.pick.Live }

// ID is empty: no one waits for an answer.
func (d *Picker) ID() string { return "" }

// filter keeps the items that match the search, the best first: those whose label matches before those that
// match only with their detail. An id counts when its beginning is typed.
func (d *Picker) filter() {
	d.shown = d.shown[:0]
	m, scores := fuzzy.New(d.search.text), map[int]int{}
	for i, item := range d.pick.Items {
		score, ok := m.Score(item.Label)
		if !ok {
			score, ok = m.Score(item.Label + " " + item.Detail)
			score -= lesser
		}
		if typed := strings.ToLower(d.search.text); len(typed) >= shortestID && strings.HasPrefix(strings.ToLower(item.ID),
			typed) {
			score, ok = 2*lesser, true
		}
		if ok {
			scores[i] = score
			d.shown = append(d.shown, i)
		}
	}
	if !m.Any() {
		slices.SortStableFunc(d.shown, func(a, b int) int { return scores[b] - scores[a] })
	}
}

const (
	lesser     = 1 << 20 // more than any score
	shortestID = 4       // letters of an id that are taken for one
)

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

// undoKey undoes the last change of an item.
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
	case k.cancels():
		return Result{Close: true}
	case k.accepts() && item == nil:
		return Result{Toast: "there is nothing to choose"}
	case k.accepts():
		return Result{Close: true, Run: &Command{d.pick.Command, item.ID}}
	case d.at.key(k, len(d.shown), d.room):
	case d.search.key(k):
		d.narrow()
		c := d.searching()
		return Result{Run: c, Refill: c != nil}
	}
	return Result{}
}

// searching is the command that lists the matches of the typed text, where the list has only some of the items.
func (d *Picker) searching() *Command {
	if d.pick.Search == "" {
		return nil
	}
	name, args, _ := strings.Cut(d.pick.Search, " ")
	return &Command{name, strings.TrimSpace(args + " " + d.search.text)}
}

// Late reports whether a command searched for another text than the present one.
func (d *Picker) Late(c Command) bool {
	now := d.searching()
	return now != nil && c.Name == now.Name && c != *now
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

// besides is the width from which the preview is beside the list.
const besides = 90

// roomBelow is the height of the list from which the preview is below it, where there is no room beside.
const roomBelow = 12

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
		left = w * 3 / 5
		right = w - left - 3
	}
	var below []string
	if right == 0 && d.hasPreview() && d.room >= roomBelow {
		below = append([]string{d.theme.Border.Render(strings.Repeat("─", w))}, fit(d.preview(w), d.room/3)...)
		d.room -= len(below)
	}
	list := append(d.list(left, min(d.room, max(len(d.shown), 1))), below...)
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
		out = append(out, d.row(width, d.pick.Items[d.shown[i]], i))
	}
	return out
}

// row draws an item: its label, then the detail. Details are in a column behind the labels, or, with times, at
// the right.
func (d *Picker) row(width int, item event.PickItem, at int) string {
	t := d.theme
	pointer, style := "  ", t.Text
	if at == d.at.at {
		pointer, style = "❯ ", t.Strong
	}
	mark := ""
	if item.Current {
		mark = "● "
	}
	head := []line.Span{
		{Text: pointer, Style: t.Accent},
		{Text: d.tree(at, width/8), Style: t.Border},
		{Text: mark, Style: t.Good},
	}
	side := term.EscapeLine(item.Detail)
	if item.Label == "" {
		item.Label, style = "no title", t.Dim
	}
	label, room := term.EscapeLine(item.Label), width-line.Width(head)
	gap := 0
	if column := d.column(width); column > 0 {
		label = term.Truncate(label, max(column-line.Width(head)-2, 1), "…")
		gap = max(column-line.Width(head)-term.Width(label), 1)
		side = term.Truncate(side, max(width-column, 0), "…")
	} else {
		side = d.aside(item, room-term.Width(label)-2, width/2)
		label = term.Truncate(label, max(room-term.Width(side)-2, 1), "…")
		gap = max(room-term.Width(label)-term.Width(side), 1)
	}
	return line.Join(width, append(head, line.Span{Text: label, Style: style},
		line.Span{Text: strings.Repeat(" ", gap)}, line.Span{Text: side, Style: t.Dim})...)
}

// aside is the detail and the time of an item, for the right of its row. The label takes the room it needs: of the
// detail only as much is shown as fits beside it, since the preview has it too, but the time stays.
func (d *Picker) aside(item event.PickItem, room, most int) string {
	side := term.EscapeLine(item.Detail)
	if item.Time.IsZero() {
		return term.Truncate(side, most, "…")
	}
	when := ago(d.now().Sub(item.Time))
	if side == "" {
		return when
	}
	room = min(room, most) - term.Width(when) - 2
	if term.Width(side) > room && room < leastDetail {
		return when
	}
	return term.Truncate(side, room, "…") + "  " + when
}

// leastDetail is the room below which a part of a detail says nothing.
const leastDetail = 12

// column is where the details of a list begin that has no times: behind the widest label, at half of the width at
// most. 0: they are at the right.
func (d *Picker) column(width int) int {
	widest := 0
	for _, item := range d.pick.Items {
		if !item.Time.IsZero() || item.Depth > 0 {
			return 0
		}
		if item.Detail != "" {
			widest = max(widest, term.Width(term.EscapeLine(item.Label)))
		}
	}
	if widest == 0 {
		return 0
	}
	return min(widest+6, max(width/2, 1)) // the pointer, the mark of the current one, a gap
}

// tree are the lines that lead to the item at a place of the list, for at most so many levels. A list that is
// narrowed by a search has none.
func (d *Picker) tree(at, levels int) string {
	item := d.pick.Items[d.shown[at]]
	if item.Depth == 0 || d.search.text != "" {
		return ""
	}
	var b strings.Builder
	for level := max(1, item.Depth-levels+1); level <= item.Depth; level++ {
		more := d.branches(at, level)
		switch {
		case level == item.Depth && item.Starts && more:
			b.WriteString("├─")
		case level == item.Depth && item.Starts:
			b.WriteString("└─")
		case more:
			b.WriteString("│ ")
		default:
			b.WriteString("  ")
		}
	}
	return b.String() + " "
}

// branches reports whether another branch of that level begins below a place, beside the one that it is in.
func (d *Picker) branches(at, level int) bool {
	for _, n := range d.shown[at+1:] {
		switch item := d.pick.Items[n]; {
		case item.Depth < level:
			return false
		case item.Depth == level && item.Starts:
			return true
		}
	}
	return false
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
