package view

import (
	"strconv"
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
	sgr   map[string]string // the parameters in force, by kind
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
	sgr, ok := term.SGR(seq)
	if !ok || c.theme.Profile <= colorprofile.ASCII || len(seq) > 64 {
		return
	}
	params := strings.Split(strings.ReplaceAll(sgr, ":", ";"), ";")
	if c.sgr == nil {
		c.sgr = map[string]string{}
	}
	for i := 0; i < len(params); i++ {
		n, err := strconv.Atoi(params[i])
		switch {
		case params[i] == "", err == nil && n == 0:
			clear(c.sgr)
		case err != nil || n < 0:
			return
		case n == 38 || n == 48 || n == 58:
			i += c.extended(n, params[i+1:])
		default:
			c.one(n)
		}
	}
	var on []string
	for _, kind := range [...]string{"bold", "dim", "italic", "underline", "reverse", "strike", "fg", "bg"} {
		if p := c.sgr[kind]; p != "" {
			on = append(on, p)
		}
	}
	c.style = theme.Style{}
	if len(on) > 0 {
		c.style = theme.Style{Prefix: "\x1b[" + strings.Join(on, ";") + "m", Suffix: "\x1b[m"}
	}
}

// one takes a parameter that is alone. Text that hides or blinks is not kept.
func (c *colours) one(n int) {
	switch p := strconv.Itoa(n); {
	case n == 1:
		c.sgr["bold"] = p
	case n == 2:
		c.sgr["dim"] = p
	case n == 3:
		c.sgr["italic"] = p
	case n == 4:
		c.sgr["underline"] = p
	case n == 7:
		c.sgr["reverse"] = p
	case n == 9:
		c.sgr["strike"] = p
	case n == 22:
		delete(c.sgr, "bold")
		delete(c.sgr, "dim")
	case n == 23:
		delete(c.sgr, "italic")
	case n == 24:
		delete(c.sgr, "underline")
	case n == 27:
		delete(c.sgr, "reverse")
	case n == 29:
		delete(c.sgr, "strike")
	case n >= 30 && n <= 37, n >= 90 && n <= 97:
		c.sgr["fg"] = p
	case n >= 40 && n <= 47, n >= 100 && n <= 107:
		c.sgr["bg"] = p
	case n == 39:
		delete(c.sgr, "fg")
	case n == 49:
		delete(c.sgr, "bg")
	}
}

// extended takes a colour of 256 or of many ("5;n", "2;r;g;b") and returns how many parameters it is.
func (c *colours) extended(n int, params []string) int {
	kind := map[int]string{38: "fg", 48: "bg"}[n]
	need := 0
	switch {
	case len(params) >= 2 && params[0] == "5":
		need = 2
	case len(params) >= 4 && params[0] == "2":
		need = 4
	default:
		return len(params)
	}
	for _, p := range params[1:need] {
		if v, err := strconv.Atoi(p); err != nil || v < 0 || v > 255 {
			return len(params)
		}
	}
	shows := need == 2 && c.theme.Profile >= colorprofile.ANSI256 || c.theme.Profile >= colorprofile.TrueColor
	if kind != "" && shows {
		c.sgr[kind] = strconv.Itoa(n) + ";" + strings.Join(params[:need], ";")
	}
	return need
}
