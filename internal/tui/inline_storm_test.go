//go:build !windows

package tui_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/await"
)

// checkOnce fails the test unless n numbered words are there once each, in order, and no part of a prompt is.
func checkOnce(t *testing.T, all string, n int) {
	t.Helper()
	doubled := checkNumbered(t, all, n)
	seen := regexp.MustCompile(`w\d{5}`).FindAllString(all, -1)
	if len(doubled) > 0 || !slices.IsSorted(seen) {
		t.Errorf("doubled: %q, in order %v, in\n%s", doubled, slices.IsSorted(seen), all)
	}
	if rules := strings.Count(all, "───"); rules > 0 {
		t.Errorf("a part of the prompt is left in\n%s", all)
	}
}

// resizeUntilTheEnd resizes the terminal while a reply streams, sometimes at once again, sometimes after the next
// frame, and returns how often.
func (x *tmux) resizeUntilTheEnd(widths []int) int {
	n := 0
	for ; ; n++ {
		shown := x.screen()
		if strings.Contains(shown, "END-OF-REPLY") {
			return n
		}
		x.run("resize-window", "-x", fmt.Sprint(widths[n*5%len(widths)]), "-y", fmt.Sprint(36+n%5))
		if n%3 == 0 {
			resized := x.screen()
			await.Until(func() bool { return x.screen() != resized })
		}
	}
}

func TestInlinePrintsEachWordOnceWhenTheTerminalIsResizedAgainAndAgainWhileAReplyStreams(t *testing.T) {
	const words = 4000
	x := inlineWith(t, words)
	x.keys("stream", "Enter")
	x.shows("w00")
	n := x.resizeUntilTheEnd([]int{60, 100, 81, 66, 120, 79, 72})
	x.keys("/quit", "Enter")
	x.shows("resume with: 0199-fake")
	checkOnce(t, x.run("capture-pane", "-p", "-J", "-S", "-"), words)
	if n < 5 {
		t.Errorf("resized %d times", n)
	}
}
