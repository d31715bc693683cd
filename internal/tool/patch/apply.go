package patch

import (
	"fmt"
	"slices"
	"strings"
)

// Edit replaces a part of a text, from byte Start up to End. An empty part is a place to insert at.
type Edit struct {
	Start, End int
	New        string
}

// Result is the edits of all hunks, in order and apart, and notes for the model about places that were not found
// exactly.
type Result struct {
	Edits []Edit
	Notes []string
	// Vague hunks name no line of the text that is not blank, so they prove no knowledge of it.
	Vague bool
}

// Apply finds the places of hunks in a text with \n as its line ends. The error is for the model: the hunk without a
// place and the nearest lines.
func Apply(text string, hunks []Hunk) (*Result, error) {
	t := newText(text)
	r := &Result{}
	cursor := 0
	for i := range hunks {
		h := &hunks[i]
		at, h, err := t.place(h, cursor)
		if err != nil {
			return nil, err
		}
		r.add(t, h, at)
		if len(at.old) > 0 {
			cursor = at.line + len(at.old)
		}
	}
	slices.SortStableFunc(r.Edits, func(a, b Edit) int { return a.Start - b.Start })
	for i := 1; i < len(r.Edits); i++ {
		if r.Edits[i].Start < r.Edits[i-1].End {
			return nil, fmt.Errorf("two hunks change line %d. Give each change once, in one hunk", t.lineAt(r.Edits[i].Start))
		}
	}
	return r, nil
}

// lines is a text as lines.
type lines struct {
	text   string
	list   []string
	starts []int // of each line in bytes; one more than lines, the end of the text
	folded [][]string
}

func newText(text string) *lines {
	t := &lines{text: text, folded: make([][]string, len(Folds))}
	for at := 0; at < len(text); {
		n := strings.IndexByte(text[at:], '\n')
		t.starts = append(t.starts, at)
		if n < 0 {
			t.list = append(t.list, text[at:])
			break
		}
		t.list = append(t.list, text[at:at+n])
		at += n + 1
	}
	t.starts = append(t.starts, len(text))
	return t
}

func (t *lines) lineAt(offset int) int { return strings.Count(t.text[:offset], "\n") + 1 }

// fold is the lines after a fold.
func (t *lines) fold(i int) []string {
	if t.folded[i] == nil {
		t.folded[i] = folded(t.list, Folds[i].Line)
	}
	return t.folded[i]
}

func folded(list []string, fold func(string) string) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = fold(l)
	}
	return out
}

// spot is the place of a hunk.
type spot struct {
	line  int      // from 0
	old   []string // the old lines that stand there: those of the hunk, maybe without empty ones at its end
	fold  int      // -1: exactly
	more  int      // other places with the same lines
	loose bool     // it is not below its anchor
	less  bool     // some of the hunk's outer context lines are not there
}

// place finds a hunk, from the line cursor on. It returns the hunk as it is taken: maybe without some of its context.
func (t *lines) place(h *Hunk, cursor int) (spot, *Hunk, error) {
	from, under := t.below(h, cursor)
	old := h.old()
	if len(old) == 0 {
		s, err := t.insertion(h, from, under)
		return s, h, err
	}
	if len(old) == 1 && old[0] == "" && len(t.list) == 0 {
		return spot{old: nil, fold: -1}, h.additions(), nil
	}
	for _, try := range [][]string{old, withoutBlankEnd(h)} {
		if len(try) == 0 {
			continue
		}
		if s, ok := t.find(try, h, from, cursor, under); ok {
			return s, h, nil
		}
	}
	if s, shorter, ok := t.inner(h); ok {
		return s, shorter, nil
	}
	return spot{}, h, t.miss(h, under)
}

// mostDropped is how many outer lines of context may be missing at either end of a hunk, as many as patch(1) allows.
const mostDropped = 2

// inner finds a hunk by its inner lines, where only outer lines of its context are not those of the file. The others
// must be at one place only, and among them a removed line that is not blank, or two of context.
func (t *lines) inner(h *Hunk) (spot, *Hunk, bool) {
	if t.count(h.old()) > 0 {
		return spot{}, nil, false // the whole is there, at several places
	}
	for n := 1; n <= mostDropped; n++ {
		for _, ends := range [][2]int{{n, 0}, {0, n}, {n, n}} {
			shorter, ok := h.without(ends[0], ends[1])
			if !ok || !shorter.telling() {
				continue
			}
			old := shorter.old()
			switch all := matches(t.list, old); len(all) {
			case 0:
			case 1:
				return spot{line: all[0], old: old, fold: -1, less: true}, shorter, true
			default:
				return spot{}, nil, false // fewer lines are at more places still
			}
		}
	}
	return spot{}, nil, false
}

// without is the hunk without lines of context at its ends; not ok, if there are not so many.
func (h *Hunk) without(first, last int) (*Hunk, bool) {
	if len(h.Lines) <= first+last {
		return nil, false
	}
	shorter := *h
	shorter.Lines = h.Lines[first : len(h.Lines)-last]
	for _, l := range slices.Concat(h.Lines[:first], h.Lines[len(h.Lines)-last:]) {
		if l.Kind != ' ' {
			return nil, false
		}
	}
	return &shorter, true
}

// additions is the hunk with its added lines only.
func (h *Hunk) additions() *Hunk {
	added := *h
	added.Lines = slices.DeleteFunc(slices.Clone(h.Lines), func(l Line) bool { return l.Kind != '+' })
	return &added
}

// telling reports whether the lines of a hunk say enough about a place.
func (h *Hunk) telling() bool {
	context := 0
	for _, l := range h.Lines {
		switch text := strings.TrimSpace(l.Text); {
		case l.Kind == '+' || len(text) < 3:
		case l.Kind == '-':
			return true
		default:
			context++
		}
	}
	return context >= 2
}

// withoutBlankEnd is the old lines without an empty context line at the end, which models add; nil when there is none.
func withoutBlankEnd(h *Hunk) []string {
	n := len(h.Lines)
	if n < 2 || h.Lines[n-1].Kind != ' ' || strings.TrimSpace(h.Lines[n-1].Text) != "" {
		return nil
	}
	return (&Hunk{Lines: h.Lines[:n-1]}).old()
}

// find looks for lines: first as they are, then in each way of being alike. Exact ones may be there several times: the
// first below the anchor counts, or the nearest to the line that the hunk names. Others must be there once.
func (t *lines) find(old []string, h *Hunk, from, cursor int, under bool) (spot, bool) {
	for fold := -1; fold < len(Folds); fold++ {
		list, want := t.list, old
		if fold >= 0 {
			list, want = t.fold(fold), folded(old, Folds[fold].Line)
			if blank(want) {
				return spot{}, false
			}
		}
		all := matches(list, want)
		if h.End {
			all = atEnd(all, len(list)-len(want))
		}
		if len(all) == 0 {
			continue
		}
		s := spot{old: old, fold: fold}
		after := from
		if under && from > 0 && slices.Contains(all, from-1) && !slices.ContainsFunc(all,
			func(i int) bool { return i >= from }) {
			after = from - 1 // the anchor is the hunk's first line too
		}
		if after < cursor && slices.ContainsFunc(all, func(i int) bool { return i >= cursor }) {
			after = cursor // hunks below one anchor stand in order too
		}
		var ok bool
		if s.line, s.more, ok = choose(all, after, cursor, h.At-1); !ok {
			return spot{}, false
		}
		s.loose = !under && len(h.Anchors) > 0 || s.line < after
		if fold > 0 && s.more > 0 || fold >= 0 && s.loose && len(all) > 1 {
			return spot{}, false
		}
		return s, true
	}
	return spot{}, false
}

// choose takes one of several places: the nearest to the line at, else the first from the line from on, else the only
// one.
func choose(all []int, from, cursor, at int) (line, more int, ok bool) {
	if at >= 0 {
		best := all[0]
		for _, i := range all {
			if best < cursor || i >= cursor && distance(i, at) < distance(best, at) {
				best = i
			}
		}
		if best == at {
			return best, 0, true
		}
		return best, len(all) - 1, true
	}
	if i := slices.IndexFunc(all, func(i int) bool { return i >= from }); i >= 0 {
		return all[i], len(all) - 1 - i, true
	}
	return all[0], len(all) - 1, len(all) == 1
}

func distance(a, b int) int { return max(a-b, b-a) }

func blank(list []string) bool {
	return !slices.ContainsFunc(list, func(l string) bool { return strings.TrimSpace(l) != "" })
}

// matches are the lines at which want begins.
func matches(list, want []string) []int {
	var out []int
	first := 0 // a line that is not blank is compared first: it is rarer
	for first < len(want)-1 && strings.TrimSpace(want[first]) == "" {
		first++
	}
	for i := 0; i+len(want) <= len(list); i++ {
		if list[i+first] == want[first] && slices.Equal(list[i:i+len(want)], want) {
			out = append(out, i)
		}
	}
	return out
}

// atEnd keeps the match at the end of the text. Where none is, the patch is wrong about the end and all count.
func atEnd(all []int, last int) []int {
	if slices.Contains(all, last) {
		return []int{last}
	}
	return all
}

// below is the line after the hunk's anchors, and whether they were found.
func (t *lines) below(h *Hunk, cursor int) (from int, found bool) {
	from = cursor
	for _, a := range h.Anchors {
		i := t.anchor(a, from)
		if i < 0 && from == cursor {
			i = t.anchor(a, 0)
		}
		if i < 0 {
			return from, false
		}
		from = i + 1
	}
	return from, len(h.Anchors) > 0
}

// anchor finds a line: all of it, or where no line is so, its beginning or a part of it.
func (t *lines) anchor(want string, from int) int {
	if from > len(t.list) {
		return -1
	}
	for _, same := range []func(line string) bool{
		func(l string) bool { return l == want },
		func(l string) bool { return strings.TrimSpace(l) == strings.TrimSpace(want) },
		func(l string) bool { return Plain(strings.TrimSpace(l)) == Plain(strings.TrimSpace(want)) },
		func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), strings.TrimSpace(want)) },
		func(l string) bool { return strings.Contains(l, strings.TrimSpace(want)) },
	} {
		if i := slices.IndexFunc(t.list[from:], same); i >= 0 {
			return from + i
		}
	}
	return -1
}

// insertion is the place of a hunk that only adds: below its anchor, before the line that it names, else at the end.
func (t *lines) insertion(h *Hunk, from int, under bool) (spot, error) {
	switch {
	case len(h.Anchors) > 0 && !under:
		return spot{}, t.miss(h, under)
	case under && !h.End:
		return spot{line: from, fold: -1}, nil
	case h.Top && !h.End:
		return spot{line: 0, fold: -1}, nil
	case h.At > 0 && h.At <= len(t.list) && !h.End:
		return spot{line: h.At, fold: -1}, nil // "@@ -3,0 +4 @@": after line 3
	}
	return spot{line: len(t.list), fold: -1}, nil
}

// add turns a placed hunk into edits. Context lines stay as the text has them.
func (r *Result) add(t *lines, h *Hunk, s spot) {
	shift := s.shift(t)
	at := s.line
	var run *Edit
	last := false // the line before is one that was added
	for _, l := range h.Lines[:s.used(h)] {
		if l.Kind == ' ' {
			at++
			run = nil
			continue
		}
		if run == nil {
			r.Edits = append(r.Edits, Edit{Start: t.starts[at], End: t.starts[at]})
			run, last = &r.Edits[len(r.Edits)-1], false
		}
		if l.Kind == '-' {
			at++
			run.End = t.starts[at]
			continue
		}
		if !last && run.Start == len(t.text) && run.New == "" && len(t.text) > 0 && t.text[len(t.text)-1] != '\n' {
			run.New = "\n" // the last line has no end yet
		}
		run.New += shift(l.Text)
		if last = true; !l.Cut {
			run.New += "\n"
		}
	}
	r.note(t, h, s)
}

// used is how many lines of the hunk count: without an empty one at its end that the text does not have.
func (s spot) used(h *Hunk) int {
	if n := len(h.old()) - len(s.old); n > 0 && len(s.old) > 0 {
		return len(h.Lines) - n
	}
	return len(h.Lines)
}

// shift indents new lines as the text is indented there, where the whole hunk was off by the same.
func (s spot) shift(t *lines) func(string) string {
	as := func(l string) string { return l }
	if s.fold < 1 {
		return as
	}
	take, put, ok := Shift(s.old, t.list[s.line:s.line+len(s.old)])
	if !ok || take == put {
		return as
	}
	return func(l string) string { l, _ = Shifted(l, take, put); return l }
}

func (r *Result) note(t *lines, h *Hunk, s spot) {
	if blank(s.old) && !(len(t.list) == 0) {
		r.Vague = true
	}
	switch {
	case s.less:
		r.Notes = append(r.Notes, fmt.Sprintf("hunk %d was taken at line %d, the only place with its inner lines; the "+
			"file does not have all of its context lines", h.Number, s.line+1))
	case s.fold >= 0:
		r.Notes = append(r.Notes, fmt.Sprintf("hunk %d was taken at line %d, where the lines are alike except for %s",
			h.Number, s.line+1, Folds[s.fold].Name))
	case s.loose:
		r.Notes = append(r.Notes, fmt.Sprintf("hunk %d was taken at line %d, the only place with its lines, which is not "+
			"below %q", h.Number, s.line+1, h.Anchors))
	case s.more > 0:
		r.Notes = append(r.Notes, fmt.Sprintf("hunk %d was taken at line %d, one of %d places with its lines", h.Number,
			s.line+1, s.more+1))
	}
}
