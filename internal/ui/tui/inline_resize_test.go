//go:build !windows

package tui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// numbered is Markdown with n numbered words: paragraphs, lists, code and tables.
func numbered(n int) string {
	var b strings.Builder
	for i := 0; i < n; {
		words := func(count int) {
			for range count {
				fmt.Fprintf(&b, "w%05d ", i)
				i++
			}
		}
		words(40)
		b.WriteString("\n\n- ")
		words(10)
		b.WriteString("\n- ")
		words(15)
		b.WriteString("\n\n")
	}
	return b.String()
}

// checkNumbered fails the test if one of n numbered words is not there, and returns those that are there twice.
func checkNumbered(t *testing.T, all string, n int) (doubled []string) {
	t.Helper()
	seen := map[string]int{}
	for _, w := range regexp.MustCompile(`w\d{5}`).FindAllString(all, -1) {
		seen[w]++
	}
	var lost []string
	for i := range n {
		switch w := fmt.Sprintf("w%05d", i); {
		case seen[w] == 0:
			lost = append(lost, w)
		case seen[w] > 1:
			doubled = append(doubled, w)
		}
	}
	if len(lost) > 0 {
		t.Errorf("lost: %q in\n%s", lost, all)
	}
	return doubled
}

// inlineWith starts an inline screen in tmux whose replies are a text.
func inlineWith(t *testing.T, reply string) *tmux {
	t.Helper()
	text := filepath.Join(t.TempDir(), "text.md")
	if err := os.WriteFile(text, []byte(reply), 0o600); err != nil {
		t.Fatal(err)
	}
	x := inTmux(t, 80, 24)
	x.run("set-option", "-g", "history-limit", "20000")
	x.keys("LATHE_TUI_INLINE=1 LATHE_TUI_TEXT="+text+" lathe", "Enter")
	x.shows("claude-sonnet-4-5")
	return x
}

var someWidths = []int{60, 100, 81, 40, 120, 79, 53, 90}

func TestInlineLosesNothingWhenTheTerminalIsResizedWhileAReplyStreams(t *testing.T) {
	const words = 2600
	x := inlineWith(t, numbered(words))
	x.keys("stream", "Enter")
	x.shows("w00")
	resized := 0
	for !strings.Contains(x.screen(), "END-OF-REPLY") {
		w := someWidths[resized%len(someWidths)]
		x.run("resize-window", "-x", fmt.Sprint(w), "-y", fmt.Sprint(20+resized%5))
		if resized++; resized%3 == 0 { // else it is resized again before it has drawn
			x.shows("\n" + strings.Repeat("─", w) + "\n")
		}
	}
	x.keys("/quit", "Enter")
	x.shows("resume with: 0199-fake")
	doubled := checkNumbered(t, x.run("capture-pane", "-p", "-J", "-S", "-"), words)
	if resized < 3 || len(doubled) > words/10 { // a frame under way meets the new width, so its rows stay
		t.Errorf("resized %d times, %d words twice: %q", resized, len(doubled), doubled)
	}
}

func TestInlineDoublesNothingWhenTheTerminalIsResizedAgainAndAgain(t *testing.T) {
	const words = 260
	x := inlineWith(t, numbered(words))
	x.keys("stream", "Enter")
	x.shows("END-OF-REPLY")
	for range 3 {
		var storm []string
		for _, w := range someWidths {
			storm = append(storm, "resize-window", "-x", fmt.Sprint(w), ";")
		}
		x.run(storm...) // in one command, so that no frame is drawn for a width between
		x.shows("\n" + strings.Repeat("─", 90) + "\n")
	}
	x.keys("hello", "Enter")
	x.shows("You said: hello")
	x.keys("/quit", "Enter")
	x.shows("resume with: 0199-fake")
	all := x.run("capture-pane", "-p", "-J", "-S", "-")
	if doubled := checkNumbered(t, all, words); len(doubled) > 0 {
		t.Errorf("doubled: %q in\n%s", doubled, all)
	}
	for _, want := range []string{"END-OF-REPLY", "❯ hello", "You said: hello"} {
		if n := strings.Count(all, want); n != 1 {
			t.Errorf("%q is there %d times in\n%s", want, n, all)
		}
	}
	if strings.Contains(all, "──") {
		t.Errorf("a part of the prompt is left in\n%s", all)
	}
}

func TestInlineGoesOnInATerminalThatReportsNoWidth(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_INLINE=1", "XTERM_VERSION=xterm")
	d.Line("stream 10")
	d.Shows("Heading")
	for i := range 20 {
		d.Resize(60+i*7%60, 20+i%5)
	}
	d.Resize(80, 24)
	d.Shows("END-OF-REPLY")
	exchange(d, "hello")
}

func TestInlinePrintsAParagraphOnceWhenTheTerminalIsResizedWhileItStreams(t *testing.T) {
	const words = 400
	text := filepath.Join(t.TempDir(), "text.md")
	if err := syscall.Mkfifo(text, 0o600); err != nil {
		t.Fatal(err)
	}
	x := inTmux(t, 80, 24)
	x.keys("LATHE_TUI_INLINE=1 LATHE_TUI_REDUCED=1 LATHE_TUI_TEXT="+text+" lathe", "Enter")
	x.shows("claude-sonnet-4-5")
	x.keys("stream", "Enter")
	pipe, err := os.OpenFile(text, os.O_WRONLY, 0) // once the reply has begun
	if err != nil {
		t.Fatal(err)
	}
	for i := range words {
		fmt.Fprintf(pipe, "w%05d ", i)
		if i%20 < 19 {
			continue
		}
		x.shows(fmt.Sprintf("w%05d", i))
		w := someWidths[i/20%len(someWidths)]
		x.run("resize-window", "-x", fmt.Sprint(w), "-y", "24")
		x.shows("\n" + strings.Repeat("─", w) + "\n>") // drawn again, not wrapped
	}
	pipe.Close()
	x.shows("END-OF-REPLY")
	all := x.run("capture-pane", "-p", "-J", "-S", "-")
	// A frame under way, such as that of the next second, may meet the new width: its rows stay.
	if doubled := checkNumbered(t, all, words); len(doubled) > words/5 {
		t.Errorf("doubled: %q in\n%s", doubled, all)
	}
	if rule := strings.Count(all, "\n──"); rule < 1 || rule > 3 {
		t.Errorf("the prompt is there %d times in\n%s", rule, all)
	}
}
