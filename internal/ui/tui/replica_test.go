package tui

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

func TestAReplicaKnowsWhereTheCursorIsAfterFramesForAnotherWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		laid, real := rapid.IntRange(8, 30).Draw(t, "laid"), rapid.IntRange(8, 30).Draw(t, "real")
		v, s := termtest.NewScreen(real, 400), newScreen(laid, 12, true)
		r := &replica{w: real, nowrap: true}
		_, _ = v.Write([]byte(wrapOff))
		for range rapid.IntRange(1, 8).Draw(t, "frames") {
			f := frame{cursor: true}
			f.above = rapid.SliceOfN(rapid.Custom(drawLine), 0, 6).Draw(t, "above")
			f.lines = rapid.SliceOfN(rapid.Custom(drawLine), 1, 6).Draw(t, "lines")
			f.cy = rapid.IntRange(0, len(f.lines)-1).Draw(t, "cy")
			out := s.paint(f)
			_, _ = v.Write(out)
			r.play(out)
			if r.y != v.Y || r.lost {
				t.Fatalf("the cursor is in row %d, not %d", v.Y, r.y)
			}
		}
		for y := range v.Grid {
			shown := len(strings.TrimRight(rowOf(v.Grid[y]), " "))
			if known := y < len(r.rows) && len(r.rows[y].cells) > 0; shown > 0 && !known {
				t.Fatalf("row %d has text", y)
			}
		}
	})
}

func rowOf(cells []termtest.Cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.Text)
	}
	return b.String()
}

func TestAReplicaWrapsLinesAndFollowsTheCursor(t *testing.T) {
	s := newScreen(20, 10, true)
	s.paint(frame{above: []string{strings.Repeat("a", 20), "b"}})
	s.paint(frame{lines: []string{strings.Repeat("c", 15), "> d"}, cursor: true, cx: 3, cy: 1})
	s.remember()
	r := s.replica(&s.last)
	for _, want := range []struct{ width, start, y, x int }{
		{20, 2, 3, 3},
		{10, 3, 5, 3},
		{8, 4, 6, 3},
		{2, 11, 20, 1},
		{20, 2, 3, 3},
	} {
		r.resize(want.width)
		if r.start() != want.start || r.y != want.y || r.x != want.x {
			t.Errorf("in %d columns the live part begins in row %d and the cursor is at %d,%d; want %+v", want.width, r.start(),
				r.x, r.y, want)
		}
	}
}
