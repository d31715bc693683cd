package view

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/syntax"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/markdown"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Rows of a short view.
const (
	shortList   = 6
	shortText   = 6
	shortHead   = 3
	shortTail   = 5
	shortDiff   = 24
	shortTodo   = 12
	shortResult = 4
	liveTail    = 6
	failedLines = 3 // of one line of a call's error
)

// breaking is how lines are broken: short views cut them off, expanded ones show all of them.
func (b *Block) breaking() line.Breaking {
	if b.o.Expanded {
		return line.Cells
	}
	return line.None
}

func (b *Block) listing(v event.Listing) {
	for _, s := range v.Items {
		b.add(b.t.Text, shown(s), b.breaking())
	}
	if hidden := len(b.rows) - shortList; !b.o.Expanded && hidden > 1 {
		b.rows = b.rows[:shortList]
		b.rows = append(b.rows, row{spans: b.note(max(v.Total, len(v.Items))-shortList, "item"), brk: line.None, side: none})
		return
	}
	switch {
	case len(v.Items) == 0 && b.alone():
		b.add(b.t.Dim, "nothing found", line.None)
	case v.Total > len(v.Items):
		b.add(b.t.Dim, "… "+count(v.Total-len(v.Items), "more item")+" not listed", line.None)
	case v.Truncated:
		b.add(b.t.Dim, "… there are more, not listed", line.None)
	}
}

// text draws a text. A short one with a summary shows only that.
func (b *Block) text(v event.TextView) {
	if v.Text == "" || v.Summary != "" && !b.o.Expanded {
		if v.Summary != "" && v.Text == "" && (b.alone() || b.o.State != theme.Done) { // the header of a finished call has it
			b.add(b.t.Dim, term.EscapeLine(v.Summary), line.Words)
		}
		return
	}
	b.lang = syntax.Find(v.Language)
	if b.lang == nil {
		b.lang = syntax.ForPath(v.Path)
	}
	brk, most := b.breaking(), 0
	if b.o.State == theme.Failed && !b.o.Expanded { // the reason, and the advice at its end
		brk, most = line.Words, failedLines*b.width
	}
	for _, s := range lines(term.Escape(v.Text)) {
		if s = untab(s, tabStop); most > 0 {
			s = term.Truncate(s, most, "…")
		}
		b.rows = append(b.rows, row{text: s, style: b.t.Text, brk: brk, side: both})
	}
	b.fold(shortText, 0, "line")
}

// Marks of tasks, one cell each.
const (
	taskOpen   = "☐"
	taskActive = "◐"
	taskDone   = "☑"
)

func (b *Block) todo(v event.Todo) {
	for _, i := range v.Items {
		mark, style, text := taskOpen, b.t.Text, i.Content
		switch i.Status {
		case "completed":
			mark, style = taskDone, b.t.Dim.With(b.t.Strike)
		case "in_progress":
			mark, style = taskActive, b.t.Strong
			if i.ActiveForm != "" {
				text = i.ActiveForm
			}
		}
		markStyle := style
		if i.Status == "completed" {
			markStyle = b.t.Good
		}
		b.rows = append(b.rows, row{
			first: []line.Span{{Text: mark, Style: markStyle}, {Text: " "}},
			text:  term.EscapeLine(text), style: style, side: none,
		})
	}
	if len(v.Items) == 0 {
		b.add(b.t.Dim, "no tasks", line.None)
	}
	b.foldTodo(v)
}

// foldTodo keeps the tasks around the one at work.
func (b *Block) foldTodo(v event.Todo) {
	if b.o.Expanded || len(b.rows) <= shortTodo+1 {
		return
	}
	from := 0
	for i, item := range v.Items {
		if item.Status != "completed" {
			from = max(0, i-2)
			break
		}
	}
	from = min(from, len(b.rows)-shortTodo)
	rows := b.rows[from : from+shortTodo]
	var out []row
	if from > 0 {
		out = append(out, row{spans: b.note(from, "task"), brk: line.None, side: none})
	}
	out = append(out, rows...)
	if rest := len(b.rows) - from - shortTodo; rest > 0 {
		out = append(out, row{spans: b.note(rest, "task"), brk: line.None, side: none})
	}
	b.rows = out
}

func (b *Block) image(v event.Image) {
	if !b.alone() {
		return
	}
	name := term.EscapeLine(v.Name)
	if name == "" {
		name = "image"
	}
	b.rows = append(b.rows, row{side: none, brk: line.Words, spans: []line.Span{
		{Text: name, Style: b.t.Text}, {Text: "  " + term.EscapeLine(v.MIME) + ", " + size(len(v.Data)), Style: b.t.Dim},
	}})
}

// subagent draws a subagent's result, folded to the first lines.
func (b *Block) subagent(v event.Subagent) {
	own, colored := b.t.Agent(v.Color)
	head := []line.Span{{Text: term.EscapeLine(v.Agent), Style: b.t.Accent}}
	if colored {
		head[0].Style = own
	}
	if v.Title != "" {
		head = append(head, line.Span{Text: ": " + term.EscapeLine(v.Title), Style: b.t.Text})
	}
	if v.Steps > 0 {
		head = append(head, line.Span{Text: "  " + count(v.Steps, "step"), Style: b.t.Dim})
	}
	if b.alone() {
		b.rows = append(b.rows, row{spans: head, brk: line.Words, side: none})
	}
	above := len(b.rows)
	bar := b.t.Border.Render("│") + " "
	if colored {
		bar = own.Render("│") + " "
	}
	room := b.width - 2
	if room < 8 {
		bar, room = "", b.width
	}
	text := v.Result
	if text == "" {
		text = b.o.Live
	}
	for _, s := range markdown.Render(text, room, markdown.Options{Theme: b.t, Links: b.o.Links}) {
		b.rows = append(b.rows, row{text: strings.TrimRight(bar+s, " "), drawn: true})
	}
	if v.Result == "" {
		b.fold(above, shortResult, "line")
		return
	}
	b.fold(above+shortResult, 0, "line")
}

// unknown draws a shape that this version does not know: its name, and its content as it came.
func (b *Block) unknown(v event.UnknownView) {
	b.add(b.t.Dim, "a view of the kind "+quoted(v.Shape)+", which this version cannot draw", line.Words)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, v.JSON, "", "  "); err != nil {
		pretty.Reset()
		pretty.Write(v.JSON)
	}
	for _, s := range lines(term.Escape(pretty.String())) {
		b.add(b.t.Text, untab(s, tabStop), b.breaking())
	}
	b.fold(1, 0, "line")
}

func quoted(s string) string { return "“" + strings.TrimSpace(term.EscapeLine(s)) + "”" }
