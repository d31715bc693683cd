// Package line lays styled text out in lines of the terminal.
//
// The words: a span is text in one style; spans in a row are a paragraph, which [Wrap] breaks into lines of
// a given number of cells. A line is a string ready to be written: text, SGR sequences, and OSC 8 links;
// every line begins and ends in the terminal's own style.
//
// Promises: no line is wider than asked, whatever the text, and for any width from 1 cell. The text of a
// span is written by characters as people see them, never cut within one. Control characters are never
// written, even if a caller forgot to escape (see package term): a newline breaks the line, others vanish.
package line

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Span is text in one style. Text is escaped; a newline in it breaks the line. Link is a URL that was
// checked with [Link], or empty.
type Span struct {
	Text  string
	Style theme.Style
	Link  string
}

// Breaking is where a line may be broken.
type Breaking int

// Ways to break lines.
const (
	Words Breaking = iota // at spaces, which vanish there, and around ideographs; else anywhere
	Cells                 // anywhere, as code wants it: nothing vanishes
	None                  // nowhere: the rest is cut off, marked with …
)

// Format says how a paragraph is laid out.
type Format struct {
	Width       int    // cells of a whole line, its prefix included
	First, Rest []Span // before the first line, and before the others
	Breaking    Breaking
	Fill        bool        // pad lines to Width, in the style of FillStyle
	FillStyle   theme.Style // lies under the text, too
}

// Wrap lays spans out and appends the lines to dst. Without any text there is one line.
func Wrap(dst []string, spans []Span, f Format) []string {
	f.Width = max(f.Width, 1)
	w := wrapper{f: f, spans: spans, lines: dst}
	w.first, w.firstCells = w.prefix(f.First)
	w.rest, w.restCells = w.prefix(f.Rest)
	w.room = f.Width - w.firstCells
	w.run()
	return w.lines
}

// Plain is one span without style.
func Plain(text string) []Span { return []Span{{Text: text}} }

// Width is the number of cells that spans take in one line.
func Width(spans []Span) int {
	n := 0
	for _, s := range spans {
		n += term.Width(s.Text)
	}
	return n
}

// Join writes spans as one line of at most width cells.
func Join(width int, spans ...Span) string {
	return Wrap(nil, spans, Format{Width: width, Breaking: None})[0]
}

// Strip removes the SGR sequences and links that this package writes.
func Strip(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\x1b')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		n, _ := term.Sequence(s[i:])
		s = s[i+n:]
	}
}
