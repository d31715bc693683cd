package tool

import (
	"bytes"
	"io"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

// lineSearch searches a file line by line, a chunk at a time.
type lineSearch struct {
	*scanner
	hits  fileHits
	num   int // number of the first line not searched yet
	after int // lines still to be shown after a match
	last  int // number of the last line shown
	tail  []heldLine
}

// heldLine is a line kept for context from the chunk before.
type heldLine struct {
	num  int
	text []byte
}

// run searches head and the rest of f. end says that head is all.
func (l *lineSearch) run(f io.Reader, head []byte, end bool) (fileHits, error) {
	l.num = 1
	buf := head
	for {
		part := buf
		if !end {
			part = buf[:bytes.LastIndexByte(buf, '\n')+1]
		}
		if len(part) > 0 && l.chunk(part) {
			return l.hits, nil
		}
		if end {
			return l.hits, nil
		}
		if err := l.ctx.Err(); err != nil {
			return l.hits, err
		}
		var err error
		if rest := buf[len(part):]; len(rest) >= longLine {
			var done bool
			if buf, end, done, err = l.long(f, rest); done || err != nil {
				return l.hits, err
			}
			continue
		}
		if buf, end, err = l.refill(f, buf[len(part):]); err != nil {
			return l.hits, err
		}
	}
}

// refill moves the unfinished line to the front of the buffer and reads on, making room for long lines.
func (l *lineSearch) refill(f io.Reader, rest []byte) ([]byte, bool, error) {
	if len(rest) >= len(l.scanner.buf)/2 && len(l.scanner.buf) < 2*longLine {
		bigger := make([]byte, 2*len(l.scanner.buf))
		copy(bigger, rest)
		l.scanner.buf, rest = bigger, bigger[:len(rest)]
	}
	return l.more(f, rest, len(l.scanner.buf))
}

// chunk searches whole lines. It reports that enough was found.
func (l *lineSearch) chunk(buf []byte) (done bool) {
	crs := l.m.ends && bytes.IndexByte(buf, '\r') >= 0
	l.choices.literals = l.m.choices
	l.choices.reset()
	at := 0 // start of the first line not dealt with
	for {
		hit := l.m.next(buf, at, crs, &l.choices, l.dfa)
		if hit < 0 {
			break
		}
		start := at + bytes.LastIndexByte(buf[at:hit], '\n') + 1
		end := lineStop(buf, hit)
		line := trimLine(buf[start:end])
		var loc []int
		if hit-start <= len(line) && l.mayMatch(buf[start:end]) {
			loc = l.m.in(line, hit-start)
		}
		if loc == nil {
			l.pass(buf, at, end)
			at = end
			continue
		}
		l.pass(buf, at, start)
		l.before(buf, start)
		if l.match(line, loc) {
			return true
		}
		l.num++
		at = end
	}
	l.pass(buf, at, len(buf))
	l.hold(buf)
	return false
}

// mayMatch rules a line out, its end included, at a fraction of what the regexp costs.
func (l *lineSearch) mayMatch(line []byte) bool {
	return l.m.dfaFirst || l.dfa == nil || l.dfa.worn() || l.dfa.find(line, 0) >= 0
}

// lineStop is the end of the line at i, after its newline.
func lineStop(buf []byte, i int) int {
	if n := bytes.IndexByte(buf[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(buf)
}

func trimLine(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// pass counts the lines from start to end, which do not match, and shows those that follow a match.
func (l *lineSearch) pass(buf []byte, start, end int) {
	for l.after > 0 && start < end {
		stop := lineStop(buf[:end], start)
		line := trimLine(buf[start:stop])
		l.show(hitLine{num: l.num, text: clipLine(line, 0, 0)})
		l.after--
		l.num++
		start = stop
	}
	if start < end {
		l.num += bytes.Count(buf[start:end], []byte("\n"))
		if buf[end-1] != '\n' {
			l.num++
		}
	}
}

// before shows the lines before the match at start that were not shown yet.
func (l *lineSearch) before(buf []byte, start int) {
	want := min(l.s.before, l.num-1-l.last)
	if want <= 0 {
		return
	}
	var lines []hitLine
	num := l.num
	for at := start; at > 0 && len(lines) < want; {
		prev := bytes.LastIndexByte(buf[:at-1], '\n') + 1
		num--
		lines = append(lines, hitLine{num: num, text: clipLine(trimLine(buf[prev:at]), 0, 0)})
		at = prev
	}
	for i := len(l.tail) - 1; i >= 0 && len(lines) < want; i-- {
		if l.tail[i].num < num {
			num = l.tail[i].num
			lines = append(lines, hitLine{num: num, text: clipLine(l.tail[i].text, 0, 0)})
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		l.show(lines[i])
	}
}

// show adds a line, with a gap if it does not follow the last one.
func (l *lineSearch) show(h hitLine) {
	h.gap = len(l.hits.lines) > 0 && h.num > l.last+1 && !l.s.in.OnlyMatch
	l.hits.lines = append(l.hits.lines, h)
	l.last = h.num
}

// match notes a matching line. It reports that enough was found.
func (l *lineSearch) match(line []byte, loc []int) (done bool) {
	switch {
	case l.s.mode == modeFiles:
		l.hits.count = 1
		return true
	case l.s.in.OnlyMatch:
		for _, m := range l.m.re.FindAllIndex(line, -1) {
			l.hits.count++
			if l.s.mode == modeContent && m[0] < m[1] {
				l.show(hitLine{num: l.num, text: clipLine(line[m[0]:m[1]], 0, 0), match: true})
			}
		}
	default:
		l.hits.count++
		if l.s.mode == modeContent {
			l.show(hitLine{num: l.num, text: clipLine(line, loc[0], loc[1]), match: true})
			l.after = l.s.after
		}
	}
	if l.s.mode == modeContent && len(l.hits.lines) >= l.s.need() {
		l.stopped = true
		return true
	}
	return false
}

// hold keeps the last lines of a chunk, which may stand before a match in the next.
func (l *lineSearch) hold(buf []byte) {
	if l.s.before == 0 {
		return
	}
	var fresh []heldLine
	num := l.num
	for at := len(buf); at > 0 && len(fresh) < l.s.before; {
		prev := bytes.LastIndexByte(buf[:at-1], '\n') + 1
		num--
		fresh = append(fresh, heldLine{num, bytes.Clone(trimLine(buf[prev:at]))})
		at = prev
	}
	tail := l.tail[max(0, len(l.tail)-(l.s.before-len(fresh))):]
	tail = append([]heldLine(nil), tail...)
	for i := len(fresh) - 1; i >= 0; i-- {
		tail = append(tail, fresh[i])
	}
	l.tail = tail
}

// across searches a whole text with matches that may span lines.
func (sc *scanner) across(data []byte) fileHits {
	var fh fileHits
	if sc.m.absent(data) {
		return fh
	}
	if sc.dfa != nil && !sc.dfa.worn() {
		may, sure := sc.dfa.decide(data)
		if !may {
			return fh
		}
		if sure && sc.s.mode == modeFiles {
			fh.count = 1
			return fh
		}
	}
	l := &lineSearch{scanner: sc, num: 1}
	at := 0
	most := -1
	if sc.s.mode == modeFiles {
		most = 1
	}
	for _, m := range sc.m.re.FindAllIndex(data, most) {
		if m[0] == len(data) && (m[0] == 0 || data[m[0]-1] == '\n') {
			break // an empty match after the last line is on no line
		}
		fh.count++
		if sc.s.mode != modeContent || sc.s.in.OnlyMatch && m[0] == m[1] {
			continue
		}
		if sc.s.in.OnlyMatch {
			l.num += bytes.Count(data[at:m[0]], []byte("\n"))
			at = m[0]
			l.span(data[m[0]:m[1]], true)
		} else if start := lineFirst(data, m[0]); start >= at {
			l.pass(data, at, start)
			l.before(data, start)
			at = lineStop(data, max(m[0], m[1]-1))
			l.span(data[start:at], false)
			l.num = l.last + 1
			l.after = sc.s.after
		}
		if len(l.hits.lines) >= sc.s.need() {
			sc.stopped = true
			break
		}
	}
	if sc.s.mode == modeContent && !sc.s.in.OnlyMatch && !sc.stopped {
		l.pass(data, at, len(data))
	}
	fh.lines = l.hits.lines
	return fh
}

func lineFirst(data []byte, i int) int { return bytes.LastIndexByte(data[:i], '\n') + 1 }

// span shows the lines of one match.
func (l *lineSearch) span(text []byte, only bool) {
	num := l.num
	for line := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		h := hitLine{num: num, text: clipLine(trimLine(line), 0, 0), match: true}
		if only {
			h.text = files.Decode(trimLine(line)).View
		}
		l.show(h)
		num++
	}
}
