package tool

import (
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
	"github.com/aymanbagabas/go-udiff/myers"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// Bounds of a diff: above diffLines changed lines it is not worth finding which of them are alike, and
// above diffMax bytes a whole new content is not compared at all. Changed lines of more than diffShown bytes on one
// side, as in a file that is one line, are counted and not shown: a diff of them takes many times their memory, and
// nobody can read it.
const (
	diffLines = 6000
	diffMax   = 16 << 20
	diffShown = 2 << 20
)

// diffTexts compares two whole texts.
func diffTexts(path, before, after string) (event.Diff, []event.Hunk) {
	head, tail := commonLines(before, after)
	edits := lineEdits(before[head:len(before)-tail], after[head:len(after)-tail])
	return diffEdits(path, before, shift(edits, head))
}

// lineSpan is a run of whole lines, from start up to end in bytes, and the regions on them.
type lineSpan struct {
	start, end int
	regions    []files.Region
}

// spans joins regions that share lines.
func spans(s string, regions []files.Region) []lineSpan {
	var out []lineSpan
	for i := 0; i < len(regions); {
		one := lineSpan{start: lineStart(s, regions[i].Start), end: lineEnd(s, regions[i].End)}
		from := i
		for ; i < len(regions) && regions[i].Start <= one.end; i++ {
			if regions[i].End > one.end { // a line of megabytes is scanned once
				one.end = lineEnd(s, regions[i].End)
			}
		}
		one.regions = regions[from:i]
		out = append(out, one)
	}
	return out
}

// diffRegions is the diff of replacing regions of a text. It compares only those.
func diffRegions(path, before string, regions []files.Region, replacement string) (event.Diff, []event.Hunk) {
	list := spans(before, regions)
	size := 0
	for _, p := range list {
		size += p.end - p.start + max(0, p.growth(replacement))
	}
	if size > diffShown {
		return countRegions(path, before, list, replacement), nil
	}
	var edits []udiff.Edit
	for _, p := range list {
		edits = append(edits, shift(lineEdits(before[p.start:p.end], p.replaced(before, replacement)), p.start)...)
	}
	return diffEdits(path, before, edits)
}

// growth is by how many bytes the lines become longer.
func (p lineSpan) growth(replacement string) int {
	n := 0
	for _, g := range p.regions {
		n += len(replacement) - (g.End - g.Start)
	}
	return n
}

// replaced is the lines with the replacement.
func (p lineSpan) replaced(s, replacement string) string {
	var b strings.Builder
	at := p.start
	for _, g := range p.regions {
		b.WriteString(s[at:g.Start])
		b.WriteString(replacement)
		at = g.End
	}
	b.WriteString(s[at:p.end])
	return b.String()
}

// tooLarge stands for a diff that is not shown.
const tooLarge = "(too large for a diff)"

// countRegions is a diff that only counts its lines.
func countRegions(path, before string, list []lineSpan, replacement string) event.Diff {
	d := event.Diff{Path: path, Unified: tooLarge}
	for _, p := range list {
		lines := strings.Count(before[p.start:p.end], "\n")
		if !strings.HasSuffix(before[p.start:p.end], "\n") {
			lines++
		}
		d.Removed += lines
		d.Added += lines
		for _, g := range p.regions {
			d.Added += strings.Count(replacement, "\n") - strings.Count(before[g.Start:g.End], "\n")
		}
	}
	return d
}

// lineEdits finds the changed lines. Where go-udiff's default gives up on many edits it calls everything
// between them changed, so then Myers' algorithm is asked.
func lineEdits(before, after string) []udiff.Edit {
	if before == after {
		return nil
	}
	if strings.Count(before, "\n")+strings.Count(after, "\n") > diffLines {
		return []udiff.Edit{{Start: 0, End: len(before), New: after}}
	}
	edits := udiff.Lines(before, after)
	if weight(edits) > 200 {
		//nolint:staticcheck // deprecated for tests that compare diffs; it is the one that does not give up
		if exact := myers.ComputeEdits(before, after); weight(exact) < weight(edits) {
			return exact
		}
	}
	return edits
}

// weight is how many lines edits remove and add.
func weight(edits []udiff.Edit) int {
	n := 0
	for _, e := range edits {
		n += strings.Count(e.New, "\n") + (e.End-e.Start)/40 // about
	}
	return n
}

func shift(edits []udiff.Edit, by int) []udiff.Edit {
	for i := range edits {
		edits[i].Start += by
		edits[i].End += by
	}
	return edits
}

// commonLines counts the bytes of the lines two texts share at their ends.
func commonLines(a, b string) (head, tail int) {
	n := min(len(a), len(b))
	for head < n && a[head] == b[head] {
		head++
	}
	if head == len(a) && head == len(b) {
		return head, 0
	}
	head = lineStart(a, head)
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if i := strings.IndexByte(a[len(a)-tail:], '\n'); i >= 0 {
		return head, tail - i - 1
	}
	return head, 0
}

func lineStart(s string, at int) int { return strings.LastIndexByte(s[:at], '\n') + 1 }

func lineEnd(s string, at int) int {
	if at > 0 && at <= len(s) && s[at-1] == '\n' {
		return at
	}
	if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(s)
}

// diffEdits writes edits of whole lines as a unified diff. Only the text around them is read.
func diffEdits(path, before string, edits []udiff.Edit) (event.Diff, []event.Hunk) {
	d := event.Diff{Path: path}
	if len(edits) == 0 {
		return d, nil
	}
	start, end := around(before, edits[0].Start, edits[len(edits)-1].End)
	skipped := strings.Count(before[:start], "\n")
	u, err := udiff.ToUnifiedDiff("a"+slashed(path), "b"+slashed(path), before[start:end], shift(edits, -start), 3)
	if err != nil {
		d.Unified = fmt.Sprintf("(no diff: %v)", err)
		return d, nil
	}
	var hunks []event.Hunk
	for _, h := range u.Hunks {
		h.FromLine += skipped
		h.ToLine = h.FromLine + d.Added - d.Removed // go-udiff forgets lines between joined edits
		one := event.Hunk{OldStart: h.FromLine, NewStart: h.ToLine}
		for _, l := range h.Lines {
			addLine(&one, l.Kind, strings.TrimSuffix(l.Content, "\n"), &d)
		}
		one.OldStart *= min(1, one.OldLines) // an empty side starts at 0
		one.NewStart *= min(1, one.NewLines)
		hunks = append(hunks, one)
	}
	d.Unified = u.String()
	return d, hunks
}

func addLine(h *event.Hunk, kind udiff.OpKind, line string, d *event.Diff) {
	switch kind {
	case udiff.Delete:
		h.OldLines++
		d.Removed++
		line = "-" + line
	case udiff.Insert:
		h.NewLines++
		d.Added++
		line = "+" + line
	default:
		h.OldLines++
		h.NewLines++
		line = " " + line
	}
	h.Lines = append(h.Lines, line)
}

// around widens a range to whole lines with more context than a diff shows.
func around(s string, start, end int) (int, int) {
	start = lineStart(s, start)
	for range 4 {
		if start > 0 {
			start = lineStart(s, start-1)
		}
	}
	for range 5 {
		if end < len(s) {
			end = lineEnd(s, end+1)
		}
	}
	return start, min(end, len(s))
}

func slashed(path string) string {
	path = strings.ReplaceAll(files.ValidName(path), `\`, "/")
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}
