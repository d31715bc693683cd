package theme

import (
	"image/color"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestColoursOfXtermAreWrittenByNumber(t *testing.T) {
	level := []uint8{0, 95, 135, 175, 215, 255}
	for i, r := range level {
		for j, g := range level {
			for k, b := range level {
				want := 16 + 36*i + 6*j + k
				if r == g && g == b {
					continue // greys have two numbers
				}
				if got := number(r, g, b); got != want || int(ansi.Convert256(color.RGBA{r, g, b, 255})) != want {
					t.Errorf("#%02x%02x%02x is %d, want %d", r, g, b, got, want)
				}
			}
		}
	}
	for _, c := range [][3]uint8{{1, 2, 3}, {96, 95, 95}, {0, 0, 94}} {
		if got := number(c[0], c[1], c[2]); got != -1 {
			t.Errorf("%v is %d", c, got)
		}
	}
}
