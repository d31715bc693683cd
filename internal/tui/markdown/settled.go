package markdown

// Settled is how many blocks do not change any more, whatever comes; but for references to links that are defined
// later.
func (s *Stream) Settled() int { return len(s.settled) }

// Above is how many lines the first so many settled blocks take in width cells.
func (s *Stream) Above(width, blocks int) int {
	s.measure(width)
	return s.offsets[min(blocks, len(s.settled))]
}
