package view

import (
	"strings"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/ui/tui/line"
	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// command draws a command with its output.
func (b *Block) command(v event.Command) {
	b.commandLine(v)
	text, running := v.Output, b.o.State <= theme.Running
	if running && text == "" {
		text = b.o.Live
	}
	if running && !b.o.Expanded {
		b.output(text, liveTail, false)
		return
	}
	b.output(text, shortTail, true)
	if s := outcome(v); s != "" && b.alone() {
		b.add(b.t.Bad, s, line.Words)
	}
	if v.Background != "" {
		b.add(b.t.Dim, "runs in the background as "+term.EscapeLine(v.Background), line.Words)
	}
	if v.OutputRef != "" && b.o.Expanded {
		b.add(b.t.Dim, "all of the output is in "+term.EscapeLine(v.OutputRef), line.Words)
	}
}

// commandLine draws the command, unless the header says all of it.
func (b *Block) commandLine(v event.Command) {
	if v.Command == "" || strings.TrimSpace(v.Command) == b.o.Title &&
		(!b.o.Expanded || term.Width(term.EscapeLine(b.o.Title)) < b.width/2) {
		return
	}
	before := len(b.rows)
	for i, s := range lines(strings.TrimRight(v.Command, "\n")) {
		mark := "$ "
		if i > 0 {
			mark = "  "
		}
		brk := b.breaking()
		b.rows = append(b.rows, row{
			first: []line.Span{{Text: mark, Style: b.t.Accent}},
			text:  term.EscapeLine(strings.ReplaceAll(s, "\t", "    ")), style: b.t.Strong, brk: brk, side: none,
		})
	}
	if n := len(b.rows) - before - shortHead; n > 1 && !b.o.Expanded {
		b.rows = append(b.rows[:before+shortHead], row{spans: b.note(n, "line"), brk: line.None, side: none})
	}
}

// output draws a program's output: all of it when expanded, else the last lines, and with head the
// first ones, too. Only the visible part is parsed, however long it is.
func (b *Block) output(text string, tail int, head bool) {
	text = strings.TrimRight(text, "\r\n")
	if text == "" {
		return
	}
	c := colours{theme: b.t}
	add := func(s string) {
		b.rows = append(b.rows, row{spans: c.line(s), brk: b.breaking(), side: none})
	}
	total := strings.Count(text, "\n") + 1
	first := 0
	if head {
		first = shortHead
	}
	if b.o.Expanded || total <= first+tail+1 {
		for s := range strings.SplitSeq(text, "\n") {
			add(s)
		}
		return
	}
	rest := text
	for range first {
		s, more, _ := strings.Cut(rest, "\n")
		add(s)
		rest = more
	}
	b.rows = append(b.rows, row{spans: b.note(total-first-tail, "line"), brk: line.None, side: none})
	c.reset()
	at := len(text)
	for range tail {
		at = strings.LastIndexByte(text[:at], '\n')
	}
	for s := range strings.SplitSeq(text[at+1:], "\n") {
		add(s)
	}
}
