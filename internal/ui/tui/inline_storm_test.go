//go:build !windows

package tui_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
)

// promptRule is the line above the prompt.
var promptRule = regexp.MustCompile(`(?m)^─{20,}[ ❯>]*$`)

// checkOnce fails the test unless n numbered words are there, all but a few of them once and in order, and hardly a
// prompt is: a terminal may read a frame in part before and in part after a change of its width.
func checkOnce(t *testing.T, all string, n int) {
	t.Helper()
	doubled := checkNumbered(t, all, n)
	seen := regexp.MustCompile(`w\d{5}`).FindAllString(all, -1)
	if len(doubled) > n/100 || len(doubled) == 0 && !slices.IsSorted(seen) {
		t.Errorf("doubled: %q, in order %v, in\n%s", doubled, slices.IsSorted(seen), all)
	}
	if rules := promptRule.FindAllString(all, -1); len(rules) > 2 {
		t.Errorf("%d prompts are left in\n%s", len(rules), all)
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

// inBlocks is Markdown with n numbered words in tables, fenced code and indented code.
func inBlocks(n int) string {
	var b strings.Builder
	i := 0
	row := func(format string, words int) {
		args := make([]any, words)
		for k := range args {
			args[k], i = fmt.Sprintf("w%05d", i), i+1
		}
		fmt.Fprintf(&b, format, args...)
	}
	rows := func(count int, format string, words int) {
		for range count {
			row(format, words)
		}
	}
	for i < n {
		b.WriteString("| a | b | c |\n|---|---|---|\n")
		rows(12, "| %s %s | %s %s | %s |\n", 5)
		b.WriteString("\n```go\n")
		rows(15, "f(%s, %s, %s, %s)\n", 4)
		b.WriteString("```\n\n")
		rows(1, "Text %s:\n\n", 1)
		rows(11, "    %s %s %s\n", 3)
		b.WriteString("\nText.\n\n")
		if left := n - i; left < 154 {
			rows(left, "%s ", 1)
		}
	}
	return b.String()
}

func TestInlineDoublesHardlyAWordWhenTheTerminalIsResizedAgainAndAgainWhileAReplyStreams(t *testing.T) {
	for name, text := range map[string]func(int) string{"text": numbered, "tables and code": inBlocks} {
		t.Run(name, func(t *testing.T) {
			const words = 3900 // both end with a whole block
			x := inlineWith(t, text(words))
			x.keys("stream", "Enter")
			x.shows("w00")
			n := x.resizeUntilTheEnd([]int{60, 100, 81, 66, 120, 79, 72})
			x.keys("/quit", "Enter")
			x.shows("resume with: 0199-fake")
			checkOnce(t, x.run("capture-pane", "-p", "-J", "-S", "-"), words)
			if n < 5 {
				t.Errorf("resized %d times", n)
			}
		})
	}
}
