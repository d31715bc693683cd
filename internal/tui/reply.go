package tui

import (
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/term"
	"github.com/lathe-dev/lathe/internal/tui/markdown"
)

// reply is Markdown that streams, or did.
type reply struct {
	text *markdown.Stream
	size int // bytes
	done bool
}

func (l *look) newReply() *reply { return &reply{text: markdown.NewStream(l.markdown())} }

func (l *look) markdown() markdown.Options {
	return markdown.Options{Theme: l.theme, Links: l.links, File: l.file}
}

func (r *reply) append(s string) {
	r.text.Append(s)
	r.size += len(s)
}

func (r *reply) end() {
	if !r.done {
		r.done = true
		r.text.End()
	}
}

// renderView draws a shape that a command came to.
func (it *item) renderView(width int) []string {
	if v, ok := it.view.(event.TextView); ok {
		return wrap(term.Escape(v.Text), width)
	}
	return nil
}
