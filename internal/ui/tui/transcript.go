package tui

import (
	"slices"

	"github.com/lathe-dev/lathe/internal/ui/tui/line"
)

// transcript is the list of items and the part of it that is visible. Only visible items are laid out: the
// place is kept as an anchor (an item and a line in it), so that nothing needs to know how high all items
// together are, and 50,000 of them scroll like ten.
type transcript struct {
	items []*item
	width int
	rows  int

	follow bool // the end is shown, whatever comes
	anchor int  // the item at the top, when not following
	offset int  // the line of that item in the first row

	picked *item  // has the focus
	mark   string // the line above it

	results   int // bytes of the results of calls
	shortened int // items before this one keep only the ends of their results

	unseen int // items that came since the end was left
	kept   []*item
	lines  int // lines of the items in kept
}

// mostLines is how many laid out lines are kept beside those that are visible.
const mostLines = 4000

func newTranscript() *transcript { return &transcript{follow: true} }

// add appends an item.
func (t *transcript) add(it *item) *item {
	t.items = append(t.items, it)
	if !t.follow {
		t.unseen++
	}
	return it
}

// remove takes an item out again.
func (t *transcript) remove(it *item) {
	i := slices.Index(t.items, it)
	if i < 0 {
		return
	}
	t.items = slices.Delete(t.items, i, i+1)
	t.shortened = min(t.shortened, i)
	if t.anchor > i {
		t.anchor--
	} else if t.anchor == i {
		t.offset = 0
	}
	t.anchor = max(0, min(t.anchor, len(t.items)-1))
}

// resize lays out for another size. The anchor stays at its item.
func (t *transcript) resize(width, rows int) {
	if width == t.width && rows == t.rows {
		return
	}
	if width != t.width && t.width > 0 && !t.follow && t.anchor < len(t.items) {
		if h := t.height(t.anchor); h > 0 {
			part := float64(t.offset) / float64(h)
			t.width = width
			t.offset = int(part * float64(t.height(t.anchor)))
		}
	}
	t.width, t.rows = width, rows
	t.settle()
}

// height is how many lines item i takes, the gap above it included.
func (t *transcript) height(i int) int {
	it := t.items[i]
	if it.laid && it.width == t.width && !it.stale {
		return it.height
	}
	known, before := it.laid, it.height
	it.lay(t.width, i > 0)
	if !known {
		t.kept, before = append(t.kept, it), 0
	}
	t.lines += it.height - before
	return it.height
}

// forget drops laid out lines of items that are not in view, the oldest first.
func (t *transcript) forget(view []*item) {
	if t.lines <= mostLines {
		return
	}
	kept := t.kept[:0]
	for _, it := range t.kept {
		if t.lines > mostLines && !slices.Contains(view, it) && !it.live() {
			t.lines -= it.height
			it.drop()
			continue
		}
		kept = append(kept, it)
	}
	clear(t.kept[len(kept):])
	t.kept = kept
}

// restyle has everything laid out again when it becomes visible.
func (t *transcript) restyle() {
	for _, it := range t.kept {
		it.drop()
	}
	t.kept, t.lines = nil, 0
}

// view returns the visible lines, at most rows of them.
func (t *transcript) view() []string {
	if len(t.items) == 0 || t.rows <= 0 {
		return nil
	}
	t.settle()
	var out []string
	var seen []*item
	for i, skip := t.anchor, t.offset; i < len(t.items) && len(out) < t.rows; i, skip = i+1, 0 {
		h := t.height(i)
		seen = append(seen, t.items[i])
		first := len(out)
		out = t.items[i].slice(out, skip, min(h, skip+t.rows-len(out)))
		if t.items[i] == t.picked && skip == 0 && len(out) > first {
			out[first] = t.marked(out[first], t.items[i].gap > 0)
		}
	}
	t.forget(seen)
	return out
}

// marked is the first line of the item that has the focus.
func (t *transcript) marked(first string, gap bool) string {
	if gap {
		return t.mark
	}
	return reversed(first, []int{0}, []int{len(line.Strip(first))})
}

// settle brings the anchor to a place that exists, and to the end when the end is followed.
func (t *transcript) settle() {
	if len(t.items) == 0 {
		t.anchor, t.offset, t.follow, t.unseen = 0, 0, true, 0
		return
	}
	if t.follow {
		t.anchor, t.offset = t.bottom()
		t.unseen = 0
		return
	}
	t.anchor = min(max(t.anchor, 0), len(t.items)-1)
	t.offset = max(min(t.offset, t.height(t.anchor)-1), 0)
}

// bottom is the anchor with which the last line is in the last row.
func (t *transcript) bottom() (anchor, offset int) {
	left := t.rows
	for i := len(t.items) - 1; i >= 0; i-- {
		h := t.height(i)
		if h >= left {
			return i, h - left
		}
		left -= h
	}
	return 0, 0
}

// scroll moves the view by n lines, down if n is positive. It follows the end again when it arrives there.
func (t *transcript) scroll(n int) {
	if len(t.items) == 0 {
		return
	}
	t.settle()
	t.follow = false
	t.offset += n
	for t.offset < 0 && t.anchor > 0 {
		t.anchor--
		t.offset += t.height(t.anchor)
	}
	t.offset = max(t.offset, 0)
	for t.anchor < len(t.items)-1 && t.offset >= t.height(t.anchor) {
		t.offset -= t.height(t.anchor)
		t.anchor++
	}
	t.stopAtEnd()
}

// stopAtEnd keeps the view from going below the end, and follows it there.
func (t *transcript) stopAtEnd() {
	left := t.rows
	for i := t.anchor; i < len(t.items); i++ {
		h := t.height(i)
		if i == t.anchor {
			h -= t.offset
		}
		if left -= h; left < 0 {
			return
		}
	}
	t.follow = true
	t.settle()
}

// top shows the beginning, end the end.
func (t *transcript) top() {
	t.follow, t.anchor, t.offset = false, 0, 0
	if len(t.items) > 0 {
		t.stopAtEnd()
	}
}

func (t *transcript) end() { t.follow = true; t.settle() }

// show brings line n of item i into view, in the upper part of the screen.
func (t *transcript) show(i, n int) {
	t.follow, t.anchor, t.offset = false, i, max(n, 0)
	t.scroll(-min(t.rows/4, 3))
}

// atTop reports that the first line is visible.
func (t *transcript) atTop() bool { return t.anchor == 0 && t.offset == 0 }
