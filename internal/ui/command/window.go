package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
)

const (
	windowCells = 72 // of the bar of the whole window
	barCells    = 30 // of the longest bar of a share
	mostParts   = 5  // of a share that are listed
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
	fmt.Fprintf(&b, "In use after the last reply or compaction: %s. The next request, by lathe's own estimate: %s "+
		"tokens.\n\n", window(s), grouped(sum))
	b.WriteString(fenced("", whole(sum, s.ContextWindow, w.Mark)+picture(w, sum, s.ContextWindow)))
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

// whole draws the window as one bar: its content, the free room, and a mark where automatic compaction starts.
func whole(sum, size, mark int) string {
	if size <= 0 {
		return ""
	}
	cell := func(tokens int) int { return min((tokens*windowCells+size-1)/size, windowCells) }
	bar := []rune(strings.Repeat("█", cell(sum)) + strings.Repeat("░", windowCells-cell(sum)))
	legend := fmt.Sprintf("█ %.1f %% used", 100*float64(sum)/float64(size))
	if mark > 0 && mark < size {
		bar[min(cell(mark), windowCells-1)] = '┃'
		legend += ", ┃ compaction"
	}
	return string(bar) + "\n" + legend + "\n\n"
}

// picture has a row for each share and its largest parts: tokens, percent of the window (of the content where the
// window is unknown), and a bar to compare them, of which the longest is that of the largest share.
func picture(w Window, sum, size int) string {
	whole := max(size, sum, 1)
	longest := 1
	for _, p := range w.Shares {
		longest = max(longest, p.Tokens)
	}
	var b strings.Builder
	row := func(name, cell string, tokens int) {
		cells := (tokens*barCells + longest - 1) / longest
		text := fmt.Sprintf("%-26s %11s %5.1f %%  %s", name, grouped(tokens), 100*float64(tokens)/float64(whole),
			strings.Repeat(cell, cells))
		b.WriteString(strings.TrimRight(text, " ") + "\n")
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
		row("free", "", max(size-sum, 0))
	}
	return strings.TrimSuffix(b.String(), "\n")
}
