package tool

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/lathe-dev/lathe/internal/agent"
	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/machine/files"
)

// fullText is a text of a file that results in the conversation show in full: the base that a later Read of the
// file is compared with. Changes always refer to it, never to a result that itself gave only changes, so an answer
// depends on one earlier result and compaction may drop the answers between them.
type fullText struct {
	state State
	enc   files.Encoding
	view  string
	shown []Span // the lines that results show
}

// fullTexts keeps the base of each file, up to fullTextBytes in all: the one that was shown longest ago goes first.
type fullTexts struct {
	mu    sync.Mutex
	order []string // paths, oldest first
	at    map[string]fullText
	bytes int
}

const fullTextBytes = 4 << 20

func (f *fullTexts) get(path string) (fullText, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t, ok := f.at[path]
	return t, ok
}

// add notes that a result shows lines of a text. Spans of the same text add up; another text replaces the base.
func (f *fullTexts) add(path string, t fullText) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if old, ok := f.at[path]; ok && old.state.Hash == t.state.Hash && old.enc == t.enc {
		t.shown = append(slices.Clone(t.shown), old.shown[:min(len(old.shown), maxSpans)]...)
	}
	f.drop(path)
	if len(t.view) > fullTextBytes/4 {
		return
	}
	if f.at == nil {
		f.at = map[string]fullText{}
	}
	f.at[path] = t
	f.order = append(f.order, path)
	f.bytes += len(t.view)
	for f.bytes > fullTextBytes {
		f.drop(f.order[0])
	}
}

func (f *fullTexts) forget(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(path)
}

func (f *fullTexts) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order, f.at, f.bytes = nil, nil, 0
}

func (f *fullTexts) drop(path string) {
	if t, ok := f.at[path]; ok {
		f.bytes -= len(t.view)
		delete(f.at, path)
		f.order = slices.DeleteFunc(f.order, func(p string) bool { return p == path })
	}
}

// base is the text to compare the file with: one of which a result is still sent.
func (c *readCall) base() (fullText, bool) {
	if c.env.InContext == nil {
		return fullText{}, false
	}
	t, ok := c.env.Reads.full.get(c.path.Real)
	t.shown = slices.DeleteFunc(slices.Clone(t.shown),
		func(s Span) bool { return s.CallID == "" || !c.env.InContext(s.CallID) })
	return t, ok && len(t.shown) > 0
}

// showed notes that this call shows lines of a text in full.
func (c *readCall) showed(seen *Seen, text *files.Text) {
	if c.env.InContext == nil {
		return
	}
	s := Span{First: seen.Shown[0].First, Last: seen.Shown[0].Last, CallID: c.callID}
	c.env.Reads.full.add(c.path.Real, fullText{state: seen.State, enc: text.Encoding, view: text.View, shown: []Span{s}})
}

// changes answers with the differences from the text that the model has, and the calls whose results show it. It
// answers nothing where the page is not much longer than that, or some unchanged line of it was not shown.
func (c *readCall) changes(p *page, now *files.Text) (text string, needs []string) {
	base, ok := c.base()
	if !ok || base.enc != now.Encoding || len(p.lines) == 0 {
		return "", nil
	}
	places, ok := compareLines(base.view, now.View)
	if !ok {
		return "", nil
	}
	v := comparison{page: p, base: base, was: lines(base.view)}
	for _, pl := range places {
		if !v.place(pl) {
			return "", nil
		}
	}
	if !v.same(p.first + len(p.lines)) {
		return "", nil
	}
	if text = v.text(); 2*len(text) > v.equal {
		return "", nil
	}
	return text, v.needs
}

// changedLines is a changed place: lines of the old text, and the lines of the new one in their stead. Lines are
// counted from 0; a count may be 0.
type changedLines struct{ old, oldCount, now, nowCount int }

// compareLines lists the changed places, in order. It reports false when they do not lead from one text to the other.
func compareLines(before, after string) ([]changedLines, bool) {
	head, tail := commonLines(before, after)
	edits := shift(lineEdits(before[head:len(before)-tail], after[head:len(after)-tail]), head)
	var out []changedLines
	at, line, moved := 0, 0, 0
	for _, e := range edits {
		line += strings.Count(before[at:e.Start], "\n")
		at = e.Start
		p := changedLines{
			old: line, oldCount: len(lines(before[e.Start:e.End])), now: line + moved,
			nowCount: len(lines(e.New)),
		}
		moved += p.nowCount - p.oldCount
		out = append(out, p)
	}
	return out, leadsTo(lines(before), lines(after), out, edits)
}

func leadsTo(before, after []string, places []changedLines, edits []udiff.Edit) bool {
	var got []string
	at := 0
	for i, p := range places {
		if p.old < at || p.old+p.oldCount > len(before) {
			return false
		}
		got = append(append(got, before[at:p.old]...), lines(edits[i].New)...)
		at = p.old + p.oldCount
	}
	return slices.Equal(append(got, before[at:]...), after)
}

// lines splits a text as Read counts its lines.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// comparison collects the differences between a page and the base.
type comparison struct {
	page  *page
	base  fullText
	was   []string
	next  int // the line of the page that comes next, from 1; 0: none was looked at yet
	moved int // how far the line after the last place moved
	out   strings.Builder
	first int // how far the first line of the page moved
	equal int // bytes of lines that are the same in both
	needs []string
}

// place takes in the next changed place. It reports false when the page cannot be shown as changes.
func (v *comparison) place(p changedLines) bool {
	first, end := v.page.first, v.page.first+len(v.page.lines)
	at, to := p.now+1, p.now+1+p.nowCount // in lines from 1
	switch {
	case to < first || to == first && p.nowCount > 0:
	case at > end || at == end && p.nowCount > 0:
		if !v.same(end) {
			return false
		}
	case at < first || to > end:
		return false // half on the page
	default:
		if !v.same(at) {
			return false
		}
		v.next = to
		fmt.Fprintf(&v.out, "@@ -%s +%s @@\n", span(p.old, p.oldCount), span(p.now, p.nowCount))
		number(&v.out, at, v.page.lines[at-first:to-first])
	}
	v.moved += p.nowCount - p.oldCount
	return true
}

// span writes a range of lines as unified diffs do.
func span(from, count int) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, count)
}

// same takes in the unchanged lines of the page before a line. They must have been shown.
func (v *comparison) same(to int) bool {
	if v.next == 0 {
		v.next, v.first = v.page.first, v.moved
	}
	from, last := v.next-v.moved, to-1-v.moved // in the base
	v.next = to
	for _, l := range v.was[max(0, min(from-1, len(v.was))):max(0, min(last, len(v.was)))] {
		v.equal += len(l) + 1
	}
	for from <= last {
		i := slices.IndexFunc(v.base.shown, func(s Span) bool { return s.First <= from && s.Last >= from })
		if i < 0 {
			return false
		}
		if id := v.base.shown[i].CallID; !slices.Contains(v.needs, id) {
			v.needs = append(v.needs, id)
		}
		from = v.base.shown[i].Last + 1
	}
	return true
}

// text is the answer for the model.
func (v *comparison) text() string {
	head := "[As in the last full text of it above"
	if v.first != 0 {
		head += fmt.Sprintf("; line %d was line %d", v.page.first, v.page.first-v.first)
	}
	if v.out.Len() == 0 {
		return head + ".]\n"
	}
	return head + ", except:]\n" + v.out.String()
}

// compared is the result of a Read that gives only changes.
func (c *readCall) compared(p *page, text string) *agent.Result {
	r := agent.TextResult(text)
	r.Title = c.env.Rel(c.path.Lexical)
	r.View = event.TextView{Text: text, Path: c.path.Lexical, Summary: "changes since it was read"}
	r.Meta = map[string]any{"type": "file_changes", "file": map[string]any{
		"filePath": c.path.Lexical, "startLine": p.first, "numLines": len(p.lines), "totalLines": p.total,
	}}
	return r
}
