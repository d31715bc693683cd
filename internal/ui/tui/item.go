package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
	"github.com/lathe-dev/lathe/internal/ui/tui/view"
)

// kind is the kind of an item of the transcript.
type kind int

const (
	userItem kind = iota
	replyItem
	reasoningItem
	toolItem
	noticeItem
	outputItem // the output of a slash command
	endItem    // how a turn ended
	toldItem   // a text that the model got and the user did not write
)

// look is how items are drawn, the same for all of them.
type look struct {
	theme *theme.Theme
	links bool // the terminal understands OSC 8
	file  func(path string, line int) string
	key   string // the key that expands everything
	all   bool   // everything is expanded
	spin  int    // the picture of the spinner

	name    string // of the theme, as it was asked for
	made    []byte // the file of the theme; nil: it has none
	dark    bool
	profile colorprofile.Profile
	problem error // with the theme that was asked for
	now     func() time.Time
	reduced bool // nothing moves
}

// item is one thing in the transcript. It keeps its content, and for a while the layout of that.
type item struct {
	kind kind
	key  string // of a part: message and index; of a tool call: its id
	look *look

	text     string
	short    string // of a message: with pastes as their labels; "": there are none
	level    string // of a notice
	advice   string // below a notice: the next move; below a message: the attached files
	view     event.View
	open     bool // expanded by itself
	shut     bool // folded by itself, though all are expanded
	stream   *reply
	tool     *call
	thinking bool   // reasoning that still streams
	child    string // the call of the subagent that it belongs to

	laid   bool        // height and the layout are known
	gap    int         // blank lines above
	lines  []string    // a layout that is made as a whole, without the gap
	body   *view.Block // a view, of which only visible lines are laid out
	height int
	width  int
	stale  bool
}

// live reports that the item still changes.
func (it *item) live() bool {
	return it.stream != nil && !it.stream.done || it.tool != nil && it.tool.state == theme.Running
}

// drop forgets the layout.
func (it *item) drop() {
	it.lines, it.body, it.laid = nil, nil, false
	switch {
	case it.stream == nil:
	case it.stream.done:
		it.stream = nil
	default:
		it.stream.text.Release()
	}
}

// touch says that the item has changed.
func (it *item) touch() { it.stale = true }

// expanded reports that all of the item is to be shown.
func (it *item) expanded() bool { return it.open || it.look.all && !it.shut }

// toggle expands or folds the item.
func (it *item) toggle() {
	if it.expanded() {
		it.open, it.shut = false, true
	} else {
		it.open, it.shut = true, false
	}
	it.touch()
}

// lay lays the item out, with a blank line above when gap is set.
func (it *item) lay(width int, gap bool) {
	width = max(width, 1)
	it.width, it.laid, it.stale = width, true, false
	switch {
	case it.markdown():
		it.height = it.reply().text.Height(width)
	case it.kind == toolItem:
		it.layCall(width)
	case it.kind == outputItem:
		it.body = view.New(it.view, it.viewOptions(width))
		it.height = it.body.Height()
	default:
		it.lines = it.render(width)
		it.height = len(it.lines)
	}
	it.gap = 0
	if gap && it.height > 0 {
		it.gap = 1
		it.height++
	}
}

// slice appends the lines from (from 0) up to but without to, as they were laid out.
func (it *item) slice(out []string, from, to int) []string {
	if from < it.gap && to > from {
		out = append(out, "")
	}
	from, to = max(from-it.gap, 0), to-it.gap
	switch {
	case to <= from:
		return out
	case it.markdown():
		return append(out, it.reply().text.Slice(it.width, from, to)...)
	}
	n := len(it.lines)
	out = append(out, it.lines[min(from, n):min(to, n)]...)
	if it.body == nil || to <= n {
		return out
	}
	below := it.body.Slice(max(from-n, 0), to-n)
	if it.kind == toolItem {
		for _, l := range below {
			if l != "" {
				l = "  " + l
			}
			out = append(out, l)
		}
		return out
	}
	return append(out, below...)
}

func (it *item) render(width int) []string {
	switch it.kind {
	case userItem:
		return it.renderUser(width)
	case reasoningItem:
		return it.renderReasoning(width)
	case noticeItem:
		return it.renderNotice(width)
	case endItem:
		return it.renderEnd(width)
	case toldItem:
		return it.renderTold(width)
	}
	return nil
}

// mark puts a mark before the first line and blanks of its width before the others.
func mark(lines []string, first, others string) []string {
	for i := range lines {
		switch {
		case i == 0:
			lines[i] = first + lines[i]
		case lines[i] != "":
			lines[i] = others + lines[i]
		}
	}
	return lines
}

func (it *item) renderUser(width int) []string {
	th := it.look.theme
	text := it.text
	if it.short != "" && !it.expanded() {
		text = it.short
	}
	lines := wrap(term.Escape(text), width-2)
	if most := 12; len(lines) > most && !it.expanded() {
		hidden := len(lines) - most + 1
		lines = append(lines[:most-1:most-1], "")
		lines[most-1] = "… " + plural(hidden, "more line")
	}
	for i := range lines {
		lines[i] = th.User.Render(lines[i])
	}
	if it.advice != "" {
		lines = append(lines, wrapStyled(term.EscapeLine("attached "+it.advice), width-2, th.Dim)...)
	}
	return mark(lines, th.User.Render("❯")+" ", "  ")
}

func (it *item) renderNotice(width int) []string {
	th := it.look.theme
	st, sign := th.Dim, "·"
	switch it.level {
	case "warning":
		st, sign = th.Warn, "!"
	case "error":
		st, sign = th.Bad, "✗"
	}
	lines := wrap(term.Escape(it.text), width-2)
	for i := range lines {
		lines[i] = st.Render(lines[i])
	}
	if it.advice != "" {
		for _, l := range wrap(it.advice, width-2) {
			lines = append(lines, th.Dim.Render(l))
		}
	}
	return mark(lines, st.Render(sign)+" ", "  ")
}

func (it *item) renderEnd(width int) []string {
	lines := wrap(term.EscapeLine(it.text), width)
	for i := range lines {
		lines[i] = it.look.theme.Faint.Render(lines[i])
	}
	return lines
}

func (it *item) renderReasoning(width int) []string {
	th := it.look.theme
	text := strings.TrimSpace(it.text)
	if text == "" {
		return nil
	}
	if !it.expanded() {
		return it.foldedReasoning(text, width)
	}
	lines := wrap(term.Escape(text), width-2)
	for i := range lines {
		lines[i] = th.Reasoning.Render(lines[i])
	}
	return mark(lines, th.Reasoning.Render("∴")+" ", "  ")
}

// renderTold is one line, or the whole text.
func (it *item) renderTold(width int) []string {
	th := it.look.theme
	if !it.expanded() {
		more := ""
		if n := strings.Count(it.text, "\n"); n > 0 {
			more = " (+" + plural(n, "line") + ")"
		}
		text := term.Truncate(it.level+": "+firstLine(it.text), max(width-2-len(more), 8), "…")
		return []string{th.Dim.Render("↳ " + text + more)}
	}
	lines := wrap(term.Escape(it.level+": "+it.text), width-2)
	for i := range lines {
		lines[i] = th.Dim.Render(lines[i])
	}
	return mark(lines, th.Dim.Render("↳")+" ", "  ")
}

// foldedReasoning is one line: while the model thinks its last words, after that how much there is.
func (it *item) foldedReasoning(text string, width int) []string {
	th := it.look.theme
	if it.thinking {
		last := text[strings.LastIndexByte(text, '\n')+1:]
		return []string{th.Reasoning.Render("∴ " + lastCells(term.EscapeLine(last), max(width-2, 1)))}
	}
	n := strings.Count(text, "\n") + 1
	return []string{th.Reasoning.Render(term.Truncate("∴ thought: "+firstLine(text), max(width-14, 8), "…") + " (" +
		plural(n, "line") + ")")}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return term.EscapeLine(s)
}
