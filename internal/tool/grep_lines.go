package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/lathe-dev/lathe/internal/machine/files"
)

const (
	chunkSize    = 256 << 10
	lineLimit    = 64 << 20 // bytes of a line
	multilineMax = 32 << 20 // bytes of a file that is searched across lines
)

// errBinary says that a file is not text.
var errBinary = errors.New("binary file")

// scanner searches one file after the other with the same buffers.
type scanner struct {
	s        *search
	m        *matcher
	buf, low []byte
}

// file searches one file.
func (sc *scanner) file(f io.Reader) (fileHits, error) {
	if sc.buf == nil {
		sc.buf = make([]byte, chunkSize)
	}
	l := &lineSearch{scanner: sc, num: 1}
	n, err := io.ReadFull(f, sc.buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return l.hits, err
	}
	head, end := sc.buf[:n], err != nil
	utf16 := bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF})
	if !utf16 && bytes.IndexByte(head, 0) >= 0 {
		return l.hits, errBinary
	}
	if sc.m.multiline || utf16 {
		err = l.whole(f, head, utf16)
	} else {
		err = l.chunks(f, bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")), end)
	}
	return l.hits, err
}

// lineSearch collects the matches of one file.
type lineSearch struct {
	*scanner
	hits  fileHits
	num   int // of the first line not dealt with yet
	after int // lines still to be shown after a match
}

// whole searches a file that must be in memory at once.
func (l *lineSearch) whole(f io.Reader, head []byte, utf16 bool) error {
	rest, err := io.ReadAll(io.LimitReader(f, multilineMax))
	if err != nil {
		return err
	}
	if len(rest) >= multilineMax {
		return fmt.Errorf("it has more than %s, which is too much to search across lines; leave multiline out",
			size(multilineMax))
	}
	text := append(bytes.Clone(head), rest...)
	if utf16 {
		text = []byte(files.Decode(text).View)
	} else if bytes.IndexByte(rest, 0) >= 0 {
		return errBinary
	}
	if !l.m.multiline {
		l.take(text, 0, l.inLines(text, 0))
		return nil
	}
	if !strings.Contains(l.s.in.Pattern, `\r`) {
		text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) // so that $ and \n match these line ends too
	}
	l.take(text, 0, l.across(text))
	return nil
}

// chunks searches buf and the rest of f, a few lines at a time. end says that buf is all.
func (l *lineSearch) chunks(f io.Reader, buf []byte, end bool) error {
	for from := 0; ; {
		stop := len(buf)
		if !end {
			stop = lineFirst(buf, stop)
		}
		if stop > from && l.take(buf[:stop], from, l.inLines(buf[:stop], from)) || end {
			return nil
		}
		keep := linesBack(buf, stop, l.s.before) // they may stand before a match in the next chunk
		from = stop - keep
		var err error
		if buf, end, err = l.refill(f, buf[keep:]); err != nil {
			return err
		}
	}
}

// refill moves what is left to the front of the buffer and reads on, making room for long lines.
func (l *lineSearch) refill(f io.Reader, left []byte) (buf []byte, end bool, err error) {
	if len(left) >= lineLimit {
		return nil, false, fmt.Errorf("it has a line of more than %s; search it with a program in Bash", size(lineLimit))
	}
	room := l.buf
	if len(left) > len(room)/2 {
		room = make([]byte, 2*len(room))
	}
	copy(room, left)
	l.buf = room
	n, err := io.ReadFull(f, room[len(left):])
	end = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !end {
		return nil, false, err
	}
	if bytes.IndexByte(room[len(left):len(left)+n], 0) >= 0 {
		return nil, false, errBinary
	}
	return room[:len(left)+n], end, nil
}

// take notes the matches in the lines from a place on. It reports that enough was found.
func (l *lineSearch) take(text []byte, from int, matches iter.Seq[[]int]) (done bool) {
	for loc := range matches {
		l.hits.count++
		if l.s.mode == modeFiles {
			return true
		}
		if l.s.mode == modeContent {
			from = l.match(text, from, loc)
			if len(l.hits.lines) >= l.s.need() {
				return true
			}
		}
	}
	l.pass(text[from:])
	return false
}

// match shows a match, and the lines around it that were not shown yet. It returns the begin of the line to go on with.
func (l *lineSearch) match(text []byte, from int, loc []int) int {
	start := lineFirst(text, loc[0])
	if start < from { // a match before it ends on this line, which is shown
		return from
	}
	l.pass(text[from:start])
	if l.s.in.OnlyMatch {
		l.hits.add(l.num, text[loc[0]:loc[1]], true, 0, 0)
		return start
	}
	before := text[linesBack(text, start, min(l.s.before, l.num-1-l.hits.last())):start]
	l.hits.add(l.num-bytes.Count(before, []byte("\n")), before, false, 0, 0)
	stop := lineStop(text, max(loc[0], loc[1]-1))
	l.num = l.hits.add(l.num, text[start:stop], true, loc[0]-start, loc[1]-start)
	l.after = l.s.after
	return stop
}

// pass goes over lines that do not match, and shows those that follow a match.
func (l *lineSearch) pass(lines []byte) {
	shown := 0
	for ; l.after > 0 && shown < len(lines); l.after-- {
		stop := lineStop(lines, shown)
		l.num = l.hits.add(l.num, lines[shown:stop], false, 0, 0)
		shown = stop
	}
	l.num += bytes.Count(lines[shown:], []byte("\n"))
}

// add shows the lines of a text, the first of which has the number num. It returns the number of the line after them.
// start and end are the place of a match in the text.
func (f *fileHits) add(num int, text []byte, match bool, start, end int) int {
	if len(text) == 0 {
		return num
	}
	for line := range bytes.SplitSeq(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		line = trimLine(line)
		shown := clipLine(line, min(start, len(line)), min(end, len(line)))
		f.lines = append(f.lines, hitLine{num: num, text: shown, match: match})
		num, start, end = num+1, 0, 0
	}
	return num
}

// last is the number of the last line that is shown, or 0.
func (f *fileHits) last() int {
	if len(f.lines) == 0 {
		return 0
	}
	return f.lines[len(f.lines)-1].num
}

// lineFirst is the begin of the line at a place, lineStop its end, after the newline.
func lineFirst(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func lineStop(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// linesBack is the begin of the n-th line before the line that begins at a place.
func linesBack(text []byte, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		at = lineFirst(text, at-1)
	}
	return at
}

func trimLine(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}
