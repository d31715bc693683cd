package tui

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/ui/tui/markdown"
)

// reply is Markdown that streams, or that is laid out.
type reply struct {
	text *markdown.Stream
	raw  strings.Builder // the text so far, while it streams
	done bool
}

func (l *look) newReply() *reply { return &reply{text: markdown.NewStream(l.markdown())} }

func (l *look) markdown() markdown.Options {
	return markdown.Options{Theme: l.theme, Links: l.links, File: l.file}
}

func (r *reply) append(s string) {
	r.text.Append(s)
	r.raw.WriteString(s)
}

// end keeps the text with the item: its layout may be dropped from now on.
func (it *item) endReply() {
	if r := it.stream; r != nil && !r.done {
		r.done = true
		r.text.End()
		it.text = r.raw.String()
		r.raw.Reset()
		it.touch()
	}
}

// reply is the item's text, laid out again if need be.
func (it *item) reply() *reply {
	if it.stream == nil {
		it.stream = it.look.newReply()
		it.stream.text.Append(it.text)
		it.stream.text.End()
		it.stream.done = true
	}
	return it.stream
}

// source is the text as the model wrote it.
func (it *item) source() string {
	if it.stream != nil && !it.stream.done {
		return it.stream.raw.String()
	}
	return it.text
}

// markdown reports that the item is Markdown.
func (it *item) markdown() bool {
	return it.kind == replyItem || it.kind == outputItem && it.view == nil
}
