package tui

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/term"
)

// vt is a terminal of our own to look at: what it shows of the bytes it is given.
type vt struct {
	w, h       int
	grid       [][]vtCell
	scrollback []string
	x, y       int
	top, bot   int
	pen        style
	hidden     bool
	wrapOff    bool
	waiting    bool // behind the last column
	alt        bool
	main       [][]vtCell
	mainX      int
	mainY      int
	modes      map[string]bool
	osc        []string
	clears     int // full clears
	unknown    []string
	rest       string
}

type vtCell struct {
	text string
	st   style
	tail bool // the rest of a wide character
}

func newVT(w, h int) *vt {
	v := &vt{w: w, h: h, bot: h - 1, modes: map[string]bool{}}
	v.grid = v.blank()
	return v
}

func (v *vt) blank() [][]vtCell {
	g := make([][]vtCell, v.h)
	for i := range g {
		g[i] = make([]vtCell, v.w)
	}
	return g
}

// resize changes the size as terminals without reflow do: rows are cut or added at the bottom.
func (v *vt) resize(w, h int) {
	old := v.grid
	v.w, v.h, v.top, v.bot = w, h, 0, h-1
	v.grid = v.blank()
	drop := max(0, v.y-h+1)
	if drop > 0 && !v.alt {
		for _, r := range old[:drop] {
			v.scrollback = append(v.scrollback, rowText(r))
		}
	}
	for i := range min(h, len(old)-drop) {
		copy(v.grid[i], old[i+drop])
	}
	v.y, v.x, v.waiting = v.y-drop, min(v.x, w-1), false
}

func (v *vt) Write(b []byte) (int, error) {
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
func (v *vt) one(s string) int {
	switch c := s[0]; {
	case c == 0x1b:
		return v.escape(s)
	case c == '\r':
		v.x, v.waiting = 0, false
	case c == '\n':
		v.feed()
	case c == '\b':
		v.x, v.waiting = max(v.x-1, 0), false
	case c == 7:
		v.osc = append(v.osc, "BEL")
	case c < ' ':
		v.unknown = append(v.unknown, strconv.Quote(s[:1]))
	default:
		if !utf8.FullRuneInString(s) {
			return 0
		}
		n, w := term.Cluster(s, v.x)
		v.put(s[:n], w)
		return n
	}
	return 1
}

func (v *vt) put(text string, w int) {
	if v.waiting {
		v.x, v.waiting = 0, false
		v.feed()
	}
	if v.x+w > v.w {
		return
	}
	row := v.grid[v.y]
	if row[v.x].tail && v.x > 0 {
		row[v.x-1] = vtCell{st: row[v.x-1].st}
	}
	if last := v.x + w; last < v.w && row[last].tail {
		row[last] = vtCell{st: row[last].st}
	}
	row[v.x] = vtCell{text: text, st: v.pen}
	for i := 1; i < w; i++ {
		row[v.x+i] = vtCell{tail: true, st: v.pen}
	}
	v.x += w
	if v.x >= v.w {
		v.x = v.w - 1
		v.waiting = !v.wrapOff
	}
}

func (v *vt) feed() {
	if v.y == v.bot {
		v.scrollUp(1)
		return
	}
	v.y = min(v.y+1, v.h-1)
}

func (v *vt) scrollUp(n int) {
	for range min(n, v.bot-v.top+1) {
		if v.top == 0 && !v.alt {
			v.scrollback = append(v.scrollback, rowText(v.grid[0]))
		}
		copy(v.grid[v.top:v.bot], v.grid[v.top+1:v.bot+1])
		v.grid[v.bot] = v.empty()
	}
}

func (v *vt) scrollDown(n int) {
	for range min(n, v.bot-v.top+1) {
		copy(v.grid[v.top+1:v.bot+1], v.grid[v.top:v.bot])
		v.grid[v.top] = v.empty()
	}
}

func (v *vt) empty() []vtCell {
	row := make([]vtCell, v.w)
	for i := range row {
		row[i].st.bg = v.pen.bg
	}
	return row
}

func (v *vt) escape(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				v.csi(s[2:i], s[i])
				return i + 1
			}
		}
		return 0
	case ']':
		if !strings.Contains(s, "\x07") && !strings.Contains(s, "\x1b\\") {
			return 0
		}
		end, n := stringEnd(s)
		if link, ok := strings.CutPrefix(s[2:end], "8;"); ok {
			escape(s, &v.pen)
			_ = link
		} else {
			v.osc = append(v.osc, s[2:end])
		}
		return n
	}
	v.unknown = append(v.unknown, strconv.Quote(s[:2]))
	return 2
}

func (v *vt) csi(params string, final byte) {
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
		v.pen.apply(params)
	case 'H', 'f':
		v.y, v.x = min(arg(0, 1), v.h)-1, min(arg(1, 1), v.w)-1
	case 'A':
		v.y = max(v.y-arg(0, 1), 0)
	case 'B':
		v.y = min(v.y+arg(0, 1), v.h-1)
	case 'C':
		v.x = min(v.x+arg(0, 1), v.w-1)
	case 'D':
		v.x = max(v.x-arg(0, 1), 0)
	case 'G':
		v.x = min(arg(0, 1), v.w) - 1
	case 'K':
		v.eraseLine(arg(0, 0))
	case 'J':
		v.eraseScreen(arg(0, 0))
	case 'S':
		v.scrollUp(arg(0, 1))
	case 'T':
		v.scrollDown(arg(0, 1))
	case 'r':
		v.top, v.bot = arg(0, 1)-1, arg(1, v.h)-1
		v.x, v.y = 0, 0
	case 'c', 'n', 't', 'q', 'u':
	default:
		v.unknown = append(v.unknown, params+string(final))
	}
}

func (v *vt) eraseLine(how int) {
	from, to := v.x, v.w
	switch how {
	case 1:
		from, to = 0, v.x+1
	case 2:
		from = 0
	}
	for i := from; i < to; i++ {
		v.grid[v.y][i] = vtCell{st: style{bg: v.pen.bg}}
	}
}

func (v *vt) eraseScreen(how int) {
	if how == 2 || how == 3 || how == 0 && v.x == 0 && v.y == 0 {
		v.clears++
	}
	switch how {
	case 0:
		v.eraseLine(0)
		for y := v.y + 1; y < v.h; y++ {
			v.grid[y] = v.empty()
		}
	case 2:
		v.grid = v.blank()
	}
}

func (v *vt) private(params string, final byte) {
	on := final == 'h'
	if !on && final != 'l' {
		return
	}
	for p := range strings.SplitSeq(params, ";") {
		v.modes[p] = on
		switch p {
		case "25":
			v.hidden = !on
		case "7":
			v.wrapOff = !on
		case "1049":
			if on && !v.alt {
				v.main, v.mainX, v.mainY = v.grid, v.x, v.y
				v.grid = v.blank()
			} else if !on && v.alt {
				v.grid, v.x, v.y = v.main, v.mainX, v.mainY
			}
			v.alt = on
		}
	}
}

func rowText(row []vtCell) string {
	var b strings.Builder
	for _, c := range row {
		switch {
		case c.tail:
		case c.text == "":
			b.WriteByte(' ')
		default:
			b.WriteString(c.text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// lines is what is shown.
func (v *vt) lines() []string {
	out := make([]string, v.h)
	for i, r := range v.grid {
		out[i] = rowText(r)
	}
	return out
}

func (v *vt) text() string { return strings.TrimRight(strings.Join(v.lines(), "\n"), "\n ") }

// all is the scrollback and the screen.
func (v *vt) all() []string {
	out := slices.Concat(v.scrollback, v.lines())
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}
