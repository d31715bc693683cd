package tui

import (
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// colour is a terminal colour: its kind in the top byte.
type colour uint32

const (
	ansi16  colour = 1 << 24 // 0 to 15
	ansi256 colour = 2 << 24
	rgb     colour = 3 << 24
)

// attrs are the attributes of text.
type attrs uint16

const (
	bold attrs = 1 << iota
	faint
	italic
	blink
	reverse
	conceal
	strike
)

// style is how a character is drawn. The zero value is the terminal's default.
type style struct {
	fg, bg, line colour
	attrs        attrs
	under        uint8  // 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
	link         string // the parameters and URL of an OSC 8
}

// marksBlanks reports that a blank in this style looks different from a blank without style.
func (s style) marksBlanks() bool {
	return s.bg != 0 || s.under != 0 || s.attrs&(reverse|strike) != 0 || s.link != ""
}

// onBlanks is the part of the style that is visible on a blank.
func (s style) onBlanks() style {
	s.attrs &= reverse | strike
	if s.attrs == 0 && s.under == 0 {
		s.fg, s.line = 0, 0
	}
	return s
}

// escape reads the escape sequence at the start of s, applies it to st when it is a style or a link, and
// returns its length.
func escape(s string, st *style) int {
	n, complete := term.Sequence(s)
	if !complete {
		return n
	}
	if params, ok := term.SGR(s[:n]); ok {
		st.apply(params)
	} else if text, ok := term.OSC(s[:n]); ok {
		if link, ok := strings.CutPrefix(text, "8;"); ok {
			if _, url, _ := strings.Cut(link, ";"); url == "" {
				link = ""
			}
			st.link = link
		}
	}
	return n
}

// apply changes the style by the parameters of an SGR sequence.
func (s *style) apply(params string) {
	for more := true; more; {
		var p string
		p, params, more = strings.Cut(params, ";")
		head, sub, _ := strings.Cut(p, ":")
		n, _ := strconv.Atoi(head)
		switch {
		case n == 38 || n == 48 || n == 58:
			var c colour
			if sub != "" {
				c = subColour(sub)
			} else {
				c, params, more = nextColour(params, more)
			}
			*s.colour(n) = c
		case n == 4 && sub != "":
			u, _ := strconv.Atoi(sub)
			s.under = uint8(min(max(u, 0), 5))
		default:
			s.set(n)
		}
	}
}

func (s *style) colour(n int) *colour {
	switch n {
	case 38:
		return &s.fg
	case 48:
		return &s.bg
	}
	return &s.line
}

// subColour reads 5:n, 2::r:g:b and 2:r:g:b.
func subColour(sub string) colour {
	p := strings.Split(sub, ":")
	switch {
	case p[0] == "5" && len(p) > 1:
		return ansi256 | component(p[1])
	case p[0] == "2" && len(p) >= 4:
		p = p[len(p)-3:]
		return rgb | component(p[0])<<16 | component(p[1])<<8 | component(p[2])
	}
	return 0
}

// nextColour reads 5;n and 2;r;g;b.
func nextColour(params string, more bool) (colour, string, bool) {
	next := func() (p string) {
		if more {
			p, params, more = strings.Cut(params, ";")
		}
		return p
	}
	switch next() {
	case "5":
		return ansi256 | component(next()), params, more
	case "2":
		r, g, b := next(), next(), next()
		return rgb | component(r)<<16 | component(g)<<8 | component(b), params, more
	}
	return 0, params, more
}

func component(s string) colour {
	n, _ := strconv.Atoi(s)
	return colour(min(max(n, 0), 255))
}

// set applies a parameter without arguments.
func (s *style) set(n int) {
	switch {
	case n == 0:
		*s = style{link: s.link}
	case n >= 1 && n <= 9:
		s.turnOn(n)
	case n == 21:
		s.under = 2
	case n == 22:
		s.attrs &^= bold | faint
	case n == 23:
		s.attrs &^= italic
	case n == 24:
		s.under = 0
	case n == 25:
		s.attrs &^= blink
	case n == 27:
		s.attrs &^= reverse
	case n == 28:
		s.attrs &^= conceal
	case n == 29:
		s.attrs &^= strike
	case n >= 30 && n <= 37:
		s.fg = ansi16 | colour(n-30)
	case n == 39:
		s.fg = 0
	case n >= 40 && n <= 47:
		s.bg = ansi16 | colour(n-40)
	case n == 49:
		s.bg = 0
	case n == 59:
		s.line = 0
	case n >= 90 && n <= 97:
		s.fg = ansi16 | colour(n-90+8)
	case n >= 100 && n <= 107:
		s.bg = ansi16 | colour(n-100+8)
	}
}

func (s *style) turnOn(n int) {
	switch n {
	case 1:
		s.attrs |= bold
	case 2:
		s.attrs |= faint
	case 3:
		s.attrs |= italic
	case 4:
		s.under = 1
	case 5, 6:
		s.attrs |= blink
	case 7:
		s.attrs |= reverse
	case 8:
		s.attrs |= conceal
	case 9:
		s.attrs |= strike
	}
}

// onOff are the attributes with the parameters that set and reset them. Bold and faint share the reset.
var onOff = [...]struct {
	attr    attrs
	on, off string
}{
	{bold, "1", "22"},
	{faint, "2", "22"},
	{italic, "3", "23"},
	{blink, "5", "25"},
	{reverse, "7", "27"},
	{conceal, "8", "28"},
	{strike, "9", "29"},
}

// change appends the sequences that switch from one style to another, links included.
func change(b []byte, from, to style) []byte {
	if from.link != to.link {
		b = append(b, "\x1b]8;"...)
		if to.link == "" {
			b = append(b, ';')
		}
		b = append(b, to.link...)
		b = append(b, "\x1b\\"...)
		from.link = to.link
	}
	if from == to {
		return b
	}
	if to == (style{link: to.link}) {
		return append(b, "\x1b[m"...)
	}
	b = append(b, "\x1b["...)
	var step, whole [96]byte
	s, w := params(step[:0], from, to), params(append(whole[:0], '0', ';'), style{}, to)
	if len(w) < len(s) {
		s = w
	}
	b = append(b, s[:len(s)-1]...) // without the last semicolon
	return append(b, 'm')
}

// params appends the parameters that lead from one style to another, each with a semicolon.
func params(b []byte, from, to style) []byte {
	off := from.attrs &^ to.attrs
	if off&(bold|faint) != 0 {
		b = append(b, "22;"...)
		from.attrs &^= bold | faint
		off &^= bold | faint
	}
	for _, a := range onOff {
		switch {
		case off&a.attr != 0:
			b = append(append(b, a.off...), ';')
		case to.attrs&^from.attrs&a.attr != 0:
			b = append(append(b, a.on...), ';')
		}
	}
	if from.under != to.under {
		b = underline(b, to.under)
	}
	if from.fg != to.fg {
		b = colourParams(b, to.fg, 30)
	}
	if from.bg != to.bg {
		b = colourParams(b, to.bg, 40)
	}
	if from.line != to.line {
		b = colourParams(b, to.line, 50)
	}
	return b
}

func underline(b []byte, u uint8) []byte {
	switch u {
	case 0:
		return append(b, "24;"...)
	case 1:
		return append(b, "4;"...)
	}
	return append(b, '4', ':', '0'+u, ';')
}

// colourParams appends the parameters of a colour: base is 30 for the text, 40 for the background, 50 for
// the underline.
func colourParams(b []byte, c colour, base int) []byte {
	n := func(v colour) { b = append(strconv.AppendInt(b, int64(v), 10), ';') }
	switch v := c & 0xffffff; c &^ 0xffffff {
	case 0:
		n(colour(base + 9))
	case ansi16:
		if v < 8 {
			n(colour(base) + v)
		} else {
			n(colour(base) + 60 + v - 8)
		}
	case ansi256:
		n(colour(base + 8))
		b = append(b, "5;"...)
		n(v)
	default:
		n(colour(base + 8))
		b = append(b, "2;"...)
		n(v >> 16)
		n(v >> 8 & 255)
		n(v & 255)
	}
	return b
}
