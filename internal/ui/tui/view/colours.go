package view

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// longest is how much of one line of output is shown; more is cut off with a note.
const longest = 16 << 10

// colours turns lines that a program wrote for a terminal into spans: its colours are kept as far as the
// theme has any, the rest of its control sequences is dropped, and overwritten lines are shown as they
// was in the end.
type colours struct {
	theme *theme.Theme
	sgr   term.Graphics
	style theme.Style
}

func (c *colours) reset() { c.sgr, c.style = nil, theme.Style{} }

// line reads one line.
func (c *colours) line(s string) []line.Span {
	cut := 0
	if len(s) > longest {
		cut = len(s) - longest
		s = s[:longest]
		for s != "" && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && cut < len(s)+8 && s[len(s)-1] >= 0x80 {
			s, cut = s[:len(s)-1], cut+1
		}
	}
	s = final(s)
	spans := []line.Span{}
	add := func(text string) {
		if text != "" {
			spans = append(spans, line.Span{Text: text, Style: c.style})
		}
	}
	for {
		i := strings.IndexByte(s, '\x1b')
		if i < 0 {
			break
		}
		add(s[:i])
		n, _ := term.Sequence(s[i:])
		c.apply(s[i : i+n])
		s = s[i+n:]
	}
	add(s)
	c.finish(spans)
	if cut > 0 {
		spans = append(spans, line.Span{Text: " … " + size(cut) + " more in this line", Style: c.theme.Dim})
	}
	return spans
}

// finish makes the texts of spans safe, and their tabs spaces.
func (c *colours) finish(spans []line.Span) {
	col := 0
	for i := range spans {
		text := backspaced(spans[i].Text)
		text = term.Escape(strings.ReplaceAll(text, "\a", ""))
		if strings.Contains(text, "\t") {
			pad := strings.Repeat("x", col%8)
			text = untab(pad+text, 8)[len(pad):]
		}
		col += term.Width(text)
		spans[i].Text = text
	}
}

// final is the visible text of a line that went back to its start: the last one. Progress bars do that.
func final(s string) string {
	s = strings.TrimRight(s, "\r")
	if i := strings.LastIndexByte(s, '\r'); i >= 0 {
		return s[i+1:]
	}
	return s
}

// backspaced applies backspaces.
func backspaced(s string) string {
	if !strings.Contains(s, "\b") {
		return s
	}
	var out []rune
	for _, r := range s {
		switch {
		case r != '\b':
			out = append(out, r)
		case len(out) > 0:
			out = out[:len(out)-1]
		}
	}
	return string(out)
}

// apply takes an SGR sequence ("\x1b[1;31m") and ignores every other one.
func (c *colours) apply(seq string) {
	if c.theme.Profile <= colorprofile.ASCII {
		return
	}
	if c.sgr == nil {
		c.sgr = term.Graphics{}
	}
	if !c.sgr.Apply(seq) {
		return
	}
	var on []string
	for _, kind := range [...]string{"bold", "dim", "italic", "underline", "reverse", "strike", "fg", "bg"} {
		if p := c.sgr[kind]; p != "" && c.shows(p) {
			on = append(on, p)
		}
	}
	c.style = theme.Style{}
	if len(on) > 0 {
		c.style = theme.Style{Prefix: "\x1b[" + strings.Join(on, ";") + "m", Suffix: "\x1b[m"}
	}
}

// shows reports whether the terminal has the colours of a parameter.
func (c *colours) shows(p string) bool {
	switch {
	case len(p) > 3 && p[3] == '5':
		return c.theme.Profile >= colorprofile.ANSI256
	case len(p) > 3 && p[3] == '2':
		return c.theme.Profile >= colorprofile.TrueColor
	}
	return true
}
