package theme

import (
	"fmt"
	"image/color"
	"strconv"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// hue is one named colour of a palette: its value where the terminal shows many colours, and which of
// the 16 represents it elsewhere. The nearest of the 16 by arithmetic is often a wrong one, and their
// look is the user's choice, so it is named.
type hue struct {
	hex   string // "#rrggbb"; empty: the terminal's own colour
	basic int    // 1 + the number of one of the 16 colours; 0: none
}

// The 16 colours, as hue counts them.
const (
	black = iota + 1
	red
	green
	yellow
	blue
	magenta
	cyan
	white
	grey
	brightRed
	brightGreen
	brightYellow
	brightBlue
	brightMagenta
	brightCyan
	brightWhite
)

// foreground is the SGR parameter that draws text in the colour, "" for none.
func (h hue) foreground(p colorprofile.Profile) string { return h.parameter(p, 38, 30, 90) }

// background is the SGR parameter that draws behind text.
func (h hue) background(p colorprofile.Profile) string { return h.parameter(p, 48, 40, 100) }

func (h hue) parameter(p colorprofile.Profile, many, dim, bright int) string {
	switch {
	case p <= colorprofile.ASCII:
		return ""
	case p == colorprofile.ANSI || h.hex == "":
		return h.named(dim, bright)
	}
	r, g, b, ok := parseHex(h.hex)
	if !ok {
		return ""
	}
	near := ansi.Convert256(color.RGBA{r, g, b, 0xff})
	if p == colorprofile.ANSI256 || number(r, g, b) == int(near) {
		return fmt.Sprintf("%d;5;%d", many, uint8(near)) // the same colour, in fewer bytes
	}
	return fmt.Sprintf("%d;2;%d;%d;%d", many, r, g, b)
}

// number is the colour's number among xterm's 256, or -1. The first 16 are the user's own and not counted.
func number(r, g, b uint8) int {
	if r == g && g == b && r >= 8 && (r-8)%10 == 0 && r <= 238 {
		return 232 + int(r-8)/10
	}
	n := 0
	for _, c := range []uint8{r, g, b} {
		switch {
		case c == 0:
			n *= 6
		case c >= 95 && (c-95)%40 == 0:
			n = n*6 + 1 + int(c-95)/40
		default:
			return -1
		}
	}
	return 16 + n
}

func (h hue) named(dim, bright int) string {
	switch {
	case h.basic == 0:
		return ""
	case h.basic <= 8:
		return strconv.Itoa(dim + h.basic - 1)
	}
	return strconv.Itoa(bright + h.basic - 9)
}

// parseHex reads "#rrggbb".
func parseHex(s string) (r, g, b uint8, ok bool) {
	if len(s) != 7 || s[0] != '#' {
		return 0, 0, 0, false
	}
	n, err := strconv.ParseUint(s[1:], 16, 24)
	return uint8(n >> 16), uint8(n >> 8), uint8(n), err == nil
}
