package markdown

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/base/gfm"
	"github.com/lathe-dev/lathe/internal/base/syntax"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// layout is a leaf laid out.
type layout struct {
	width int // 0: not laid out
	lines []string
}

// leaf is a block with its layout.
type (
	leaf   = gfm.Leaf[own]
	blocks = gfm.Blocks[own]
)

// own is what is kept with a block.
type own struct {
	growing bool            // more of it may come
	missing []string        // labels of links that it refers to, if they get defined
	cells   [][][]line.Span // of a table: rows that were read already
	after   syntax.State    // of code: where highlighting is behind its last line

	layout layout
}

// renderer lays leaves out.
type renderer struct {
	options Options
	theme   *theme.Theme
	links   gfm.Links
	begun   begun
}

var noTheme = &theme.Theme{Bare: true}

func newRenderer(o Options) *renderer {
	r := &renderer{options: o, theme: o.Theme, links: gfm.Links{}}
	if r.theme == nil {
		r.theme = noTheme
	}
	return r
}

// lay lays a leaf out, unless that was done before.
func (r *renderer) lay(l *leaf, width int) []string {
	if l.Own.layout.width == width {
		return l.Own.layout.lines
	}
	l.Own.layout = layout{width, r.leaf(l, width)}
	return l.Own.layout.lines
}

func (r *renderer) leaf(l *leaf, width int) []string {
	var out []string
	if l.Gap {
		out = append(out, r.gapLine(l, width))
	}
	first, rest := r.frame(l)
	t := r.theme
	switch l.Kind {
	case gfm.Paragraph:
		text, read := strings.Join(l.Lines, "\n"), r.inline
		if l.Own.growing {
			read = r.growing
		}
		return line.Wrap(out, read(l, text, r.base(l)), line.Format{Width: width, First: first, Rest: rest})
	case gfm.Heading:
		return line.Wrap(out, r.heading(l), line.Format{Width: width, First: first, Rest: rest})
	case gfm.Fence, gfm.Indented:
		return r.code(out, l, width, first, rest)
	case gfm.HTML:
		for _, s := range l.Lines {
			out = line.Wrap(out, []line.Span{{Text: s, Style: t.Dim}}, line.Format{
				Width: width, First: first, Rest: rest,
				Breaking: line.Cells,
			})
			first = rest
		}
		return out
	case gfm.Rule:
		room := max(1, width-line.Width(first))
		return append(out, line.Join(width, append(first, line.Span{Text: strings.Repeat("─", room), Style: t.Rule})...))
	case gfm.Table:
		return append(out, r.table(l, width)...)
	}
	return append(out, strings.TrimRight(line.Join(width, first...), " "))
}

// base is the style of a block's text.
func (r *renderer) base(l *leaf) theme.Style {
	for _, c := range l.Frame {
		if c.Quote {
			return r.theme.Quote
		}
	}
	return r.theme.Text
}

func (r *renderer) heading(l *leaf) []line.Span {
	style := r.theme.Heading3
	switch l.Level {
	case 1:
		style = r.theme.Heading1
	case 2:
		style = r.theme.Heading2
	}
	spans := r.inline(l, strings.TrimRight(strings.Join(l.Lines, "\n"), " "), style)
	if r.theme.Bare || l.Level > 3 {
		return append([]line.Span{{Text: strings.Repeat("#", l.Level) + " ", Style: style}}, spans...)
	}
	return spans
}

// codeIndent is the indentation of code. There is no frame, so that code can be copied from the screen.
const codeIndent = "  "

func (r *renderer) code(out []string, l *leaf, width int, first, rest []line.Span) []string {
	indent := line.Span{Text: codeIndent}
	first, rest = append(first[:len(first):len(first)], indent), append(rest[:len(rest):len(rest)], indent)
	var lang *syntax.Language
	if l.Kind == gfm.Fence {
		lang = syntax.Find(language(l.Info))
	}
	var state syntax.State
	if l.Before != nil {
		state = l.Before.Own.after
	}
	for _, s := range l.Lines {
		var spans []line.Span
		spans, state = r.highlight(lang, state, s)
		if strings.TrimSpace(s) == "" {
			out, first = append(out, strings.TrimRight(line.Join(width, first...), " ")), rest
			continue
		}
		out = line.Wrap(out, spans, line.Format{Width: width, First: first, Rest: rest, Breaking: line.Cells})
		first = rest
	}
	if len(l.Lines) == 0 && !l.Joined {
		out = append(out, strings.TrimRight(line.Join(width, first...), " "))
	}
	l.Own.after = state
	return out
}

// highlight is one line of code.
func (r *renderer) highlight(lang *syntax.Language, state syntax.State, s string) ([]line.Span, syntax.State) {
	if lang == nil {
		return []line.Span{{Text: s, Style: r.theme.CodeBlock}}, state
	}
	var spans []line.Span
	state = lang.Line(state, s, func(k syntax.Kind, text string) {
		spans = append(spans, line.Span{Text: text, Style: r.theme.Paint(k)})
	})
	return spans, state
}

// language is the name in the info string of a fence: "go", "{.python}", "rust,ignore", "js title=x".
func language(info string) string {
	name := strings.TrimLeft(info, "{. ")
	if i := strings.IndexAny(name, " ,;:{}("); i >= 0 {
		name = name[:i]
	}
	return name
}

// frame is the prefix of the first line of a leaf and of the others.
func (r *renderer) frame(l *leaf) (first, rest []line.Span) {
	for _, c := range l.Frame {
		if c.Quote {
			bar := line.Span{Text: "│ ", Style: r.theme.Rule}
			first, rest = append(first, bar), append(rest, bar)
			continue
		}
		mark := line.Span{Text: c.Marker + " ", Style: r.theme.Mark}
		switch c.Task {
		case ' ':
			mark.Text = taskMark(c.Marker, "☐ ")
		case 'x':
			mark.Text = taskMark(c.Marker, "☑ ")
		}
		blank := line.Span{Text: strings.Repeat(" ", line.Width([]line.Span{mark}))}
		if c.First {
			first = append(first, mark)
		} else {
			first = append(first, blank)
		}
		rest = append(rest, blank)
	}
	return first, rest
}

// taskMark puts a box in the place of a bullet, or behind a number.
func taskMark(marker, box string) string {
	if marker[0] >= 0x80 {
		return box
	}
	return marker + " " + box
}

// gapLine is the blank line before a leaf: the bars of the quotes that go on.
func (r *renderer) gapLine(l *leaf, width int) string {
	var spans []line.Span
	end := 0
	for _, c := range l.Frame {
		if c.First {
			break
		}
		s := line.Span{Text: strings.Repeat(" ", line.Width(line.Plain(c.Marker))+1)}
		if c.Quote {
			s = line.Span{Text: "│ ", Style: r.theme.Rule}
		}
		if spans = append(spans, s); c.Quote {
			end = len(spans)
		}
	}
	if end == 0 {
		return ""
	}
	spans = spans[:end]
	spans[end-1].Text = "│"
	return line.Join(width, spans...)
}
