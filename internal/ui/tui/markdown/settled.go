package markdown

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/lathe-dev/lathe/internal/base/gfm"
)

// Settled is how many blocks do not change any more, whatever comes; but for references to links that are defined
// later.
func (s *Stream) Settled() int { return len(s.settled) }

// Above is how many lines the first so many settled blocks take in width cells.
func (s *Stream) Above(width, blocks int) int {
	s.measure(width)
	return s.offsets[min(blocks, len(s.settled))]
}

// SettleLines settles the finished lines of a block of text or code that is still being written, once the unsettled
// part has more than most lines in width cells. The lines stay as they are; in another width the rest of the text does
// not go on behind them, but begins its own line.
func (s *Stream) SettleLines(width, most int) {
	s.measure(width)
	if s.ended || len(s.tail) <= most || len(s.tail) < s.retry {
		return
	}
	s.retry = 0
	switch l := s.blocks.Leaf; {
	case l != nil && (l.Kind == gfm.Fence || l.Kind == gfm.HTML) && len(l.Lines) >= most:
		s.blocks.Split()
		s.tailValid = false
		s.settle()
	case !s.settleText():
		s.retry = len(s.tail) + 1 // reading it all again for every piece would be too slow
	}
}

// triedLines is how many of the last lines are tried as the start of the unsettled part.
const triedLines = 3

// settleText splits the paragraph that is being written at the start of a line, the last one possible.
func (s *Stream) settleText() bool {
	try := s.tryTail()
	if len(try) == 0 || try[len(try)-1].Kind != gfm.Paragraph {
		return false
	}
	if slices.ContainsFunc(try, func(l *leaf) bool {
		return l.Kind == gfm.Paragraph && defines(strings.Join(l.Lines, "\n"))
	}) {
		return false // it shows nothing once it is settled
	}
	l := try[len(try)-1]
	text := strings.Join(l.Lines, "\n")
	l.Own.growing = true
	lines := s.r.leaf(l, s.width)
	for n := len(lines) - 1; n > max(len(lines)-1-triedLines, 0); n-- {
		for _, at := range s.lineStarts(l, text, n) {
			if s.splits(l, text, at, lines, n) {
				return s.splitOrNot(text, at, len(try) > 1)
			}
		}
	}
	return false
}

// lineStarts are the places in the text where the line behind the first n may begin: there where one more character
// needs another line, or at the word that is there.
func (s *Stream) lineStarts(l *leaf, text string, n int) []int {
	at := sort.Search(len(text), func(i int) bool {
		for i++; i < len(text) && !utf8.RuneStart(text[i]); {
			i++
		}
		return len(s.r.leaf(part(l, text[:i]), s.width)) > n
	})
	if word := strings.LastIndexAny(text[:at], " \n") + 1; word != at {
		return []int{at, word}
	}
	return []int{at}
}

// splits reports that text is laid out in the same lines when it is split at a place behind n of them, so that
// neither part has a mark or a link that ends in the other. A part that begins with a bracket may be the definition of
// a link, which shows nothing.
func (s *Stream) splits(l *leaf, text string, at int, lines []string, n int) bool {
	head, rest := text[:at], text[at:]
	if strings.TrimSpace(head) == "" || strings.TrimSpace(rest) == "" || defines(head) || defines(rest) ||
		strings.HasPrefix(text[strings.LastIndexByte(head, '\n')+1:], "|") ||
		strings.LastIndexByte(head, '[') > strings.LastIndexByte(head, ']') {
		return false
	}
	if !slices.Equal(s.r.leaf(part(l, head), s.width), lines[:n]) {
		return false
	}
	below := part(l, rest)
	below.Gap, below.Frame, below.Own.growing = false, gfm.Later(l.Frame), true
	return slices.Equal(s.r.leaf(below, s.width), lines[n:])
}

// staysText reports whether the beginning of the unfinished line is text of a paragraph when it is its own line.
func (s *Stream) staysText(head string) bool {
	try := s.blocks.Clone()
	try.Add(head, s.broken)
	return try.Leaf != nil && try.Leaf.Kind == gfm.Paragraph
}

// defines reports whether a text may begin with the definition of a link.
func defines(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t\n"), "[") }

// part is a leaf like l with other text, which is complete.
func part(l *leaf, text string) *leaf {
	c := *l
	c.Lines, c.Own.growing, c.Own.missing, c.Own.layout = strings.Split(strings.TrimRight(text, " \n"), "\n"), false, nil, layout{}
	return &c
}

// splitOrNot splits the paragraph unless that changes a line after all, as where the rest would begin another block.
func (s *Stream) splitOrNot(text string, at int, begins bool) bool {
	from := s.Above(s.width, len(s.settled))
	want, saved := s.Slice(s.width, from, s.Height(s.width)), *s
	saved.blocks = *s.blocks.Clone()
	if s.splitAt(text, at, begins) && slices.Equal(want, s.Slice(s.width, from, s.Height(s.width))) {
		return true
	}
	*s = saved
	s.tailValid = false
	return false
}

// splitAt splits the paragraph that is being written at a place in its text, which includes the unfinished line. With
// begins, that line begins it.
func (s *Stream) splitAt(text string, at int, begins bool) bool {
	n, column := strings.Count(text[:at], "\n"), at-strings.LastIndexByte(text[:at], '\n')-1
	var rest []string
	switch l := s.blocks.Leaf; {
	case l != nil && !begins && n < len(l.Lines):
		whole := l.Lines[n]
		rest = append([]string{whole[column:]}, l.Lines[n+1:]...)
		if l.Lines = l.Lines[:n:n]; column > 0 {
			l.Lines = append(l.Lines, whole[:column])
		}
	case column > 0 || begins:
		if !strings.HasSuffix(s.partial, text[at:]) {
			return false // it has tabs
		}
		cut := len(s.partial) - len(text) + at
		if !s.staysText(s.partial[:cut]) {
			return false
		}
		s.blocks.Add(s.partial[:cut], s.broken)
		s.partial, s.broken = s.partial[cut:], true
	}
	s.blocks.Split()
	for _, line := range rest {
		s.blocks.Proceed(line)
	}
	s.tailValid = false
	s.settle()
	return true
}
