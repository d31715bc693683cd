package tui

// layInline prints finished lines above, and brings the rows below them to f. Everything is relative to the
// first row of the live part, since the place of that on the screen is not known.
func (s *screen) layInline(f frame) {
	lines := f.lines
	if most := max(s.h-1, 1); len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	if s.fresh {
		s.rows, s.fresh, s.stale, s.pen = nil, false, false, 0
		s.buf = append(s.buf, "\r\x1b[m"...)
		s.x, s.y = 0, 0
		s.above, s.broken = nil, nil
	}
	s.remember()
	again := 0
	switch {
	case s.doubt:
		s.goOn()
	case s.stale || s.broken != nil:
		again = s.goBack()
	}
	if len(f.above)+again > 0 {
		s.above = append(s.above, f.above...)
		s.printAbove(s.above[len(s.above)-len(f.above)-again:])
	}
	for y := range lines {
		if y == len(s.rows) {
			s.openRow(y)
		}
		s.rewrite(y, lines[y])
	}
	if len(s.rows) > len(lines) {
		s.move(0, len(lines))
		s.setPen(0)
		s.buf = append(s.buf, eraseBelow...)
		s.rows = s.rows[:len(lines)]
		if len(lines) > 0 {
			s.move(0, len(lines)-1)
		}
	}
}

// openRow adds row y below the last one. The newline scrolls the screen when it has to.
func (s *screen) openRow(y int) {
	if y > 0 {
		s.move(0, y-1)
		s.buf = append(s.buf, "\r\n"...)
	}
	s.x, s.y = 0, y
	s.buf = append(s.buf, eraseRight...)
	s.rows = append(s.rows, row{parsed: true})
}

// printAbove writes lines over the live part, which is then made again below them. Those that are longer than a row are
// wrapped by the terminal: they were laid out for another width.
func (s *screen) printAbove(lines []string) {
	s.hide()
	s.move(0, 0)
	s.eraseFrom()
	s.buf = append(s.buf, wrapOn...) // should the terminal be narrower by now, nothing is cut
	for _, text := range lines {
		s.printLine(text)
	}
	s.buf = append(s.buf, wrapOff...)
	s.rows, s.x, s.y = nil, 0, 0
}

// widest is the longest line that is printed, in cells.
const widest = 4096

func (s *screen) printLine(text string) {
	line := s.cells.parse(nil, text, widest)
	for {
		n := min(len(line), s.w)
		if n > 1 && n < len(line) && line[n].rest {
			n--
		}
		s.write(line[:n], 0)
		if line = line[n:]; len(line) == 0 {
			break
		}
	}
	s.setPen(0)
	s.buf = append(s.buf, "\r\n"...)
	s.x = 0
}

// eraseFrom erases the row of the cursor, which is in its first column, and those below. tmux would copy the screen to
// its scrollback if all of it was erased at once.
func (s *screen) eraseFrom() {
	s.setPen(0)
	s.buf = append(s.buf, eraseRight+"\x1b[C"+eraseBelow+"\r"...)
}

// abandon returns the last bytes to write: the live part is erased when it holds nothing
// but the prompt, else the cursor goes below it.
func (s *screen) abandon(erase bool) string {
	s.buf = append(s.buf[:0], "\x1b[m"...)
	if len(s.rows) == 0 || s.x < 0 && s.fresh {
		return "\r\n"
	}
	if erase {
		s.move(0, 0)
		return string(s.buf) + "\r" + eraseBelow
	}
	s.move(0, len(s.rows)-1)
	return string(s.buf) + "\r\n"
}

func (s *screen) moveRelative(x, y int) {
	if y < s.y {
		s.sequence(s.y-y, 'A')
	} else if y > s.y {
		for range y - s.y {
			s.buf = append(s.buf, '\n') // a terminal that became lower dropped rows below the cursor: this makes them again
		}
	}
	switch {
	case x == 0:
		s.buf = append(s.buf, '\r')
	case s.x < 0 || x < s.x:
		s.column(x)
	case x > s.x:
		s.sequence(x-s.x, 'C')
	}
}

// sentFrame is a frame that the terminal has not confirmed yet.
type sentFrame struct {
	before
	bytes []byte
}

// before is the state of the terminal before a frame.
type before struct {
	broken *replica // if set, the rest counts only as far as above
	rows   []string
	x, y   int
	width  int
	above  int // finished lines
}

// remember keeps the state of the terminal before a frame.
func (s *screen) remember() {
	s.sent = nil
	if s.broken == nil && len(s.above) > 2*s.h {
		s.above = append([]string(nil), s.above[len(s.above)-s.h:]...)
	}
	b := &s.last
	b.broken, b.x, b.y, b.width, b.above, b.rows = s.broken, s.x, s.y, s.w, len(s.above), b.rows[:0]
	if s.stale {
		b.width = s.old
	}
	for i := range s.rows {
		b.rows = append(b.rows, s.rows[i].text)
	}
}

// sending says that the terminal will answer which width it had when it read a frame.
func (s *screen) sending(bytes []byte) {
	s.sent = &sentFrame{s.last, bytes}
	s.sent.rows = append([]string(nil), s.last.rows...)
}

// arrived says that the last frame met another width than it was written for.
func (s *screen) arrived(width int) {
	if s.sent == nil {
		s.distrust()
		return
	}
	r := s.replica(&s.sent.before)
	r.resize(width)
	r.play(s.sent.bytes)
	if s.sent, s.broken = nil, r; r.lost {
		s.distrust()
	}
}

// replica is the part of the terminal that b describes.
func (s *screen) replica(b *before) *replica {
	if b.broken != nil {
		return b.broken
	}
	r := &replica{w: b.width, cuts: s.cuts, intact: b.above, nowrap: true}
	var line []cell
	for i, text := range s.above[:b.above] {
		line = s.cells.parse(line, text, widest)
		r.add(widths(line), i)
	}
	first := len(r.rows)
	for _, text := range b.rows {
		line = s.cells.parse(line, text, b.width)
		r.rows = append(r.rows, replicaRow{cells: widths(line), line: -1})
	}
	r.x, r.y = max(b.x, 0), first+b.y
	r.row()
	return r
}

func widths(line []cell) []uint8 {
	out := make([]uint8, len(line))
	for i, c := range line {
		if out[i] = c.wide; !c.rest && c.wide == 0 {
			out[i] = 1
		}
	}
	return out
}

// goBack goes up to the first row that has to be written again after the width has changed, or after a frame met
// another width than it was written for, and erases from there on. It returns how many finished lines are to be printed
// again. Several changes since the last frame are one: only the last width counts.
func (s *screen) goBack() int {
	r := s.replica(&s.last)
	r.resize(s.w)
	up := r.y - r.start()
	again := len(s.above) - r.intact
	s.stale, s.broken, s.rows, s.pen = false, nil, nil, 0
	s.x, s.y = -1, up
	s.move(0, 0)
	s.buf = append(s.buf, "\x1b[m"...)
	s.eraseFrom()
	s.x = 0
	return again
}

// goOn goes on in the cursor's row, since no one knows which rows above it are of the live part: that is better than a
// finished line that is lost.
func (s *screen) goOn() {
	s.stale, s.doubt, s.broken, s.above = false, false, nil, nil
	s.last.broken, s.last.above, s.last.rows = nil, 0, nil
	s.x, s.y = 0, 0
	s.rows, s.pen = nil, 0
	s.buf = append(s.buf, "\r\x1b[m"...)
	s.eraseFrom()
}

// distrust says that the last frames may have met another width than they were written for.
func (s *screen) distrust() {
	s.sent, s.broken, s.doubt = nil, nil, true
}
