package tool

import (
	"bytes"
	"errors"
	"io"
)

// A line of more than longLine is searched in pieces, so that it takes bounded memory. Pieces overlap, so that a match of up to
// overlap bytes lies in one of them as a whole; a longer one may be missed.
const (
	longLine = 8 << 20  // bytes of a line that is searched at once
	overlap  = 64 << 10 // bytes of a piece that the next one has, too
	aroundIt = lineMax  // bytes that are kept on either side of a match in such a line
)

// long searches a line whose first bytes are buf. It returns what follows the line in the buffer.
func (l *lineSearch) long(f io.Reader, buf []byte) (rest []byte, end, done bool, err error) {
	p := pieces{lineSearch: l, head: bytes.Clone(buf[:2*lineMax])}
	l.longLines++
	for {
		piece, last := buf, end
		if n := bytes.IndexByte(buf, '\n'); n >= 0 {
			piece, last = buf[:n+1], true
		}
		if done = p.search(piece, last); done || last {
			if !done {
				p.miss()
			}
			return buf[len(piece):], end, done, nil
		}
		if err = l.ctx.Err(); err != nil {
			return nil, false, false, err
		}
		p.at += len(buf) - overlap
		if buf, end, err = l.more(f, buf[len(buf)-overlap:], longLine); err != nil {
			return nil, false, false, err
		}
	}
}

// more moves rest to the front of the buffer and reads on, at most to size bytes. end says that the file has no more.
func (l *lineSearch) more(f io.Reader, rest []byte, size int) (buf []byte, end bool, err error) {
	room := l.scanner.buf[:min(size, len(l.scanner.buf))]
	copy(room, rest)
	n, err := io.ReadFull(f, room[len(rest):])
	end = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !end {
		return nil, false, err
	}
	buf = room[:len(rest)+n]
	if bytes.IndexByte(buf[len(rest):], 0) >= 0 {
		return nil, false, errBinary
	}
	return buf, end, nil
}

// pieces are those of one line.
type pieces struct {
	*lineSearch
	head  []byte // how the line begins, for lines around others
	at    int    // where in the line the piece begins
	done  int    // up to where matches were reported
	found bool
}

// search searches one piece and reports that enough was found. Of -o it reports each match, else the first of the line.
func (p *pieces) search(piece []byte, last bool) (done bool) {
	text := piece
	if last {
		text = trimLine(piece)
	}
	for from := 0; from <= len(text); {
		loc := p.first(text, from)
		if loc == nil || p.found && !p.s.in.OnlyMatch {
			return false
		}
		switch {
		case p.at > 0 && loc[0] == 0, p.at+loc[0] < p.done: // the piece before had it, or it stands at no begin of a line
		case !last && loc[1] == len(text): // it may go on, and this is no end of a line: the next piece has it
			return false
		default:
			if done = p.report(text, loc); done {
				return true
			}
		}
		from = max(loc[1], loc[0]+1)
	}
	return false
}

// first is the first match at or after a place. Assertions there see the byte before.
func (p *pieces) first(text []byte, from int) []int {
	var loc []int
	if quick := len(p.m.literal) > 0 || p.m.run != nil || p.m.choices != nil; quick && p.m.next(text, from, true, p.fresh(), nil) < 0 {
		return nil
	}
	if from == 0 {
		loc = p.m.re.FindIndex(text)
	} else if loc = p.m.re.FindIndex(text[from-1:]); loc != nil && loc[0] == 0 {
		if loc = p.m.re.FindIndex(text[from:]); loc != nil {
			loc = []int{loc[0] + 1, loc[1] + 1}
		}
	}
	if loc != nil && from > 0 {
		loc = []int{loc[0] + from - 1, loc[1] + from - 1}
	}
	return loc
}

// fresh forgets where the literals of a choice were found: they are places of another piece.
func (p *pieces) fresh() *choice {
	p.choices.literals = p.m.choices
	p.choices.reset()
	return &p.choices
}

// report notes a match.
func (p *pieces) report(text []byte, loc []int) (done bool) {
	p.done = p.at + loc[1]
	if p.s.in.OnlyMatch {
		p.hits.count++
		if p.s.mode == modeContent && loc[0] < loc[1] {
			p.show(hitLine{num: p.num, text: clipLine(text[loc[0]:loc[1]], 0, 0), match: true})
		}
	} else if !p.found {
		if p.s.mode == modeContent {
			p.before(nil, 0)
		}
		from, to := max(0, loc[0]-aroundIt), min(len(text), max(loc[0]+aroundIt, min(loc[1]+aroundIt, loc[0]+3*aroundIt)))
		if p.match(text[from:to], []int{loc[0] - from, min(loc[1], to) - from}) {
			return true
		}
	}
	p.found = true
	if p.s.mode == modeFiles {
		p.hits.count = 1
		return true
	}
	p.stopped = p.s.mode == modeContent && len(p.hits.lines) >= p.s.need()
	return p.stopped
}

// miss ends the line: it is shown where it follows a match, and kept where it may stand before one.
func (p *pieces) miss() {
	if !p.found && p.after > 0 {
		p.show(hitLine{num: p.num, text: clipLine(p.head, 0, 0)})
		p.after--
	}
	if p.num++; p.s.before > 0 {
		p.tail = append(p.tail, heldLine{p.num - 1, p.head})
		p.tail = p.tail[max(0, len(p.tail)-p.s.before):]
	}
}

// longNote says how lines were searched that are too long for one piece.
func (sc *scanner) longNote() string {
	if sc.longLines == 0 {
		return ""
	}
	return "A line of more than " + size(longLine) + " was searched in pieces: matches of more than " + size(overlap) + " in it may be missing."
}
