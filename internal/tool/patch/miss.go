package patch

import (
	"fmt"
	"strings"
)

// shownLines is how much of a hunk and of the text an error shows.
const shownLines = 8

// miss says that a hunk has no place, and shows the nearest lines.
func (t *lines) miss(h *Hunk, under bool) error {
	if len(h.Anchors) > 0 && !under && len(h.old()) == 0 {
		return fmt.Errorf("hunk %d: no line is %q. Give lines of the file as context instead", h.Number,
			h.Anchors[len(h.Anchors)-1])
	}
	old := h.old()
	head := fmt.Sprintf("the lines of hunk %d are not in the file:\n%s", h.Number, quoted(old))
	if n := t.count(old); n > 1 {
		return fmt.Errorf("%sLines alike but for white space are at %d places, so it is not clear which is meant. Copy "+
			"the lines exactly, with more of those around them", head, n)
	}
	if at := t.nearest(old); at >= 0 {
		return fmt.Errorf("%sThe nearest lines, from line %d on, are:\n%sCopy the context and the removed lines exactly "+
			"as the file has them, or Read the file again",
			head, at+1, quoted(t.list[at:min(len(t.list), at+max(len(old), 3))]))
	}
	return fmt.Errorf("%sRead the file again, and make the patch from its lines", head)
}

// count is the number of places where lines are alike in the last way.
func (t *lines) count(old []string) int {
	last := len(Folds) - 1
	want := folded(old, Folds[last].Line)
	if blank(want) {
		return 0
	}
	return len(matches(t.fold(last), want))
}

// nearest is the place where most of the lines stand, or -1.
func (t *lines) nearest(old []string) int {
	wanted := map[string]int{}
	for i, l := range old {
		if l = strings.TrimSpace(l); len(l) > 2 {
			wanted[l] = i
		}
	}
	votes, best := map[int]int{}, -1
	for i, l := range t.list {
		if at, ok := wanted[strings.TrimSpace(l)]; ok {
			start := max(0, i-at)
			if votes[start]++; best < 0 || votes[start] > votes[best] {
				best = start
			}
		}
	}
	return best
}

// quoted shows lines, each indented by two blanks.
func quoted(list []string) string {
	var b strings.Builder
	for i, l := range list {
		if i == shownLines {
			fmt.Fprintf(&b, "  ... %d more lines\n", len(list)-i)
			break
		}
		if r := []rune(l); len(r) > 300 {
			l = string(r[:300]) + "…"
		}
		b.WriteString("  " + l + "\n")
	}
	return b.String()
}
