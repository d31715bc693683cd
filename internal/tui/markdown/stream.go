package markdown

import "github.com/lathe-dev/lathe/internal/tui/theme"

// Options say how Markdown is shown. The zero value shows it without any style.
type Options struct {
	Theme *theme.Theme // nil: no styles
	Links bool         // the terminal understands OSC 8; else URLs are written behind their text
	// File makes a URL of a place in a file that the text names ("main.go:12"); line is 0 without one. An
	// empty URL means that it is none. nil: files are not linked.
	File func(path string, line int) string
}

// Stream is Markdown that grows. It is not safe for use by several goroutines.
type Stream struct{ text string }

// NewStream returns an empty Stream.
func NewStream(o Options) *Stream { return &Stream{} }

// Append adds text, which may be cut anywhere.
func (s *Stream) Append(text string) { s.text += text }

// End says that no more text comes. What was left open is then shown as it stands.
func (s *Stream) End() {}

// SetOptions changes how everything is shown.
func (s *Stream) SetOptions(o Options) {}

// Lines is everything, laid out in width cells. The caller must not change the slice.
func (s *Stream) Lines(width int) []string { return nil }

// Height is the number of lines in width cells.
func (s *Stream) Height(width int) int { return 0 }

// Slice is the lines from (from 0) up to but without to; what is outside of [0, Height) is left out.
func (s *Stream) Slice(width, from, to int) []string { return nil }

// Release lets go of what was laid out. It is made again when it is asked for.
func (s *Stream) Release() {}

// Render lays out a whole text.
func Render(text string, width int, o Options) []string { return nil }
