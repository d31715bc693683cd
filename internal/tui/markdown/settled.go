package markdown

// Settled is how many lines in width cells do not change any more, whatever comes; but for references to links
// that are defined later.
func (s *Stream) Settled(width int) int {
	s.measure(width)
	return s.offsets[len(s.settled)]
}
