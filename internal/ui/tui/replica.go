package tui

import (
	"strconv"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// replica is a model of the part of the terminal that inline frames wrote last: the last finished lines, and the live
// part below them. It shows where the rows and the cursor are after the terminal was resized, or after a frame met
// another width than it was written for.
type replica struct {
	w      int
	cuts   bool // rows that become too long are cut, not wrapped
	rows   []replicaRow
	x, y   int
	nowrap bool
	intact int  // finished lines that are as they were written, from the first one
	lost   bool // the cursor went above the first row
}

// replicaRow is a row of the terminal.
type replicaRow struct {
	cells   []uint8 // widths of the characters; 0 for the second cell of a wide one
	wrapped bool    // the next row goes on with the same line
	line    int     // the index of the finished line that it belongs to; -1: of none
}

// add appends a line, and wraps it.
func (r *replica) add(cells []uint8, line int) {
	if r.cuts {
		cells = cells[:min(len(cells), r.w)]
	}
	for {
		n := rowEnd(cells, r.w)
		r.rows = append(r.rows, replicaRow{cells[:n:n], n < len(cells), line})
		if cells = cells[n:]; len(cells) == 0 {
			return
		}
	}
}

// rowEnd is how many cells fit into a row. A wide character is not split.
func rowEnd(cells []uint8, width int) int {
	if len(cells) <= width {
		return len(cells)
	}
	if n := width; n > 1 && cells[n] == 0 {
		return n - 1
	}
	return max(width, 1)
}

// resize changes the width.
func (r *replica) resize(width int) {
	if width == r.w {
		return
	}
	old, x, y := r.rows, r.x, r.y
	r.w, r.rows = width, nil
	for from := 0; from < len(old); {
		to, cells, at := from, []uint8(nil), -1
		for {
			if to == y && x < len(old[to].cells) {
				at = len(cells) + x
			}
			cells = append(cells, old[to].cells...)
			if to++; to == len(old) || !old[to-1].wrapped {
				break
			}
		}
		first := len(r.rows)
		r.add(cells, old[from].line)
		if from <= y && y < to {
			r.y = len(r.rows) - 1
			r.x = len(r.rows[r.y].cells)
			if at >= 0 {
				r.y = first
				for at >= len(r.rows[r.y].cells) && r.y < len(r.rows)-1 {
					at -= len(r.rows[r.y].cells)
					r.y++
				}
				r.x = at
			}
		}
		from = to
	}
	r.x = max(min(r.x, width-1), 0)
}

// start is the first row that is not one of an intact line.
func (r *replica) start() int {
	n := 0
	for n < len(r.rows) && r.rows[n].line >= 0 && r.rows[n].line < r.intact {
		n++
	}
	return n
}

// play does what a terminal of the width does with the bytes of a frame.
func (r *replica) play(frame []byte) {
	for i := 0; i < len(frame); {
		switch b := frame[i]; {
		case b == 0x1b:
			i += r.control(frame[i:])
			continue
		case b == '\r':
			r.x = 0
		case b == '\n': // in tmux a wrapped row stays one
			r.y++
		case b < ' ' || b == 0x7f:
		case b < utf8.RuneSelf && (i+1 == len(frame) || frame[i+1] < utf8.RuneSelf):
			r.put(1)
		default:
			n, w := term.Cluster(string(frame[i:min(i+64, len(frame))]), 0)
			r.put(w)
			i += max(n, 1)
			continue
		}
		i++
	}
	r.row()
}

// row is the row of the cursor, which counts as written.
func (r *replica) row() *replicaRow {
	if r.y < 0 {
		r.y, r.lost = 0, true
	}
	for r.y >= len(r.rows) {
		r.rows = append(r.rows, replicaRow{line: -1})
	}
	return &r.rows[r.y]
}

// change is the row of the cursor, which no longer belongs to a finished line.
func (r *replica) change() *replicaRow {
	row := r.row()
	if row.line >= 0 {
		r.intact, row.line = min(r.intact, row.line), -1
	}
	return row
}

// put writes a character that is so many cells wide.
func (r *replica) put(wide int) {
	if wide <= 0 || wide > r.w {
		return
	}
	if r.x+wide > r.w {
		switch {
		case r.nowrap && wide > 1:
			return
		case r.nowrap:
			r.x = r.w - 1
		default:
			r.row().wrapped = true
			r.x, r.y = 0, r.y+1
		}
	}
	row := r.change()
	for len(row.cells) < r.x+wide {
		row.cells = append(row.cells, 1)
	}
	row.cells[r.x] = uint8(wide)
	for i := 1; i < wide; i++ {
		row.cells[r.x+i] = 0
	}
	r.x += wide
}

// control does what the sequence at the start of b says, and returns its length.
func (r *replica) control(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	if b[1] == ']' {
		return link(b)
	}
	if b[1] != '[' {
		return 2
	}
	end := 2
	for end < len(b) && (b[end] < 0x40 || b[end] > 0x7e) {
		end++
	}
	if end == len(b) {
		return end
	}
	n, err := strconv.Atoi(string(b[2:end]))
	if err != nil {
		n = 1
	}
	switch b[end] {
	case 'A':
		r.y -= n
		r.row()
	case 'B':
		r.y += n
		r.row()
	case 'C':
		r.x = min(r.x+n, r.w-1)
	case 'G':
		r.x = min(n, r.w) - 1
	case 'K':
		r.erase()
	case 'J':
		r.erase()
		if r.y+1 < len(r.rows) {
			r.forgetBelow()
		}
	case 'h', 'l':
		if string(b[2:end]) == "?7" {
			r.nowrap = b[end] == 'l'
		}
	}
	return end + 1
}

// link is the length of the OSC sequence at the start of b.
func link(b []byte) int {
	for i := 2; i < len(b); i++ {
		if b[i] == 0x07 || b[i] == '\\' && b[i-1] == 0x1b {
			return i + 1
		}
	}
	return len(b)
}

// erase erases the row from the cursor on. tmux keeps the length of a row unless all of it is erased.
func (r *replica) erase() {
	if row := r.change(); r.x == 0 {
		row.cells, row.wrapped = nil, false
	}
}

// forgetBelow drops the rows below the cursor, which are empty now.
func (r *replica) forgetBelow() {
	for i := r.y + 1; i < len(r.rows); i++ {
		if line := r.rows[i].line; line >= 0 {
			r.intact = min(r.intact, line)
		}
	}
	r.rows = r.rows[:r.y+1]
}
