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
	}
	if s.stale {
		s.reflow()
	}
	if len(f.above) > 0 {
		s.printAbove(f.above)
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

// printAbove writes lines over the live part, which is then made anew below them.
func (s *screen) printAbove(lines []string) {
	s.hide()
	s.move(0, 0)
	s.setPen(0)
	s.buf = append(s.buf, wrapOn...) // should the terminal be narrower by now, nothing is cut
	var line []cell
	for _, text := range lines {
		s.setPen(0)
		s.buf = append(s.buf, eraseRight...) // the row may be the rest of a line that the terminal wrapped
		line = s.cells.parse(line, text, s.w)
		s.write(line, 0)
		s.eraseTail(len(line))
		s.buf = append(s.buf, "\r\n"...)
		s.x = 0
	}
	s.setPen(0)
	s.buf = append(s.buf, wrapOff...)
	s.buf = append(s.buf, eraseBelow...)
	s.rows, s.x, s.y = nil, 0, 0
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
		s.sequence(y-s.y, 'B')
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

// distrust says that the last frames may have met another width than they were written for.
func (s *screen) distrust() {
	if s.doubt = true; !s.stale {
		s.stale, s.old = true, s.w
	}
}

// reflow goes to the first row of the live part after the width has changed, and erases it. Terminals wrap rows that
// have become too long, so that row is further up. Several changes since the last frame are one: only the last width
// counts. In doubt the part above the cursor's row stays: that is better than a finished line that is lost.
func (s *screen) reflow() {
	up := 0
	for y := 0; y < s.y && y < len(s.rows) && !s.doubt; y++ {
		up++
		if r := &s.rows[y]; !s.cuts {
			if !r.parsed {
				r.cells, r.parsed = s.cells.parse(r.cells, r.text, s.old), true
			}
			up += wraps(r.cells, s.w)
		}
	}
	if !s.cuts && !s.doubt && s.x > 0 {
		up += s.x / s.w
	}
	s.stale, s.doubt, s.x, s.y = false, false, -1, up
	s.move(0, 0)
	s.buf = append(s.buf, "\x1b[m"+eraseBelow...)
	s.rows, s.pen = nil, 0
}

// wraps is how often a terminal of that width wraps cells. A wide character is not split.
func wraps(line []cell, width int) int {
	n, x := 0, 0
	for _, c := range line {
		if c.rest {
			continue
		}
		wide := max(int(c.wide), 1)
		if x+wide > width {
			n, x = n+1, 0
		}
		x += wide
	}
	return n
}
