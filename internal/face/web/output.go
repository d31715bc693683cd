package web

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

const (
	outputHead, outputTail = 6, 12   // lines of output that are shown before the rest is unfolded
	longestLine            = 8 << 10 // bytes of a line of output; more is cut off with a note
	mostOutput             = 2000    // lines; more are left out in the middle
)

// output writes what a program wrote for a terminal: its colours are kept, the rest of its control sequences is
// dropped, and overwritten lines are shown as they were in the end.
func output(w *writer, text string) {
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return
	}
	list := strings.Split(text, "\n")
	w.tag(`<pre class="out" tabindex="0">`)
	fold := newFold(w, len(list), outputHead, outputTail)
	g := term.Graphics{}
	for i, s := range list {
		fold.at(i)
		if len(list) > mostOutput && i >= mostOutput/2 && i < len(list)-mostOutput/2 {
			if i == mostOutput/2 {
				w.text("… " + count(len(list)-mostOutput, "line") + " not shown\n")
			}
			continue
		}
		outputLine(w, g, s)
		w.tag("\n")
	}
	fold.end()
	w.tag("</pre>")
}

func outputLine(w *writer, g term.Graphics, s string) {
	s = strings.TrimRight(s, "\r")
	s = s[strings.LastIndexByte(s, '\r')+1:]
	cut := max(0, len(s)-longestLine)
	s = strings.ToValidUTF8(s[:len(s)-cut], "")
	for s != "" {
		i := strings.IndexByte(s, '\x1b')
		if i < 0 {
			i = len(s)
		}
		coloured(w, g, s[:i])
		if s = s[i:]; s != "" {
			n, _ := term.Sequence(s)
			g.Apply(s[:n])
			s = s[n:]
		}
	}
	if cut > 0 {
		w.element(`<span class="dim">`, fmt.Sprintf(" … %d more bytes in this line", cut), "</span>")
	}
}

func coloured(w *writer, g term.Graphics, text string) {
	if text = backspaced(strings.ReplaceAll(text, "\a", "")); text == "" {
		return
	}
	if len(g) == 0 {
		w.text(text)
		return
	}
	w.tag(`<span class="ansi`)
	for _, kind := range [...]markup{"bold", "dim", "italic", "underline", "reverse", "strike"} {
		if g[string(kind)] != "" {
			w.tag(" ", kind)
		}
	}
	for _, kind := range [...]markup{"fg", "bg"} {
		if n := colour(g[string(kind)]); n >= 0 {
			w.tag(" ", kind)
			w.text(strconv.Itoa(n))
		}
	}
	w.tag(`">`)
	w.text(text)
	w.tag("</span>")
}

// colour is the number, among 256, of the colour that a parameter of SGR names; -1: none. Of others the nearest.
func colour(p string) int {
	parts := strings.Split(p, ";")
	n, err := strconv.Atoi(parts[len(parts)-1])
	switch {
	case err != nil:
		return -1
	case len(parts) == 3:
		return n & 0xff
	case len(parts) == 5:
		level := func(i int) int { v, _ := strconv.Atoi(parts[i]); return (v*5 + 127) / 255 }
		return 16 + 36*level(2) + 6*level(3) + level(4)
	case n >= 100:
		return n - 100 + 8
	case n >= 90:
		return n - 90 + 8
	}
	return n % 10
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

// palette is the style sheet of the 240 colours above the first 16, which the themes choose.
func palette() string {
	var b strings.Builder
	for n := 16; n < 256; n++ {
		var red, green, blue int
		if n < 232 {
			steps := [...]int{0, 95, 135, 175, 215, 255} // of xterm's cube
			red, green, blue = steps[(n-16)/36], steps[(n-16)/6%6], steps[(n-16)%6]
		} else {
			red = 8 + 10*(n-232)
			green, blue = red, red
		}
		fmt.Fprintf(&b, ".fg%d{color:#%02x%02x%02x}.bg%d{background:#%02x%02x%02x}\n", n, red, green, blue, n, red, green, blue)
	}
	return b.String()
}

// count is a number of things: "1 line", "2 lines".
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
