package markdown

import (
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/base/gfm"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Options say how Markdown is shown. The zero value shows it without any style.
type Options struct {
	Theme *theme.Theme // nil: no styles
	Links bool         // the terminal understands OSC 8; else URLs are written behind their text
	// File makes a URL of a place in a file that the text names ("main.go:12"); line is 0 without one. An
	// empty URL means that it is none. nil: files are not linked.
	File func(path string, line int) string
}

// Stream is Markdown that grows. It is not safe for use by several goroutines.
type Stream struct {
	r       *renderer
	escaper term.Escaper
	blocks  blocks
	partial string // the line that has not ended yet
	broken  bool   // it goes on where the last one was broken
	ended   bool

	settled []*leaf
	width   int                         // that offsets are for
	waiting map[string]map[int]struct{} // settled leaves, by the links that they refer to and that are not known
	offsets []int                       // of the lines of settled leaves: leaf i is [offsets[i], offsets[i+1])

	tail      []string // lines of the unsettled part, in width cells
	tailValid bool
	retry     int // lines of the tail before SettleLines tries again
}

// NewStream returns an empty Stream.
func NewStream(o Options) *Stream { return &Stream{r: newRenderer(o)} }

// Render lays a whole text out, as a Stream does that got the text, in whatever pieces, and its end.
func Render(text string, width int, o Options) []string {
	s := NewStream(o)
	s.Append(text)
	s.End()
	return s.Lines(width)
}

// Append adds text, which may be cut anywhere. After End it does nothing.
func (s *Stream) Append(text string) {
	if text == "" || s.ended {
		return
	}
	s.take(s.escaper.Next(text))
}

// End marks the end of the text. Inline marks left open are then shown literally.
func (s *Stream) End() {
	if s.ended {
		return
	}
	s.take(s.escaper.End())
	if s.partial != "" {
		s.blocks.Add(s.partial, s.broken)
		s.partial, s.broken = "", false
	}
	s.blocks.End()
	s.ended, s.tailValid = true, false
	s.settle()
}

// take adds escaped text line by line.
func (s *Stream) take(text string) {
	s.tailValid = false
	for text != "" {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			s.partial += text
			s.breakLong()
			break
		}
		s.partial += text[:i]
		s.breakLong()
		s.blocks.Add(s.partial, s.broken)
		s.partial, s.broken, text = "", false, text[i+1:]
	}
	s.settle()
}

// breakLong takes the start of a line that is too long to be looked at again and again.
func (s *Stream) breakLong() {
	for len(s.partial) > gfm.MaxLine {
		cut := strings.LastIndexByte(s.partial[gfm.MaxLine/2:gfm.MaxLine], ' ') + gfm.MaxLine/2
		if cut < gfm.MaxLine/2 {
			cut = gfm.MaxLine
			for cut > 0 && s.partial[cut]&0xc0 == 0x80 {
				cut--
			}
		}
		s.blocks.Add(s.partial[:cut], s.broken)
		s.partial, s.broken = s.partial[cut:], true
	}
}

// settle moves the leaves that are done to the settled ones.
func (s *Stream) settle() {
	if len(s.blocks.Out) > 0 {
		s.retry = 0
	}
	for _, l := range s.blocks.Out {
		if l.Kind == gfm.Paragraph {
			var added []string
			l.Lines, added = s.r.links.Define(l.Lines)
			s.redo(added)
			if len(l.Lines) == 0 {
				if !slices.ContainsFunc(l.Frame, func(c gfm.Cell) bool { return c.First && !c.Quote }) {
					continue
				}
				l.Kind = gfm.Empty
			}
		}
		s.settled = append(s.settled, l)
	}
	s.blocks.Out = s.blocks.Out[:0]
}

// redo lets go of the layout of blocks that refer to links that are known now.
func (s *Stream) redo(labels []string) {
	for _, label := range labels {
		for i := range s.waiting[label] {
			s.settled[i].Own.layout, s.settled[i].Own.cells = layout{}, nil
			s.offsets = s.offsets[:min(len(s.offsets), i+1)]
		}
		delete(s.waiting, label)
	}
}

// wait notes which links a block refers to that are not known.
func (s *Stream) wait(i int) {
	for _, label := range s.settled[i].Own.missing {
		if s.waiting == nil {
			s.waiting = map[string]map[int]struct{}{}
		}
		if s.waiting[label] == nil {
			s.waiting[label] = map[int]struct{}{}
		}
		s.waiting[label][i] = struct{}{}
	}
	s.settled[i].Own.missing = nil
}

// SetOptions changes how everything is shown.
func (s *Stream) SetOptions(o Options) {
	links := s.r.links
	s.r = newRenderer(o)
	s.r.links = links
	for _, l := range s.settled {
		l.Own.layout, l.Own.cells = layout{}, nil
	}
	if l := s.blocks.Leaf; l != nil {
		l.Own.layout, l.Own.cells = layout{}, nil
	}
	s.offsets, s.tailValid = nil, false
}

// Release lets go of the lines that were laid out, to save memory. They are made again when they are
// asked for; heights are kept.
func (s *Stream) Release() {
	for _, l := range s.settled {
		l.Own.layout, l.Own.cells = layout{}, nil
	}
	s.tail, s.tailValid = nil, false
}

// measure lays out the new and the unsettled part.
func (s *Stream) measure(width int) {
	width = max(width, 1)
	if s.width != width {
		s.width, s.offsets, s.tailValid, s.retry = width, nil, false, 0
	}
	if len(s.offsets) == 0 {
		s.offsets = append(s.offsets, 0)
	}
	for i := len(s.offsets) - 1; i < len(s.settled); i++ {
		s.offsets = append(s.offsets, s.offsets[i]+len(s.r.lay(s.settled[i], width)))
		s.wait(i)
	}
	if !s.tailValid {
		s.tail, s.tailValid = s.layTail(width), true
	}
}

// layTail lays out the open block with the line that has not ended.
func (s *Stream) layTail(width int) []string {
	if s.ended || s.blocks.Leaf == nil && s.partial == "" {
		return nil
	}
	if l := s.blocks.Leaf; l != nil && l.Kind == gfm.Table {
		s.r.read(l) // once, not for every try
	}
	try := s.tryTail()
	var out []string
	for _, l := range try {
		l.Own.growing, l.Own.cells = l == try[len(try)-1], slices.Clip(l.Own.cells)
		if l.Kind == gfm.Heading {
			l.Lines = gfm.CloseInline(l.Lines)
		}
		out = append(out, s.r.leaf(l, width)...)
	}
	return out
}

// tryTail returns the blocks of the unsettled part if it ended here.
func (s *Stream) tryTail() []*leaf {
	try := s.blocks.Clone()
	if shown := gfm.PartialLine(s.partial, try); shown != "" {
		try.Add(shown, s.broken)
	} else if s.broken && strings.TrimSpace(s.partial) != "" {
		try.Add(s.partial, true) // it begins nothing
	}
	try.End()
	return try.Out
}

// Height is the number of lines in width cells.
func (s *Stream) Height(width int) int {
	s.measure(width)
	return s.offsets[len(s.settled)] + len(s.tail)
}

// Lines is everything, laid out in width cells.
func (s *Stream) Lines(width int) []string { return s.Slice(width, 0, s.Height(width)) }

// Slice is the lines from (from 0) up to but without to; lines outside of [0, Height) are left out. Only
// blocks that have a line in it are visited.
func (s *Stream) Slice(width, from, to int) []string {
	height := s.Height(width)
	from, to = max(from, 0), min(to, height)
	if from >= to {
		return nil
	}
	out := make([]string, 0, to-from)
	end := s.offsets[len(s.settled)]
	i, _ := slices.BinarySearch(s.offsets, from+1)
	for i--; i < len(s.settled) && s.offsets[i] < to; i++ {
		lines := s.r.lay(s.settled[i], s.width)
		lo, hi := max(0, from-s.offsets[i]), min(len(lines), to-s.offsets[i])
		out = append(out, lines[lo:hi]...)
	}
	if to > end {
		out = append(out, s.tail[max(0, from-end):to-end]...)
	}
	return out
}
