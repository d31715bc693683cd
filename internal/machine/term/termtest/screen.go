// Package termtest drives a program in a terminal of its own, and reads its screen.
//
// The words: a [Screen] is a terminal's content after the bytes that it was given; a [Terminal] is a
// pseudo-terminal with a screen, and a program at its other end. Tests wait for content, never for a time:
// a test fails when that has not come within [Patience].
package termtest

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// Screen is a terminal's content after the bytes that are written to it. It understands, as xterm does,
// the sequences that lathe writes, and lists all others. Not safe for concurrent use.
type Screen struct {
	W, H       int
	Grid       [][]Cell // the rows, from the top
	Scrollback []string // rows that left the screen at the top
	X, Y       int      // the cursor
	Pen        Style
	Hidden     bool            // the cursor is
	WrapOff    bool            // text stops at the right edge
	Alt        bool            // the alternate screen is shown
	Modes      map[string]bool // private modes, by number
	OSC        []string        // operating system commands but for links; "BEL" for a bell
	Clears     int             // how often all of the screen was erased
	Unknown    []string        // sequences and control characters that nobody should write

	top, bot     int
	waiting      bool // behind the last column
	main         [][]Cell
	mainX, mainY int
	rest         string
}

// Cell is one place of the screen.
type Cell struct {
	Text  string
	Style Style
	Tail  bool // the rest of a wide character
}

// NewScreen makes an empty screen.
func NewScreen(w, h int) *Screen {
	v := &Screen{W: w, H: h, bot: h - 1, Modes: map[string]bool{}}
	v.Grid = v.blank()
	return v
}

func (v *Screen) blank() [][]Cell {
	g := make([][]Cell, v.H)
	for i := range g {
		g[i] = make([]Cell, v.W)
	}
	return g
}

// Resize changes the size as terminals without reflow do: rows are cut or added at the bottom.
func (v *Screen) Resize(w, h int) {
	old := v.Grid
	v.W, v.H, v.top, v.bot = w, h, 0, h-1
	v.Grid = v.blank()
	drop := max(0, v.Y-h+1)
	if drop > 0 && !v.Alt {
		for _, r := range old[:drop] {
			v.Scrollback = append(v.Scrollback, rowText(r))
		}
	}
	for i := range min(h, len(old)-drop) {
		copy(v.Grid[i], old[i+drop])
	}
	v.Y, v.X, v.waiting = v.Y-drop, min(v.X, w-1), false
}

// Write takes a program's output. It never fails.
func (v *Screen) Write(b []byte) (int, error) {
	s := v.rest + string(b)
	v.rest = ""
	for s != "" {
		n := v.one(s)
		if n == 0 {
			v.rest = s
			break
		}
		s = s[n:]
	}
	return len(b), nil
}

// one takes the first character or sequence; 0: it is not complete.
func (v *Screen) one(s string) int {
	switch c := s[0]; {
	case c == 0x1b:
		return v.escape(s)
	case c == '\r':
		v.X, v.waiting = 0, false
	case c == '\n':
		v.feed()
	case c == '\b':
		v.X, v.waiting = max(v.X-1, 0), false
	case c == 7:
		v.OSC = append(v.OSC, "BEL")
	case c < ' ':
		v.Unknown = append(v.Unknown, strconv.Quote(s[:1]))
	default:
		if !utf8.FullRuneInString(s) {
			return 0
		}
		n, w := term.Cluster(s, v.X)
		v.put(s[:n], w)
		return n
	}
	return 1
}

func (v *Screen) put(text string, w int) {
	if v.waiting {
		v.X, v.waiting = 0, false
		v.feed()
	}
	if v.X+w > v.W {
		if v.WrapOff || w > v.W {
			return
		}
		v.X = 0
		v.feed()
	}
	row := v.Grid[v.Y]
	if row[v.X].Tail && v.X > 0 {
		row[v.X-1] = Cell{Style: row[v.X-1].Style}
	}
	if last := v.X + w; last < v.W && row[last].Tail {
		row[last] = Cell{Style: row[last].Style}
	}
	row[v.X] = Cell{Text: text, Style: v.Pen}
	for i := 1; i < w; i++ {
		row[v.X+i] = Cell{Tail: true, Style: v.Pen}
	}
	v.X += w
	if v.X >= v.W {
		v.X = v.W - 1
		v.waiting = !v.WrapOff
	}
}

func (v *Screen) feed() {
	if v.Y == v.bot {
		v.scrollUp(1)
		return
	}
	v.Y = min(v.Y+1, v.H-1)
}

func (v *Screen) scrollUp(n int) {
	for range min(n, v.bot-v.top+1) {
		if v.top == 0 && !v.Alt {
			v.Scrollback = append(v.Scrollback, rowText(v.Grid[0]))
		}
		copy(v.Grid[v.top:v.bot], v.Grid[v.top+1:v.bot+1])
		v.Grid[v.bot] = v.empty()
	}
}

func (v *Screen) scrollDown(n int) {
	for range min(n, v.bot-v.top+1) {
		copy(v.Grid[v.top+1:v.bot+1], v.Grid[v.top:v.bot])
		v.Grid[v.top] = v.empty()
	}
}

func (v *Screen) empty() []Cell {
	row := make([]Cell, v.W)
	for i := range row {
		row[i].Style.BG = v.Pen.BG
	}
	return row
}

// escape takes a sequence; 0: it is not complete.
func (v *Screen) escape(s string) int {
	n, complete := term.Sequence(s)
	switch {
	case !complete && n == len(s):
		return 0
	case !complete:
		v.Unknown = append(v.Unknown, strconv.Quote(s[:n]))
	case s[1] == '[':
		v.csi(s[2:n-1], s[n-1])
	case s[1] == ']':
		v.command(s[:n])
	default:
		v.Unknown = append(v.Unknown, strconv.Quote(s[:n]))
	}
	return n
}

// command takes an operating system command.
func (v *Screen) command(s string) {
	text, _ := term.OSC(s)
	link, ok := strings.CutPrefix(text, "8;")
	if !ok {
		v.OSC = append(v.OSC, text)
		return
	}
	if _, url, _ := strings.Cut(link, ";"); url == "" {
		link = ""
	}
	v.Pen.Link = link
}

func (v *Screen) csi(params string, final byte) {
	if strings.HasPrefix(params, "?") {
		v.private(params[1:], final)
		return
	}
	if params != "" && strings.ContainsAny(params[:1], "<>=") {
		return // the keyboard's protocols
	}
	arg := func(i, missing int) int {
		p := strings.Split(params, ";")
		if i >= len(p) || p[i] == "" || p[i] == "0" {
			return missing
		}
		n, _ := strconv.Atoi(p[i])
		return n
	}
	if final != 'm' {
		v.waiting = false
	}
	switch final {
	case 'm':
		v.Pen.Apply(params)
	case 'H', 'f':
		v.Y, v.X = min(arg(0, 1), v.H)-1, min(arg(1, 1), v.W)-1
	case 'A':
		v.Y = max(v.Y-arg(0, 1), 0)
	case 'B':
		v.Y = min(v.Y+arg(0, 1), v.H-1)
	case 'C':
		v.X = min(v.X+arg(0, 1), v.W-1)
	case 'D':
		v.X = max(v.X-arg(0, 1), 0)
	case 'G':
		v.X = min(arg(0, 1), v.W) - 1
	case 'K':
		v.eraseLine(arg(0, 0))
	case 'J':
		v.eraseScreen(arg(0, 0))
	case 'S':
		v.scrollUp(arg(0, 1))
	case 'T':
		v.scrollDown(arg(0, 1))
	case 'r':
		v.top, v.bot = arg(0, 1)-1, arg(1, v.H)-1
		v.X, v.Y = 0, 0
	case 'c', 'n', 't', 'q', 'u':
	default:
		v.Unknown = append(v.Unknown, params+string(final))
	}
}

func (v *Screen) eraseLine(how int) {
	from, to := v.X, v.W
	switch how {
	case 1:
		from, to = 0, v.X+1
	case 2:
		from = 0
	}
	for i := from; i < to; i++ {
		v.Grid[v.Y][i] = Cell{Style: Style{BG: v.Pen.BG}}
	}
}

func (v *Screen) eraseScreen(how int) {
	if how == 2 || how == 3 || how == 0 && v.X == 0 && v.Y == 0 {
		v.Clears++
	}
	switch how {
	case 0:
		v.eraseLine(0)
		for y := v.Y + 1; y < v.H; y++ {
			v.Grid[y] = v.empty()
		}
	case 2:
		v.Grid = v.blank()
	}
}

func (v *Screen) private(params string, final byte) {
	on := final == 'h'
	if !on && final != 'l' {
		return
	}
	for p := range strings.SplitSeq(params, ";") {
		v.Modes[p] = on
		switch p {
		case "25":
			v.Hidden = !on
		case "7":
			v.WrapOff = !on
		case "1049":
			if on && !v.Alt {
				v.main, v.mainX, v.mainY = v.Grid, v.X, v.Y
				v.Grid = v.blank()
			} else if !on && v.Alt {
				v.Grid, v.X, v.Y = v.main, v.mainX, v.mainY
			}
			v.Alt = on
		}
	}
}

func rowText(row []Cell) string {
	var b strings.Builder
	for _, c := range row {
		switch {
		case c.Tail:
		case c.Text == "":
			b.WriteByte(' ')
		default:
			b.WriteString(c.Text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Lines are the rows, without blanks at their ends.
func (v *Screen) Lines() []string {
	out := make([]string, v.H)
	for i, r := range v.Grid {
		out[i] = rowText(r)
	}
	return out
}

// Text is the text on the screen.
func (v *Screen) Text() string { return strings.TrimRight(strings.Join(v.Lines(), "\n"), "\n ") }

// All is the scrollback and the screen.
func (v *Screen) All() []string {
	out := slices.Concat(v.Scrollback, v.Lines())
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}
