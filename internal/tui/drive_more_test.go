//go:build !windows

package tui

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWithoutColourThereIsNone(t *testing.T) {
	d := opened(t, 80, 24, "NO_COLOR=1")
	d.line("stream 3")
	d.shows("END-OF-REPLY")
	d.hides("Working")
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, sgr := range regexp.MustCompile(`\x1b\[([\d;:]*)m`).FindAllStringSubmatch(d.raw.String(), -1) {
		var st style
		st.apply(sgr[1])
		if st.fg != 0 || st.bg != 0 {
			t.Fatalf("a colour was written: %q", sgr[0])
		}
	}
}

func TestSixteenColoursAreEnough(t *testing.T) {
	d := opened(t, 80, 24, "COLORTERM=", "TERM=xterm")
	d.line("stream 3")
	d.shows("END-OF-REPLY")
	d.mu.Lock()
	defer d.mu.Unlock()
	if raw := d.raw.String(); strings.Contains(raw, "38;5;") || strings.Contains(raw, "38;2;") {
		t.Error("more than 16 colours were used")
	}
}

func TestALightBackgroundChangesTheColours(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("hello")
	d.shows("You said: hello")
	before := d.prompt()
	d.keys("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
	d.until("other colours", func(v *vt) bool { return v.promptStyle() != before })
	d.checkClean()
}

// promptStyle is the style of the message that the user sent.
func (v *vt) promptStyle() style { return v.grid[0][2].st }

func (d *drive) prompt() style {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.vt.promptStyle()
}

func TestTheUserIsToldWhenTheyLookElsewhere(t *testing.T) {
	d := opened(t, 100, 40, "LATHE_TUI_NOTIFY=osc9")
	d.keys("\x1b[O") // the focus is lost
	d.line("ask")
	d.until("a notification", func(v *vt) bool {
		return slices.ContainsFunc(v.osc, func(s string) bool { return strings.HasPrefix(s, "9;lathe asks: Bash rm -rf") })
	})
}

func TestTheClipboardIsSetThroughTheTerminal(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("/copy")
	d.until("the clipboard", func(v *vt) bool { return slices.Contains(v.osc, "52;c;Y29waWVkIHRleHQ=") })
	d.shows("copied 11 characters")
}

func TestShiftTabChangesTheMode(t *testing.T) {
	d := opened(t, 80, 24)
	d.shows("default")
	d.keys(shiftTab)
	d.shows("acceptEdits")
}

func TestEscapeTwiceGoesBackToAnEarlierMessage(t *testing.T) {
	d := opened(t, 80, 24)
	d.keys(esc)
	d.shows("esc again goes back")
	d.keys(esc)
	d.shows("second message")
	d.keys(down)
	d.keys("\r")
	d.shows("> message ")
}

func TestTheWheelScrollsThoughItSendsArrows(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_HISTORY=50")
	d.shows("Answer 49")
	d.keys(strings.Repeat(up, 6))
	d.shows("scrolled back")
	d.keys(strings.Repeat(down, 30))
	d.hides("scrolled back")
}

func TestACapturedWheelScrolls(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_HISTORY=50", "LATHE_TUI_MOUSE=1")
	d.shows("Answer 49")
	d.keys(strings.Repeat("\x1b[<64;10;5M", 4))
	d.shows("scrolled back")
}

func TestAnItemIsExpandedByItself(t *testing.T) {
	d := opened(t, 80, 40)
	d.line("long")
	d.shows("line 50")
	d.hides("line 25")
	d.keys("\x1b[1;3A") // alt+up: the transcript has the focus
	d.shows("enter: all of it")
	d.keys(down + "\r")
	d.until("all of it", func(v *vt) bool {
		return strings.Contains(v.text(), "line 25") || strings.Contains(v.text(), "line 5\n")
	})
	d.keys(esc)
	d.hides("enter: all of it")
	d.checkClean()
}

func TestTheSidebarIsToggled(t *testing.T) {
	d := opened(t, 120, 30)
	d.line("todo")
	d.shows("done")
	d.keys("\x18b")
	d.shows("Tasks")
	d.shows("◐ doing two")
	d.shows("+10 -2")
	d.keys("\x18b")
	d.hides("Tasks")
	d.checkClean()
}

func TestThePromptIsEditedInAnotherProgram(t *testing.T) {
	script := filepath.Join(t.TempDir(), "ed")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat \"$1\"\nprintf ' and more' >>\"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := opened(t, 80, 24, "EDITOR="+script)
	d.keys("some text")
	d.shows("some text")
	d.keys("\x07")
	d.shows("some text and more")
	d.until("the alternate screen", func(v *vt) bool { return v.alt && v.modes["2004"] })
	d.keys("\r")
	d.shows("You said: some text and more")
}

func TestSuspendingLeavesAndComesBack(t *testing.T) {
	d := opened(t, 80, 24)
	d.keys(ctrlZ) // nobody could continue a process without a shell, so it goes on
	d.until("the way back", func(v *vt) bool { return strings.Count(d.raw.String(), "\x1b[?1049l") == 1 && v.alt })
	d.line("hello")
	d.shows("You said: hello")
}

func TestAStormOfResizesEndsInAWholeFrame(t *testing.T) {
	d := opened(t, 100, 30, "LATHE_TUI_HISTORY=20")
	for i := range 300 {
		d.resize(20+i*37%480, 3+i*13%100)
	}
	d.resize(90, 25)
	d.line("hello")
	d.shows("You said: hello")
	d.checkClean()
}

func TestATerminalThatTakesNoBytesStopsNobody(t *testing.T) {
	d := opened(t, 80, 24)
	d.mu.Lock() // our reader stops, and the terminal's buffer fills
	if _, err := d.tty.WriteString("stream 30\r"); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, d.mu.Unlock)
	d.shows("END-OF-REPLY")
	d.checkClean()
}

func TestKillLeavesNothingToWaitFor(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("stream 100")
	d.shows("Heading")
	d.signal(syscall.SIGKILL)
	if code := d.ends(); code != -1 {
		t.Errorf("exit code %d", code)
	}
}
