package command

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lathe-dev/lathe/internal/conversation"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

const (
	windowCells = 72 // of the bar of the whole window
	barCells    = 30 // of the longest bar of a share
	mostParts   = 5  // of a share that are listed
)

// contextWindow draws the context window: a row for each kind of content, the free room, and how much each level of a
// compaction would free. It is the same text in a terminal and without one.
func contextWindow(ctx context.Context, h *Host, _ string) (event.Output, error) {
	shares, err := Shares(ctx, h.Session())
	if err != nil {
		return event.Output{}, err
	}
	s, sum := h.Status(), 0
	mark, freed := compaction(h.Session())
	for _, p := range shares {
		sum += p.Tokens
	}
	var b strings.Builder
	fmt.Fprintf(&b, "In use after the last reply or compaction: %s. The next request, by lathe's own estimate: %s "+
		"tokens.\n\n", window(s), grouped(sum))
	b.WriteString(fenced("", whole(sum, s.ContextWindow, mark)+picture(shares, sum, s.ContextWindow)))
	if mark > 0 {
		fmt.Fprintf(&b, "\n\nA compaction comes by itself at %s tokens.", grouped(mark))
	}
	if len(freed) == 0 {
		return event.Output{Text: b.String()}, nil
	}
	b.WriteString(" It frees, each step only when the one before is not enough:\n\n")
	for _, f := range freed {
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
func picture(shares []Share, sum, size int) string {
	whole := max(size, sum, 1)
	longest := 1
	for _, p := range shares {
		longest = max(longest, p.Tokens)
	}
	var b strings.Builder
	row := func(name, cell string, tokens int) {
		cells := (tokens*barCells + longest - 1) / longest
		text := fmt.Sprintf("%-26s %11s %5.1f %%  %s", name, grouped(tokens), 100*float64(tokens)/float64(whole),
			strings.Repeat(cell, cells))
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	for _, p := range shares {
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

// Share is one part of the context window's content. Tokens are estimated.
type Share struct {
	Name   string
	Tokens int
	Parts  []Share // of it, the largest first
}

// Shares estimates the parts of the next request.
func Shares(ctx context.Context, s *conversation.Session) ([]Share, error) {
	system, err := s.System(ctx)
	return append([]Share{
		{Name: "system prompt", Tokens: llm.EstimateRequest(&llm.Request{System: system})},
		{Name: "tools", Tokens: llm.EstimateRequest(&llm.Request{Tools: s.Specs()})},
	}, messageShares(s.Messages())...), err
}

// compaction is the number of tokens from which a compaction comes by itself, 0 if none does, and how much each of its
// levels frees, with those before it.
func compaction(s *conversation.Session) (mark int, freed []Share) {
	k := s.Window()
	if k == nil {
		return 0, nil
	}
	if results, stale, summary := k.Freeable(); summary > 0 {
		freed = []Share{
			{Name: "old results as stubs", Tokens: results},
			{Name: "also old reasoning and repeated results", Tokens: stale},
			{Name: "a summary of all but the newest messages", Tokens: summary},
		}
	}
	return k.Mark(s.Model()), freed
}

// messageShares sorts the content of messages.
func messageShares(msgs []llm.Message) []Share {
	sums, byTool := map[string]int{}, map[string]int{}
	for _, m := range msgs {
		for _, p := range m.Parts {
			n := llm.EstimateTokens(llm.Message{Parts: []llm.Part{p}})
			switch p := p.(type) {
			case llm.ToolCall:
				byTool[p.Name] += n
			case llm.ToolResult:
				byTool[p.Name] += n
			}
			sums[kindOf(m.Role, p)] += n
		}
	}
	var out []Share
	for _, name := range []string{
		"environment", "memory", "skills", "your messages", "attached files", "summary",
		"commands, hooks, reminders", "replies", "reasoning", toolShare,
	} {
		s := Share{Name: name, Tokens: sums[name]}
		if name == toolShare {
			s.Parts = byTokens(byTool)
		}
		out = append(out, s)
	}
	return out
}

const toolShare = "tool calls and results"

// kindOf is the share that a part belongs to.
func kindOf(role llm.Role, p llm.Part) string {
	switch p.(type) {
	case llm.Reasoning:
		return "reasoning"
	case llm.ToolCall, llm.ToolResult:
		return toolShare
	}
	switch o := origin(p); {
	case role == llm.Assistant:
		return "replies"
	case o == llm.OriginFile:
		return "attached files"
	case o == llm.OriginMemory:
		return "memory"
	case o == llm.OriginSkill:
		return "skills"
	case o == llm.OriginContext:
		return "environment"
	case o == llm.OriginSummary:
		return "summary"
	case o != llm.OriginAuthor:
		return "commands, hooks, reminders"
	}
	return "your messages"
}

func origin(p llm.Part) llm.Origin {
	t, _ := p.(llm.Text)
	return t.Origin
}

// byTokens lists the tools by their share, the largest first.
func byTokens(byTool map[string]int) (out []Share) {
	names := slices.SortedFunc(maps.Keys(byTool),
		func(a, b string) int { return cmp.Or(byTool[b]-byTool[a], strings.Compare(a, b)) })
	for _, n := range names {
		out = append(out, Share{Name: n, Tokens: byTool[n]})
	}
	return out
}
