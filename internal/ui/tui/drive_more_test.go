//go:build !windows

package tui_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/term"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

func TestWithoutColourThereIsNone(t *testing.T) {
	d := opened(t, 80, 24, "NO_COLOR=1")
	d.Line("stream 3")
	d.Shows("END-OF-REPLY")
	d.Hides("Working")
	for _, sgr := range regexp.MustCompile(`\x1b\[([\d;:]*)m`).FindAllStringSubmatch(d.Output(), -1) {
		var st termtest.Style
		st.Apply(sgr[1])
		if st.FG != "" || st.BG != "" {
			t.Fatalf("a colour was written: %q", sgr[0])
		}
	}
}

func TestSixteenColoursAreEnough(t *testing.T) {
	d := opened(t, 80, 24, "COLORTERM=", "TERM=xterm")
	d.Line("stream 3")
	d.Shows("END-OF-REPLY")
	if raw := d.Output(); strings.Contains(raw, "38;5;") || strings.Contains(raw, "38;2;") {
		t.Error("more than 16 colours were used")
	}
}

func TestALightBackgroundChangesTheColours(t *testing.T) {
	d := opened(t, 80, 24)
	exchange(d, "hello")
	prompt := func(s *termtest.Screen) termtest.Style { return s.Grid[0][2].Style } // the message that was sent
	var before termtest.Style
	d.Look(func(s *termtest.Screen) { before = prompt(s) })
	d.Type("\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
	d.Until("other colours", func(s *termtest.Screen) bool { return prompt(s) != before })
	d.CheckClean()
}

func TestTheUserIsToldWhenTheyLookElsewhere(t *testing.T) {
	d := opened(t, 100, 40, "LATHE_TUI_NOTIFY=osc9")
	d.Type("\x1b[O") // the focus is lost
	d.Line("ask")
	d.Until("a notification", func(v *termtest.Screen) bool {
		return slices.ContainsFunc(v.OSC, func(s string) bool { return strings.HasPrefix(s, "9;lathe asks: Bash rm -rf") })
	})
}

func TestTheClipboardIsSetThroughTheTerminal(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/copy")
	d.Until("the clipboard", func(v *termtest.Screen) bool { return slices.Contains(v.OSC, "52;c;Y29waWVkIHRleHQ=") })
	d.Shows("copied 11 characters")
}

func TestShiftTabChangesTheMode(t *testing.T) {
	d := opened(t, 80, 24)
	d.Shows("default")
	var before termtest.Style
	d.Look(func(s *termtest.Screen) { before = styleOf(s, "default") })
	d.Type(termtest.ShiftTab)
	d.Shows("acceptEdits")
	d.Look(func(s *termtest.Screen) {
		if after := styleOf(s, "acceptEdits"); after == before {
			t.Errorf("both modes look the same: %+v", after)
		}
	})
	d.Type(termtest.ShiftTab)
	d.Shows("· plan ·")
}

// styleOf is how a text on the screen looks at its beginning, the last time that it is there.
func styleOf(s *termtest.Screen, text string) termtest.Style {
	for y, l := range slices.Backward(s.Lines()) {
		if i := strings.Index(l, text); i >= 0 {
			return s.Grid[y][term.Width(l[:i])].Style
		}
	}
	return termtest.Style{}
}

func TestTheModeThatAsksNothingIsConfirmedOnce(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/mode bypassPermissions")
	d.Shows("Run everything without asking?")
	d.Shows("deny and ask rules and guards still hold ")
	d.Type("\r") // the mark is on No
	d.Hides("Run everything")
	d.Shows("· default ·")
	d.Line("/mode bypassPermissions")
	d.Shows("Run everything without asking?")
	d.Type(termtest.Down + "\r")
	d.Shows("· bypassPermissions ·")
	d.Look(func(s *termtest.Screen) {
		if st := styleOf(s, "bypassPermissions ·"); st != styleOf(s, "───") || st == styleOf(s, "claude-sonnet") {
			t.Errorf("the mode is shown in %+v", st)
		}
	})
	d.Line("/mode plan")
	d.Shows("· plan ·")
	d.Line("/mode bypassPermissions")
	d.Shows("· bypassPermissions ·")
}

func TestACallThatWaitsForAnAnswerShowsItsCommand(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("call")
	d.Shows("Allow Bash?")
	d.Shows("Bash rm -rf build-0  waiting")
	d.Press("y", "answered once")
	d.Shows("Thanks.")
}

func TestShiftTabComesBackToTheModeThatAsksNothing(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/mode bypassPermissions")
	d.Shows("Run everything without asking?")
	d.Type(termtest.Down + "\r")
	for _, mode := range []string{"bypassPermissions", "default", "acceptEdits", "plan", "bypassPermissions"} {
		d.Shows(" · " + mode + " · ")
		d.Type(termtest.ShiftTab)
	}
	d.Look(func(s *termtest.Screen) {
		if n := strings.Count(s.Text(), "The mode is"); n != 1 { // from /mode, not from the keys
			t.Errorf("a change of the mode is reported %d times:\n%s", n, s.Text())
		}
	})
}

func TestACommandOfTheUserIsInterrupted(t *testing.T) {
	for name, key := range map[string]string{"esc": termtest.Esc, "ctrl+c": termtest.CtrlC} {
		t.Run(name, func(t *testing.T) {
			d := opened(t, 80, 24)
			d.Type("!sleep 1000")
			d.Shows("! sleep 1000")
			d.Type("\r")
			d.Shows("Running your command · esc interrupts\n")
			d.Type(key)
			d.Shows("sleep 1000  cancelled")
			d.Hides("Running your command")
			exchange(d, "hello")
		})
	}
}

func TestACallThatFailedBeforeItRanNamesItsFileAndAllOfTheReason(t *testing.T) {
	d := opened(t, 60, 24)
	d.Line("refused")
	d.Shows("✗ Edit pkg/main.go  failed")
	d.Shows("read it first, then edit it")
}

func TestAFailedTurnSaysWhyAndWhatToDo(t *testing.T) {
	d := opened(t, 40, 24)
	d.Line("fail")
	d.Shows("✗ The turn failed: the model is not")
	d.Shows("␛[31mred")
	d.Shows("/retry sends it again")
	d.CheckClean()
}

func TestARetryIsToldInFullAndCanBeInterrupted(t *testing.T) {
	d := opened(t, 40, 24)
	d.Line("overload")
	d.Shows("so in more words than fit into a line")
	d.Shows("trying again now (1 of 3)")
	d.Shows("esc interrupts")
	d.Type(termtest.Esc)
	d.Shows("interrupted")
	d.CheckClean()
}

func TestAnEmptyReplySaysSo(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("nothing")
	d.Shows("the reply is empty")
	exchange(d, "hello")
	d.Look(func(s *termtest.Screen) {
		if n := strings.Count(s.Text(), "the reply is empty"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
}

func TestANarrowScreenStillNamesTheKeyForTheBackground(t *testing.T) {
	for width, want := range map[int]string{60: "esc interrupts · ctrl+b to background", 40: "esc stops · ctrl+b bg"} {
		d := opened(t, width, 20)
		d.Line("wait")
		d.Shows(want)
	}
}

func TestARunningCommandHintsAtTheBackground(t *testing.T) {
	d := opened(t, 100, 24)
	d.Line("wait")
	d.Shows("esc interrupts · ctrl+b sends the command to the background")
}

func TestAnErrorOfACommandIsShownBelowIt(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/broken thing")
	d.Shows("❯ /broken thing\n\n✗ this command does not work")
}

func TestHelpIsADialogWithColumns(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/help")
	d.Shows("─ Help ─")
	d.Look(func(s *termtest.Screen) {
		columns := map[int]bool{}
		for _, name := range []string{"help", "quit", "rewind"} {
			for _, l := range s.Lines() {
				if i := strings.Index(l, "does "+name); i >= 0 {
					columns[term.Width(l[:i])] = true
				}
			}
		}
		if len(columns) != 1 {
			t.Errorf("the descriptions begin in columns %v:\n%s", columns, s.Text())
		}
	})
	d.Type(termtest.Esc)
	d.Hides("─ Help ─")
}

func TestTheStartSaysWhereOneIsAndWhatToDo(t *testing.T) {
	d := opened(t, 80, 24, "HOME=/home/me")
	d.Shows("~/project · claude-sonnet-4-5 · default")
	d.Shows("Try:")
	d.Shows("Last here: mend the queue, 2 h ago · ctrl+x l goes on with it")
	d.Shows("? keys")
	d.CheckClean()
}

func TestAQuestionMarkListsTheKeysInAnEmptyPromptOnly(t *testing.T) {
	d := opened(t, 80, 24)
	d.Type("why?")
	d.Shows("> why?")
	d.Type("\x15?")
	d.Shows("─ Keys ─")
}

func TestExitLeaves(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("exit")
	d.Shows("resume with: 0199-fake")
}

func TestEscapeTwiceGoesBackToAnEarlierMessage(t *testing.T) {
	d := opened(t, 80, 24)
	exchange(d, "hello")
	d.Type(termtest.Esc)
	d.Shows("esc again goes back")
	d.Type(termtest.Esc)
	d.Shows("second message")
	d.Type(termtest.Down)
	d.Type("\r")
	d.Shows("> message ")
}

func TestACommandThatTakesLongIsShownAndInterrupted(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/compact")
	d.Shows("Running /compact")
	d.Shows("esc interrupts")
	d.Type(termtest.Esc)
	d.Shows("interrupted")
	d.Hides("Running /compact")
}

func TestTheWheelScrollsThoughItSendsArrows(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_HISTORY=50")
	d.Shows("Answer 49")
	d.Type(strings.Repeat(termtest.Up, 6))
	d.Shows("scrolled back")
	d.Type(strings.Repeat(termtest.Down, 30))
	d.Hides("scrolled back")
}

func TestACapturedWheelScrolls(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_HISTORY=50", "LATHE_TUI_MOUSE=1")
	d.Shows("Answer 49")
	d.Type(strings.Repeat("\x1b[<64;10;5M", 4))
	d.Shows("scrolled back")
}

func TestAnItemIsExpandedByItself(t *testing.T) {
	d := opened(t, 80, 40)
	d.Line("long")
	d.Shows("line 50")
	d.Hides("line 25")
	d.Type("\x1b[1;3A") // alt+up: the transcript has the focus
	d.Shows("enter: all of it")
	d.Type(termtest.Down + "\r")
	d.Until("all of it", func(v *termtest.Screen) bool {
		return strings.Contains(v.Text(), "line 25") || strings.Contains(v.Text(), "line 5\n")
	})
	d.Type(termtest.Esc)
	d.Hides("enter: all of it")
	d.CheckClean()
}

func TestTheSidebarIsToggled(t *testing.T) {
	d := opened(t, 120, 30)
	d.Line("todo")
	d.Shows("done")
	d.Type("\x18b")
	d.Shows("Tasks")
	d.Shows("◐ doing two")
	d.Shows("+10 -2")
	d.Type("\x18b")
	d.Hides("Tasks")
	d.CheckClean()
}

func TestThePromptIsEditedInAnotherProgram(t *testing.T) {
	script := filepath.Join(t.TempDir(), "ed")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncat \"$1\"\nprintf ' and more' >>\"$1\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := opened(t, 80, 24, "EDITOR="+script)
	d.Type("some text")
	d.Shows("some text")
	d.Type("\x07")
	d.Shows("some text and more")
	d.Until("the alternate screen", func(v *termtest.Screen) bool { return v.Alt && v.Modes["2004"] })
	d.Type("\r")
	d.Shows("You said: some text and more")
}

func TestSuspendingLeavesAndComesBack(t *testing.T) {
	d := opened(t, 80, 24)
	d.Type(termtest.CtrlZ) // no one could continue a process without a shell, so it goes on
	d.Sees("\x1b[?1049l")
	d.Sees("\x1b[?1049h")
	exchange(d, "hello")
}

func TestAStormOfResizesEndsInAWholeFrame(t *testing.T) {
	d := opened(t, 100, 30, "LATHE_TUI_HISTORY=20")
	for i := range 300 {
		d.Resize(20+i*37%480, 3+i*13%100)
	}
	d.Resize(90, 25)
	exchange(d, "hello")
	d.CheckClean()
}

func TestATerminalThatTakesNoBytesStopsNobody(t *testing.T) {
	d := opened(t, 80, 24)
	resume := d.Pause()
	d.Type("stream 30\r")
	time.AfterFunc(300*time.Millisecond, resume)
	d.Shows("END-OF-REPLY")
	d.CheckClean()
}

func TestKillLeavesNothingToWaitFor(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("stream 100")
	d.Shows("Heading")
	d.Signal(syscall.SIGKILL)
	if code := d.Ends(); code != -1 {
		t.Errorf("exit code %d", code)
	}
}
