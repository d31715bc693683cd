// Package view draws the shapes of event.View: one renderer each.
package view

import (
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/tui/theme"
)

// Options say how a view is drawn.
type Options struct {
	Width    int
	Theme    *theme.Theme // nil: no styles
	Links    bool         // the terminal understands OSC 8
	State    theme.State
	Title    string        // of the call, from its events
	Expanded bool          // everything, not only what fits a glance
	Live     string        // output of a call that still runs, as it came
	Duration time.Duration // of the call, or how long it runs already
	Key      string        // the key that expands, for the note about what is not shown ("ctrl+o")
	Spinner  int           // the picture of the spinner to show while it runs
}

// Render draws what is below a call's header. A nil view draws the live output, if there is any.
func Render(v event.View, o Options) []string { return nil }

// Header is the line of a call: state, title, duration and a summary of the view.
func Header(v event.View, o Options) string { return "" }

// Block is a drawn view of which only a part is laid out at a time.
type Block struct{}

// New prepares a view for drawing in parts.
func New(v event.View, o Options) *Block { return &Block{} }

// Height is the number of lines.
func (b *Block) Height() int { return 0 }

// Slice is the lines from up to but without to.
func (b *Block) Slice(from, to int) []string { return nil }
