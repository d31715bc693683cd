package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// look is how a piece of a line looks.
type look struct {
	fg, bg                                         string // "#rrggbb"; empty: the terminal's own
	bold, dim, italic, underline, strike, reversed bool
}

// piece is text of one look, from a column on.
type piece struct {
	look
	column, cells int
	text          string
}

// split yields the text between a line's escape sequences, and the parameters of those that set colours and attributes.
func split(line string, text, sgr func(string)) {
	for line != "" {
		if line[0] == esc {
			n, _ := term.Sequence(line)
			if params, ok := term.SGR(line[:n]); ok {
				sgr(params)
			}
			line = line[n:]
			continue
		}
		n := strings.IndexByte(line, esc)
		if n < 0 {
			n = len(line)
		}
		text(strings.Map(printable, line[:n]))
		line = line[n:]
	}
}

const esc = 0x1b

// printable drops control characters, such as those that switch character sets.
func printable(r rune) rune {
	if unicode.IsControl(r) && r != '\t' {
		return -1
	}
	return r
}

// plain returns a line without escape sequences.
func plain(line string) string {
	var b strings.Builder
	split(line, func(s string) { b.WriteString(s) }, func(string) {})
	return b.String()
}

// basic are the 16 colours on a dark background.
var basic = [16]string{
	"#484f58", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d0d7de",
	"#8b949e", "#ffa198", "#aff5b4", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
}

const (
	ink, paper  = "#e6edf3", "#0d1117"
	cellW       = 8.4
	cellH       = 18.0
	pad         = 16.0
	fontAndSize = `font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14"`
)

// pieces reads a line with its sequences. The look goes on from l and is returned for the next line.
func pieces(line string, l look) ([]piece, look) {
	var out []piece
	column := 0
	put := func(s string) {
		if s == "" {
			return
		}
		n := term.Width(s)
		out = append(out, piece{l, column, n, s})
		column += n
	}
	split(line, put, func(params string) { l = l.with(params) })
	return out, l
}

// with applies the parameters of an SGR sequence.
func (l look) with(params string) look {
	p := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(p) == 0 {
		return look{}
	}
	for i := 0; i < len(p); i++ {
		n, _ := strconv.Atoi(p[i])
		switch {
		case n == 0:
			l = look{}
		case n == 38 || n == 48:
			c, used := extended(p[i+1:])
			i += used
			if n == 38 {
				l.fg = c
			} else {
				l.bg = c
			}
		case n >= 30 && n <= 37:
			l.fg = basic[n-30]
		case n >= 90 && n <= 97:
			l.fg = basic[n-82]
		case n >= 40 && n <= 47:
			l.bg = basic[n-40]
		case n >= 100 && n <= 107:
			l.bg = basic[n-92]
		case n == 39:
			l.fg = ""
		case n == 49:
			l.bg = ""
		default:
			l = l.attribute(n)
		}
	}
	return l
}

func (l look) attribute(n int) look {
	switch n {
	case 1:
		l.bold = true
	case 2:
		l.dim = true
	case 3:
		l.italic = true
	case 4:
		l.underline = true
	case 7:
		l.reversed = true
	case 9:
		l.strike = true
	case 22:
		l.bold, l.dim = false, false
	case 23:
		l.italic = false
	case 24:
		l.underline = false
	case 27:
		l.reversed = false
	case 29:
		l.strike = false
	}
	return l
}

// extended reads "5;n" or "2;r;g;b" and says how many parameters it took.
func extended(p []string) (colour string, used int) {
	at := func(i int) int {
		n, _ := strconv.Atoi(p[i])
		return min(max(n, 0), 255)
	}
	switch {
	case len(p) >= 2 && p[0] == "5":
		return numbered(at(1)), 2
	case len(p) >= 4 && p[0] == "2":
		return fmt.Sprintf("#%02x%02x%02x", at(1), at(2), at(3)), 4
	}
	return "", len(p)
}

// numbered is one of xterm's 256 colours.
func numbered(n int) string {
	switch {
	case n < 16:
		return basic[n]
	case n >= 232:
		v := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", v, v, v)
	}
	level := func(v int) int {
		if v == 0 {
			return 0
		}
		return 55 + 40*v
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}

// colours are the text's colour and background, swapped if reversed.
func (l look) colours() (fg, bg string) {
	fg, bg = l.fg, l.bg
	if l.reversed {
		if fg == "" {
			fg = ink
		}
		if bg == "" {
			bg = paper
		}
		fg, bg = bg, fg
	}
	if fg == "" && l.dim {
		fg = "#8b949e"
	}
	return fg, bg
}

// dense leaves one empty row of each run of them, and none at the top and the bottom: a still picture of a screen
// that is half empty says less.
func dense(lines []string) []string {
	var out []string
	empty := true
	for _, line := range lines {
		is := strings.TrimSpace(plain(line)) == ""
		if !is || !empty {
			out = append(out, line)
		}
		empty = is
	}
	if n := len(out); n > 0 && empty {
		out = out[:n-1]
	}
	return out
}

// drawRow draws one line of the screen at a row: the background, and the text.
func drawRow(line string, row int) string {
	list, _ := pieces(strings.ReplaceAll(line, "\t", "    "), look{})
	var back, text strings.Builder
	y := pad + float64(row)*cellH
	for _, p := range list {
		x := pad + float64(p.column)*cellW
		fg, bg := p.colours()
		if bg != "" {
			fmt.Fprintf(&back, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x, y, float64(p.cells)*cellW,
				cellH, bg)
		}
		if strings.TrimSpace(p.text) == "" {
			continue
		}
		fmt.Fprintf(&text, `<tspan x="%.1f"%s>%s</tspan>`, x, p.attributes(fg), strings.ReplaceAll(html.EscapeString(p.text),
			" ", "\u00a0"))
	}
	if text.Len() == 0 {
		return back.String()
	}
	return back.String() + fmt.Sprintf(`<text y="%.1f">%s</text>`, y+13, text.String())
}

func (l look) attributes(fg string) string {
	var b strings.Builder
	if fg != "" {
		b.WriteString(` fill="` + fg + `"`)
	}
	if l.bold {
		b.WriteString(` font-weight="bold"`)
	}
	if l.italic {
		b.WriteString(` font-style="italic"`)
	}
	switch {
	case l.underline && l.strike:
		b.WriteString(` text-decoration="underline line-through"`)
	case l.underline:
		b.WriteString(` text-decoration="underline"`)
	case l.strike:
		b.WriteString(` text-decoration="line-through"`)
	}
	return b.String()
}

// svg draws lines as a picture of so many columns.
func svg(lines []string, columns int) string {
	var b strings.Builder
	open(&b, columns, len(lines))
	for i, l := range lines {
		if s := drawRow(l, i); s != "" {
			b.WriteString(s + "\n")
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func open(b *strings.Builder, columns, rows int) {
	w, h := float64(columns)*cellW+2*pad, float64(rows)*cellH+2*pad
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n", w,
		h, w, h)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", paper)
	fmt.Fprintf(b, `<g %s fill="%s" xml:space="preserve">`+"\n", fontAndSize, ink)
}

// shot is the screen at a time.
type shot struct {
	at    float64 // seconds
	lines []string
}

// film draws screens as one moving picture, which begins again when it ended. A row is drawn once for each
// thing that it shows, with the times at which it shows it.
func film(shots []shot, columns int, length float64) string {
	var b strings.Builder
	rows := 0
	for _, s := range shots {
		rows = max(rows, len(s.lines))
	}
	open(&b, columns, rows)
	for row := range rows {
		var order []string
		spans := map[string][][2]float64{}
		for i, s := range shots {
			end := length
			if i+1 < len(shots) {
				end = shots[i+1].at
			}
			text := ""
			if row < len(s.lines) {
				text = s.lines[row]
			}
			drawn := drawRow(text, row)
			list, seen := spans[drawn]
			if !seen {
				order = append(order, drawn)
			}
			if n := len(list); n > 0 && list[n-1][1] == s.at {
				list[n-1][1] = end
			} else {
				list = append(list, [2]float64{s.at, end})
			}
			spans[drawn] = list
		}
		for _, drawn := range order {
			if drawn != "" {
				b.WriteString(shownAt(drawn, spans[drawn], length))
			}
		}
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// shownAt is a row that is visible only in some spans of time.
func shownAt(drawn string, spans [][2]float64, length float64) string {
	if len(spans) == 1 && spans[0][0] <= 0 && spans[0][1] >= length {
		return drawn + "\n"
	}
	values, times := []string{}, []string{}
	add := func(v string, at float64) {
		values, times = append(values, v), append(times, strconv.FormatFloat(at/length, 'f', 4, 64))
	}
	if spans[0][0] > 0 {
		add("hidden", 0)
	}
	for _, s := range spans {
		add("visible", s[0])
		if s[1] < length {
			add("hidden", s[1])
		}
	}
	still := "hidden" // where nothing moves, the end is shown
	if spans[len(spans)-1][1] >= length {
		still = "visible"
	}
	return fmt.Sprintf(
		`<g visibility="%s"><animate attributeName="visibility" calcMode="discrete" dur="%.2fs" repeatCount="indefinite" values="%s" keyTimes="%s"/>%s</g>`+"\n",
		still, length, strings.Join(values, ";"), strings.Join(times, ";"), drawn)
}

// columnsOf is the width of the widest line.
func columnsOf(lines []string) int {
	n := 0
	for _, l := range lines {
		if s := plain(l); utf8.ValidString(s) {
			n = max(n, term.Width(s))
		}
	}
	return n
}
