package dialog

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/permission"
	"github.com/lathe-dev/lathe/internal/ui/tui/keys"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
	"github.com/lathe-dev/lathe/internal/ui/tui/view"
)

// explain is the choice that this dialog adds: no, with a reason that the model reads.
const explain = "explain"

// Permission asks whether a call may run. It shows the whole command or change, the resolved targets,
// why it asks, and the rules that a lasting answer would keep.
type Permission struct {
	id    string
	q     event.Question
	theme *theme.Theme
	home  string
	opts  options

	page   page
	body   int // lines of the body
	room   int // rows of the body that were drawn last
	typing bool
	reason lineInput
	caret  [2]int

	width int      // the lines below were made for
	lines []string // of the body, above the block
	block *view.Block
	below []string
}

// Surroundings describe the terminal that a dialog is in.
type Surroundings struct {
	Theme *theme.Theme
	Home  string                     // paths in it are written with ~
	Key   func(a keys.Action) string // the key of an action; nil: none is shown
}

// NewPermission makes the dialog of a question that has a Permission.
func NewPermission(a event.Asked, s Surroundings) *Permission {
	d := &Permission{
		id: a.ID, q: a.Question, theme: s.Theme, home: s.Home,
		opts: options{brief: true, keys: map[string]string{}},
	}
	for _, o := range a.Question.Options {
		d.opts.items = append(d.opts.items, o)
		if o.ID == event.ChoiceNo && a.Question.Free {
			d.opts.items = append(d.opts.items, event.Option{ID: explain, Label: "No, and say why"})
		}
	}
	for _, q := range quick {
		if s.Key != nil && d.opts.keys[q.choice] == "" {
			d.opts.keys[q.choice] = s.Key(q.action)
		}
	}
	return d
}

// ID is the question's id.
func (d *Permission) ID() string { return d.id }

// Key takes a key.
func (d *Permission) Key(k Key) Result {
	if d.typing {
		return d.typed(k)
	}
	if d.page.key(k, d.room) {
		return Result{}
	}
	switch {
	case k.accepts():
		return d.choose(d.opts.at.at)
	case d.opts.digit(k) >= 0:
		return d.choose(d.opts.digit(k))
	case k.is(keys.ConfirmStop, keys.SelectCancel): // also where the question does not offer it
		return answer(event.Answer{Choice: event.ChoiceNo, Interrupt: true})
	}
	for _, q := range quick {
		if k.is(q.action) {
			return d.choose(d.opts.find(q.choice))
		}
	}
	d.opts.at.key(k, len(d.opts.items), 3)
	return Result{}
}

// quick are the keys that answer at once.
var quick = []struct {
	action keys.Action
	choice string
}{
	{keys.ConfirmYes, event.ChoiceOnce},
	{keys.ConfirmEdits, event.ChoiceEdits},
	{keys.ConfirmSession, event.ChoiceSession},
	{keys.ConfirmAlways, event.ChoiceAlways},
	{keys.ConfirmNo, event.ChoiceNo},
	{keys.ConfirmNever, event.ChoiceNever},
	{keys.ConfirmGuide, explain},
	{keys.ConfirmStop, event.ChoiceStop},
}

// Contexts are those of a question, or of a line that is typed.
func (d *Permission) Contexts() []keys.Context {
	if d.typing {
		return typing
	}
	return []keys.Context{keys.Confirmation, keys.Scroll}
}

// typed takes a key while the reason is written.
func (d *Permission) typed(k Key) Result {
	switch {
	case k.cancels():
		d.typing = false
	case k.accepts() && strings.TrimSpace(d.reason.text) == "":
		return Result{Toast: "write the reason, or press esc to go back"}
	case k.accepts():
		return answer(event.Answer{Choice: event.ChoiceNo, Text: strings.TrimSpace(d.reason.text)})
	default:
		d.reason.key(k)
	}
	return Result{}
}

func answer(a event.Answer) Result { return Result{Close: true, Answer: &a} }

// choose answers with the option at i. Lasting answers can be chosen only when everything was on the screen.
func (d *Permission) choose(i int) Result {
	if i < 0 || i >= len(d.opts.items) {
		return Result{}
	}
	d.opts.at.at = i
	switch id := d.opts.items[i].ID; id {
	case explain:
		d.typing = true
		return Result{}
	case event.ChoiceSession, event.ChoiceAlways, event.ChoiceEdits:
		if d.page.seen < d.body {
			d.page.top = d.page.seen
			return Result{Toast: "read it to the end first; a lasting yes covers more than this call"}
		}
		fallthrough
	default:
		return answer(event.Answer{Choice: id})
	}
}

// Cursor is where the reason is written.
func (d *Permission) Cursor() (x, y int, ok bool) { return d.caret[0], d.caret[1], d.typing }

// Lines draws the dialog.
func (d *Permission) Lines(width, height int) []string {
	w := inner(width)
	d.layout(w)
	lower, places := d.lower(w)
	room := rows(height)
	d.room = max(room-len(lower)-1, room/2, 1)
	d.room = min(d.room, d.body)
	from, to := d.page.window(d.room, d.body)
	lines := d.slice(from, to)
	if room-len(lines) > len(lower) {
		lines = append(lines, position(d.theme, w, from, to, d.body))
	}
	if !d.typing {
		lower = window(lower, places, d.opts.at.at, room-len(lines))
	}
	lines = fit(append(lines, lower...), room)
	if d.typing {
		d.caret[0], d.caret[1] = d.caret[0]+indent(width), len(lines)-under(height)
	}
	f := frame{theme: d.theme, title: d.title(), hints: d.hints(), note: term.EscapeLine(d.q.Text)}
	if _, isCommand := d.q.Preview.(event.Command); isCommand {
		f.note = ""
	}
	return f.draw(width, height, lines)
}

func (d *Permission) title() string {
	if strings.HasSuffix(d.q.Title, "?") {
		return term.EscapeLine(d.q.Title)
	}
	return "Allow " + term.EscapeLine(d.q.Title) + "?"
}

func (d *Permission) hints() []hint {
	switch {
	case d.typing:
		return []hint{{"enter", "send"}, {"esc", "back"}}
	case d.room < d.body:
		return []hint{{"enter", "choose"}, {"pgup/pgdn", "scroll"}, {"esc", "no, stop"}}
	}
	return []hint{{"enter", "choose"}, {"esc", "no, stop"}}
}

// position is the line between the body and the options: empty, or where in the body one is.
func position(t *theme.Theme, width, from, to, body int) string {
	if to-from >= body {
		return ""
	}
	return line.Join(width, line.Span{Text: fmt.Sprintf("— lines %d to %d of %d —", from+1, to, body), Style: t.Warn})
}

// lower is the part below the body: the options, or the line where the reason is written.
func (d *Permission) lower(width int) ([]string, []row) {
	if !d.typing {
		return d.opts.lines(d.theme, width)
	}
	label := "why not: "
	text, caret := d.reason.show(width - len(label))
	d.caret[0] = len(label) + caret
	return []string{line.Join(width, line.Span{Text: label, Style: d.theme.Accent}, line.Span{Text: text})}, nil
}

// layout makes the body for a width: the reason and the facts, then the command or the change.
func (d *Permission) layout(width int) {
	if d.width == width {
		return
	}
	d.width, d.lines, d.block, d.below = width, nil, nil, nil
	d.lines = d.dangers(d.lines, width)
	switch p := d.q.Preview.(type) {
	case nil:
		d.lines = d.input(d.lines, width)
	case event.Command:
		d.lines = d.command(d.warnings(d.lines, width, p), width, p)
	default:
		d.lines = d.surprises(d.lines, width)
		d.block = view.New(p, view.Options{Width: width, Theme: d.theme, Expanded: true, State: theme.Waiting})
	}
	facts := append([]string{""}, d.facts(nil, width)...)
	if d.block == nil {
		d.lines = append(d.lines, facts...)
		d.body = len(d.lines)
		return
	}
	d.below = facts
	d.body = len(d.lines) + d.block.Height() + len(facts)
}

// slice is a part of the body: the lines above the block, the block, the lines below it.
func (d *Permission) slice(from, to int) []string {
	n, h := len(d.lines), 0
	out := append([]string(nil), d.lines[min(from, n):min(to, n)]...)
	if d.block != nil {
		h = d.block.Height()
		out = append(out, d.block.Slice(min(max(from-n, 0), h), min(max(to-n, 0), h))...)
	}
	below := len(d.below)
	return append(out, d.below[min(max(from-n-h, 0), below):min(max(to-n-h, 0), below)]...)
}

// dangers are the findings of the static checks, first of all.
func (d *Permission) dangers(lines []string, width int) []string {
	if d.q.Permission == nil {
		return lines
	}
	for _, a := range d.q.Permission.Accesses {
		if a.Command == nil {
			continue
		}
		for _, f := range a.Command.Findings {
			style := d.theme.Warn
			if f.Effect == permission.Deny {
				style = d.theme.Bad
			}
			lines = line.Wrap(lines, []line.Span{{Text: term.EscapeLine(f.Text), Style: style}}, hang(width, "! ", style))
		}
	}
	return lines
}

// hang is a paragraph with a mark in front and a hanging indent.
func hang(width int, mark string, style theme.Style) line.Format {
	return line.Format{
		Width: width, First: []line.Span{{Text: mark, Style: style}},
		Rest: []line.Span{{Text: strings.Repeat(" ", term.Width(mark))}},
	}
}

// warnings list the losses a command would cause.
func (d *Permission) warnings(lines []string, width int, c event.Command) []string {
	for _, w := range c.Warning {
		lines = line.Wrap(lines, []line.Span{{Text: term.EscapeLine(w), Style: d.theme.Warn}},
			hang(width, "! ", d.theme.Warn))
	}
	return lines
}

// command shows a command line as it would run, line by line, nothing left out.
func (d *Permission) command(lines []string, width int, c event.Command) []string {
	mark := "$ "
	for text := range strings.SplitSeq(strings.TrimRight(c.Command, "\n"), "\n") {
		f := hang(width, mark, d.theme.Accent)
		f.Breaking = line.Cells
		lines = line.Wrap(lines, []line.Span{{Text: term.EscapeLine(text), Style: d.theme.Strong}}, f)
		mark = "  "
	}
	return lines
}

// kindsOf are the kinds of a chain of agents.
func kindsOf(chain []string) string {
	var out []string
	for _, link := range chain {
		kind, _, _ := strings.Cut(link, "/")
		out = append(out, kind)
	}
	return strings.Join(out, " > ")
}

// input shows the call's input where there is no better picture of it, a line for each parameter.
func (d *Permission) input(lines []string, width int) []string {
	text := d.q.Text
	if d.q.Call != nil {
		if rows, ok := parameters(d.q.Call.Input); ok {
			for _, row := range rows {
				spans := []line.Span{
					{Text: term.EscapeLine(row[0]) + ": ", Style: d.theme.Dim}, {Text: term.EscapeLine(row[1]), Style: d.theme.Strong},
				}
				lines = line.Wrap(lines, spans, line.Format{Width: width, Breaking: line.Cells})
			}
			return lines
		}
		text = string(d.q.Call.Input)
	}
	return line.Wrap(lines, []line.Span{{Text: term.EscapeLine(text), Style: d.theme.Strong}},
		line.Format{Width: width, Breaking: line.Cells})
}

// facts are the folder, the accesses, and the reason of the question.
func (d *Permission) facts(lines []string, width int) []string {
	if d.q.Permission != nil {
		for _, a := range d.q.Permission.Accesses {
			if d.block == nil || !surprising(a) { // else it is shown above
				lines = d.access(lines, width, a)
			}
		}
		lines = d.fact(lines, width, "in", d.path(d.q.Permission.Dir, ""))
		if len(d.q.Permission.Agent) > 0 {
			lines = d.fact(lines, width, "agent", kindsOf(d.q.Permission.Agent))
		}
	}
	if d.q.Reason != "" {
		lines = d.fact(lines, width, "why", d.reasonText())
	}
	if d.q.Undo != "" {
		lines = d.fact(lines, width, "undo", d.q.Undo)
	}
	if rules := d.rules(); rules != "" {
		lines = d.fact(lines, width, "rule", rules)
	}
	return lines
}

// surprises are the targets that the call does not name. They are above a change, however long that is.
func (d *Permission) surprises(lines []string, width int) []string {
	if d.q.Permission == nil {
		return lines
	}
	for _, a := range d.q.Permission.Accesses {
		if surprising(a) {
			lines = d.access(lines, width, a)
		}
	}
	return lines
}

func surprising(a permission.Access) bool {
	return a.Named != "" && a.Named != a.Target || a.Node == permission.Special || a.Links > 1
}

func (d *Permission) access(lines []string, width int, a permission.Access) []string {
	if name, text := d.accessFact(a); name != "" {
		return d.fact(lines, width, name, text)
	}
	return lines
}

func (d *Permission) fact(lines []string, width int, name, text string) []string {
	f := hang(width, fmt.Sprintf("%-8s", name), d.theme.Dim)
	if name != "why" && name != "undo" {
		f.Breaking = line.Cells
	}
	return line.Wrap(lines, []line.Span{{Text: term.EscapeLine(text)}}, f)
}

// rules are the ones that a lasting answer keeps: the help of the option that keeps most.
func (d *Permission) rules() string {
	for _, choice := range []string{event.ChoiceAlways, event.ChoiceSession, event.ChoiceNever} {
		if i := d.opts.find(choice); i >= 0 && d.opts.items[i].Help != "" {
			return strings.ReplaceAll(d.opts.items[i].Help, "\n", ", ")
		}
	}
	return ""
}

// accessFact describes an access: the resolved target, and the link it was named by.
func (d *Permission) accessFact(a permission.Access) (name, text string) {
	text = a.Target
	if a.Kind == permission.Read || a.Kind == permission.Write {
		text = d.path(a.Target, d.q.Permission.Dir)
		if a.Named != "" && a.Named != a.Target {
			text = d.path(a.Named, d.q.Permission.Dir) + " → " + text
		}
	}
	switch {
	case a.Node == permission.Special:
		text += " (a device or pipe)"
	case a.Links > 1 && a.Kind == permission.Write:
		text += fmt.Sprintf(" (the file has %d names)", a.Links)
	}
	switch a.Kind {
	case permission.Read:
		return "reads", text
	case permission.Write:
		return "writes", text
	case permission.Net:
		return "reaches", text
	case permission.Exec:
		return programs(a)
	}
	return "", ""
}

// reasonText is the reason, with paths below the folder relative to it where they are as words of their own.
func (d *Permission) reasonText() string {
	if d.q.Permission == nil || len(d.q.Permission.Dir) < 2 {
		return d.q.Reason
	}
	below := d.q.Permission.Dir + string(filepath.Separator)
	text := strings.ReplaceAll(d.q.Reason, " "+below, " ")
	return strings.TrimPrefix(text, below)
}

// path is a path as people write it: relative to dir where it is below that, with ~ in the home.
func (d *Permission) path(path, dir string) string {
	if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
		return rel
	}
	if rest, ok := strings.CutPrefix(path, d.home); ok && len(d.home) > 1 &&
		(rest == "" || rest[0] == filepath.Separator) {
		return "~" + rest
	}
	return path
}

// programs names the files that a command would run.
func programs(a permission.Access) (name, text string) {
	if a.Command == nil {
		return "", ""
	}
	var paths []string
	for _, p := range a.Command.Parts {
		if p.Path != "" && !strings.Contains(strings.Join(paths, " "), p.Path) {
			paths = append(paths, p.Path)
		}
	}
	if len(paths) == 0 {
		return "", ""
	}
	return "runs", strings.Join(paths, ", ")
}
