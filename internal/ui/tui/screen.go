package tui

import "strconv"

// frame is the wanted content of the screen.
type frame struct {
	lines  []string // styled, one per row
	cx, cy int      // where the cursor is
	cursor bool     // whether it is shown
	above  []string // inline: lines to leave in the terminal's scrollback, above the others
}

// screen knows the content of the terminal, and writes the changes for another frame. On the alternate
// screen it owns all rows; inline it owns the rows from where it began, which must be fewer than the
// terminal has.
type screen struct {
	w, h   int
	inline bool

	cells *cells
	rows  []row
	buf   []byte
	x, y  int // where the terminal's cursor is; x is -1 when that is not known
	pen   uint16
	shown bool // the cursor is visible
	fresh bool // the content of the terminal is unknown
	stale bool // inline: the terminal has another width than when the rows were written
	old   int  // inline: the width that stale rows were written for
	doubt bool // inline: no one knows which width the last frames met
	cuts  bool // inline: the terminal cuts rows that become too long, instead of wrapping them

	above  []string   // inline: the last finished lines
	last   before     // inline: the state before the last frame
	sent   *sentFrame // inline: the last frame, if the terminal has not confirmed it yet
	broken *replica   // inline: the state after a frame that met another width than it was written for
}

// row is the content of a row of the terminal. Its cells are made when they are needed.
type row struct {
	text   string
	cells  []cell
	parsed bool
}

func newScreen(w, h int, inline bool) *screen {
	return &screen{w: w, h: h, inline: inline, cells: newCells(), fresh: true, x: -1}
}

// Sequences around a frame.
const (
	syncOn, syncOff = "\x1b[?2026h", "\x1b[?2026l"
	wrapOn, wrapOff = "\x1b[?7h", "\x1b[?7l"
	cursorOn        = "\x1b[?25h"
	cursorOff       = "\x1b[?25l"
	eraseRight      = "\x1b[K"
	eraseBelow      = "\x1b[J"
	smallFrame      = 256 // bytes that need no synchronisation: they arrive at once
	leastScroll     = 48  // bytes that scrolling has to save
	runOfEqual      = 5   // equal cells that are cheaper to skip than to write again
	farthestScroll  = 200
)

// resize says that the terminal has another size. On the alternate screen its content is not known any more.
func (s *screen) resize(w, h int) {
	switch {
	case !s.inline:
		s.fresh = true
	case !s.stale && (w != s.w || h < s.h):
		s.stale, s.old = true, s.w
	}
	s.w, s.h = w, h
}

// forget says that something else wrote to the terminal.
func (s *screen) forget() { s.fresh, s.x, s.pen, s.shown = true, -1, 0, false }

// paint returns the bytes that make the terminal show f. It is valid until the next call.
func (s *screen) paint(f frame) []byte {
	if s.cells.full() {
		s.cells.forget()
		s.pen = 0
		for i := range s.rows {
			s.rows[i].parsed = false
		}
	}
	s.buf = append(s.buf[:0], syncOn...)
	start := len(s.buf)
	if s.inline {
		s.layInline(f)
	} else {
		s.layAlt(f)
	}
	s.setPen(0)
	s.placeCursor(f)
	return s.finish(start)
}

// finish wraps a frame so that the terminal shows it as one, unless it is small.
func (s *screen) finish(start int) []byte {
	out := s.buf[start:]
	if len(out) < smallFrame {
		return out
	}
	s.buf = append(s.buf, syncOff...)
	return s.buf
}

func (s *screen) placeCursor(f frame) {
	if f.cursor {
		s.move(min(max(f.cx, 0), s.w-1), min(max(f.cy, 0), max(len(s.rows)-1, 0)))
	}
	if f.cursor != s.shown {
		s.shown = f.cursor
		if f.cursor {
			s.buf = append(s.buf, cursorOn...)
		} else {
			s.buf = append(s.buf, cursorOff...)
		}
	}
}

// askWidth writes a question for the terminal's width: where the cursor is when it was sent far to the right.
func (s *screen) askWidth() []byte {
	s.buf = append(s.buf[:0], "\x1b[9999C\x1b[6n\r"...)
	if s.x = max(s.x, 0); s.x > 0 {
		s.sequence(s.x, 'C')
	}
	return s.buf
}

// askBefore is askWidth for the cursor where it was before the last frame.
func (s *screen) askBefore() []byte {
	x := s.x
	s.x = s.last.x
	out := s.askWidth()
	s.x = x
	return out
}

// hide hides the cursor while much is written, so that it does not run over the screen.
func (s *screen) hide() {
	if s.shown {
		s.buf, s.shown = append(s.buf, cursorOff...), false
	}
}

func (s *screen) layAlt(f frame) {
	lines := f.lines
	if len(lines) > s.h {
		lines = lines[:s.h]
	}
	if s.fresh || len(s.rows) != s.h {
		s.repaint(lines)
		return
	}
	s.scroll(lines)
	for y := range s.rows {
		s.rewrite(y, at(lines, y))
	}
}

func at(lines []string, y int) string {
	if y < len(lines) {
		return lines[y]
	}
	return ""
}

// repaint writes all rows, whatever the terminal shows: each is erased behind its text, nothing is cleared
// before, so that there is no flicker.
func (s *screen) repaint(lines []string) {
	s.hide()
	s.rows, s.fresh, s.pen = make([]row, s.h), false, 0
	s.buf = append(s.buf, "\x1b[m"...)
	for y := range s.rows {
		s.x = -1
		s.move(0, y)
		s.rows[y] = row{text: at(lines, y), parsed: true}
		s.rows[y].cells = s.cells.parse(nil, s.rows[y].text, s.w)
		s.write(s.rows[y].cells, 0)
		s.eraseTail(len(s.rows[y].cells))
	}
}

// eraseTail erases all but the first n cells of the row that the cursor is in.
func (s *screen) eraseTail(n int) {
	if n < s.w {
		s.setPen(0)
		s.buf = append(s.buf, eraseRight...)
	}
}

// rewrite changes row y to show text.
func (s *screen) rewrite(y int, text string) {
	r := &s.rows[y]
	if r.text == text {
		return
	}
	if !r.parsed {
		r.cells = s.cells.parse(r.cells, r.text, s.w)
	}
	now := s.cells.parse(make([]cell, 0, max(len(r.cells)+16, 64)), text, s.w)
	old := r.cells
	if s.inline && len(now) < len(old) { // tmux wraps cells that were erased behind others, but not those of an erased row
		s.move(0, y)
		old = old[:0]
		s.eraseTail(0)
	}
	s.differ(y, old, now)
	*r = row{text: text, cells: now, parsed: true}
}

// same reports that two cells look the same. Blanks differ only by their background, underline and the like.
func (s *screen) same(a, b cell) bool {
	if a == b {
		return true
	}
	if blank(a) && blank(b) {
		return a.style == b.style || s.cells.styles[a.style].onBlanks() == s.cells.styles[b.style].onBlanks()
	}
	return false
}

func blank(c cell) bool { return !c.rest && (c.char == ' ' || c.char == 0) }

// differ writes where row y changes from old to now.
func (s *screen) differ(y int, old, now []cell) {
	cellAt := func(line []cell, x int) cell {
		if x < len(line) {
			return line[x]
		}
		return cell{}
	}
	for x := 0; x < len(now); {
		if s.same(cellAt(old, x), now[x]) {
			x++
			continue
		}
		for x > 0 && now[x].rest {
			x--
		}
		end, equal := x+1, 0
		for i := x + 1; i < len(now) && equal < runOfEqual; i++ {
			if s.same(cellAt(old, i), now[i]) {
				equal++
				continue
			}
			end, equal = i+1, 0
		}
		for end < len(now) && now[end].rest {
			end++
		}
		s.move(x, y)
		s.write(now[x:end], x)
		x = end
	}
	if len(old) > len(now) {
		s.move(len(now), y)
		s.eraseTail(len(now))
	}
}

// write writes cells from column x of the row that the cursor is in.
func (s *screen) write(line []cell, x int) {
	for i, c := range line {
		if c.rest {
			continue
		}
		if c.style != s.pen {
			if !blank(c) || s.cells.styles[c.style].onBlanks() != s.cells.styles[s.pen].onBlanks() {
				s.setPen(c.style)
			}
		}
		s.buf = s.cells.text(s.buf, c)
		s.x = x + i + max(int(c.wide), 1)
		if c.char < 0 && i+int(c.wide) < len(line) {
			s.column(s.x) // terminals do not agree on the width of clusters
		} else if c.char < 0 {
			s.x = -1
		}
	}
	if s.x >= s.w {
		s.x = -1 // the cursor waits behind the last column, or is on it
	}
}

func (s *screen) setPen(id uint16) {
	if s.pen != id {
		s.buf = change(s.buf, s.cells.styles[s.pen], s.cells.styles[id])
		s.pen = id
	}
}

// move brings the cursor to column x of row y.
func (s *screen) move(x, y int) {
	if s.x == x && s.y == y {
		return
	}
	switch {
	case s.inline:
		s.moveRelative(x, y)
	case s.x >= 0 && s.y == y && x > s.x:
		s.sequence(x-s.x, 'C')
	case s.y == y && x == 0 && s.x >= 0:
		s.buf = append(s.buf, '\r')
	case s.y == y && s.x >= 0:
		s.column(x)
	case s.x >= 0 && s.y+1 == y && x == 0:
		s.buf = append(s.buf, "\r\n"...)
	default:
		s.buf = append(s.buf, "\x1b["...)
		s.buf = strconv.AppendInt(s.buf, int64(y+1), 10)
		if x > 0 {
			s.buf = strconv.AppendInt(append(s.buf, ';'), int64(x+1), 10)
		}
		s.buf = append(s.buf, 'H')
	}
	s.x, s.y = x, y
}

func (s *screen) column(x int) { s.sequence(x+1, 'G') }

// sequence writes a control sequence with one parameter, which is left out when it is 1.
func (s *screen) sequence(n int, final byte) {
	s.buf = append(s.buf, "\x1b["...)
	if n != 1 {
		s.buf = strconv.AppendInt(s.buf, int64(n), 10)
	}
	s.buf = append(s.buf, final)
}

// scroll moves rows up or down by the terminal's own means when that saves writing.
func (s *screen) scroll(lines []string) {
	first, last := 0, len(s.rows)-1
	for first <= last && s.rows[first].text == at(lines, first) {
		first++
	}
	for last > first && s.rows[last].text == at(lines, last) {
		last--
	}
	shift, saved := 0, leastScroll+s.unmoved(lines, first, last)
	for k := 1; k < last-first && k < farthestScroll; k++ {
		up, down := 0, 0
		for y := first; y+k <= last; y++ {
			if text := s.rows[y+k].text; text == at(lines, y) {
				up += len(text)
			}
			if text := s.rows[y].text; text == at(lines, y+k) {
				down += len(text)
			}
		}
		if up > saved {
			shift, saved = k, up
		}
		if down > saved {
			shift, saved = -k, down
		}
	}
	if shift != 0 {
		s.shift(first, last, shift)
	}
}

// unmoved is how many bytes of the rows stay as they are without scrolling.
func (s *screen) unmoved(lines []string, first, last int) int {
	n := 0
	for y := first; y <= last; y++ {
		if s.rows[y].text == at(lines, y) {
			n += len(s.rows[y].text)
		}
	}
	return n
}

// shift scrolls the rows from first to last by k, up if k is positive.
func (s *screen) shift(first, last, k int) {
	s.hide()
	s.setPen(0)
	s.buf = append(s.buf, "\x1b["...)
	s.buf = strconv.AppendInt(s.buf, int64(first+1), 10)
	s.buf = strconv.AppendInt(append(s.buf, ';'), int64(last+1), 10)
	s.buf = append(s.buf, 'r')
	part := s.rows[first : last+1]
	if k > 0 {
		s.sequence(k, 'S')
		copy(part, part[k:])
		clear(part[len(part)-k:])
	} else {
		s.sequence(-k, 'T')
		copy(part[-k:], part[:len(part)+k])
		clear(part[:-k])
	}
	s.buf = append(s.buf, "\x1b[r"...)
	s.x, s.y = 0, 0
}
