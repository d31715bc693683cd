package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

const (
	barCells  = 30 // of the longest bar
	mostParts = 5  // of a share that are listed
)

// contextWindow draws the context window: a row for each kind of content, the free room, and how much each level of a
// compaction would free. It is the same text in a terminal and without one.
func contextWindow(ctx context.Context, h Host, _ string) (event.Output, error) {
	w, err := h.Conversation().Window(ctx)
	if err != nil {
		return event.Output{}, err
	}
	s, sum := h.Conversation().Status(), 0
	for _, p := range w.Shares {
		sum += p.Tokens
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The last request and its reply: %s. The next request, by lathe's own estimate: %s tokens.\n\n", window(s), grouped(sum))
	b.WriteString(fenced("", picture(w, sum, s.ContextWindow)))
	if w.Mark > 0 {
		fmt.Fprintf(&b, "\n\nA compaction comes by itself at %s tokens.", grouped(w.Mark))
	}
	if len(w.Freed) == 0 {
		return event.Output{Text: b.String()}, nil
	}
	b.WriteString(" It frees, each step only when the one before is not enough:\n\n")
	for _, f := range w.Freed {
		fmt.Fprintf(&b, "- %s: about %s tokens\n", f.Name, grouped(f.Tokens))
	}
	return event.Output{Text: b.String()}, nil
}

// picture has a row for each share and its largest parts: tokens, percent of the window (of the content where the
// window is unknown), and a bar, of which the longest is that of the largest share.
func picture(w Window, sum, size int) string {
	whole := max(size, sum, 1)
	longest := 1
	for _, p := range w.Shares {
		longest = max(longest, p.Tokens)
	}
	var b strings.Builder
	row := func(name, cell string, tokens int) {
		cells := (tokens*barCells + longest - 1) / longest
		fmt.Fprintf(&b, "%-26s %11s %5.1f %%  %s\n", name, grouped(tokens), 100*float64(tokens)/float64(whole), strings.Repeat(cell, min(cells, barCells)))
	}
	for _, p := range w.Shares {
		if p.Tokens == 0 {
			continue
		}
		row(p.Name, "█", p.Tokens)
		for _, part := range p.Parts[:min(len(p.Parts), mostParts)] {
			row("  "+short(part.Name, 20), "▒", part.Tokens)
		}
	}
	if size > 0 {
		row("free", "░", max(size-sum, 0))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
