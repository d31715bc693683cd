//go:build !windows

package tui_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

func TestAPromptIsSentAndAnswered(t *testing.T) {
	d := opened(t, 80, 24)
	exchange(d, "hello")
	d.CheckClean()
}

func TestLeavingRestoresTheTerminalAndNamesTheSession(t *testing.T) {
	d := opened(t, 80, 24)
	d.Type(termtest.CtrlC)
	d.Shows("ctrl+c again leaves")
	d.Type(termtest.CtrlC)
	d.Shows("resume with: 0199-fake")
	d.CheckRestored()
	if code := d.Ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAStreamedReplyIsFollowedToItsEnd(t *testing.T) {
	d := opened(t, 100, 30)
	d.Line("stream 20")
	d.Shows("Working")
	d.Shows("END-OF-REPLY")
	d.Hides("Working")
	d.CheckClean()
}

func TestEscapeInterrupts(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("wait")
	d.Shows("sleep 1000")
	d.Type(termtest.Esc)
	d.Shows("interrupted")
	d.Hides("Working")
}

// What the model gets and the user did not write is one folded line, which opens.
func TestWhatTheModelIsToldIsSeen(t *testing.T) {
	d := opened(t, 80, 30)
	exchange(d, "hello")
	d.Line("told")
	d.Shows("↳ told the model: Stop hook: run the tests (+1 line)")
	d.Shows("↳ the summary: # Goal (+1 line)")
	d.Hides("and the linter")
	d.Type("\x0f")
	d.Shows("and the linter")
}

// A paste stays a chip in the transcript until that is expanded; one that does not fit the window is not sent.
func TestAPasteStaysAChip(t *testing.T) {
	d := opened(t, 100, 30)
	paste := func(s string) { d.Type("\x1b[200~" + s + "\x1b[201~") }
	paste(strings.Repeat("a pasted line\n", 60))
	d.Shows("[Pasted text #1 +60 lines]")
	d.Type("explain\r")
	d.Shows("❯ [Pasted text #1 +60 lines]explain")
	d.Hides("Working")
	paste(strings.Repeat("word word word word ", 50_000))
	d.Shows("[Pasted text #2")
	d.Type("\r")
	d.Shows("not sent: it has about")
	d.Shows("[Pasted text #3")
}

// A refusal is told to the person in their words.
func TestTextsForTheModelAreNotShownToPeople(t *testing.T) {
	d := opened(t, 90, 24)
	d.Line("denied")
	d.Shows("You said no. You said: use make")
}

// Enter on an agent's call opens its transcript, which is fetched again and takes messages; Esc leads back.
func TestAnAgentIsWatched(t *testing.T) {
	d := opened(t, 90, 30)
	d.Line("agent")
	d.Shows("found")
	d.Type("\x1b[1;3A")
	d.Type("j") // from the prompt to the call
	d.Type("\r")
	d.Shows("Agent Explore: look")
	d.Shows("find it")
	d.Type("\x14")
	d.Shows("Message:")
	d.Type("look in b too\r")
	d.Shows("heard: a1 look in b too")
	d.Type(termtest.Esc)
	d.Hides("find it")
}

func TestMistakesInKeyBindingsAreSaidAtTheStart(t *testing.T) {
	d := opened(t, 100, 30, `LATHE_TUI_KEYS={"ctrl+k": "edit:nonsense"}`)
	d.Shows("keybindings:")
	d.Shows("edit:nonsense")
}

func TestASteeredMessageIsDeliveredInTheTurn(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("wait")
	d.Shows("sleep 1000")
	d.Line("also this")
	d.Shows("⤷ also this (next step)")
	d.Type(termtest.Esc)
	d.Shows("❯ also this")
	d.Hides("next step")
}

func TestAQueuedMessageIsTakenBack(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("wait")
	d.Shows("sleep 1000")
	d.Type("later")
	d.Shows("later")
	d.Type(termtest.AltEnter)
	d.Shows("⤷ later (after the turn)")
	d.Type(termtest.Up)
	d.Hides("after the turn")
	d.Shows("later")
	d.Type("!\r")
	d.Shows("⤷ later! (next step)")
}

func TestAPermissionIsGranted(t *testing.T) {
	d := opened(t, 100, 40)
	d.Line("ask")
	d.Shows("rm -rf build-0")
	d.Press("y", "answered once")
	d.Shows("Thanks.")
}

func TestScrollingBackStaysWhileMoreComes(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_HISTORY=200")
	d.Shows("Answer 199")
	d.Type(termtest.PageUp + termtest.PageUp)
	d.Shows("scrolled back")
	d.Hides("Answer 199")
	exchange(d, "hello") // sending goes to the end
	d.Type(termtest.CtrlHome)
	d.Shows("question 0")
	d.Type(termtest.CtrlEnd)
	d.Shows("You said: hello")
}

func TestScrollingUpLoadsTheEarlierPartOfALongConversation(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_HISTORY=200", "LATHE_TUI_PAGE=20") // ten exchanges at first
	d.Shows("Answer 199")
	d.Type(termtest.CtrlHome)
	d.Shows("question 190")
	d.Type(termtest.PageUp)
	d.Shows("question 188") // lines loaded above do not move the view, so scrolling can go on
	for i := 140; i >= 0; i -= 50 {
		d.Press(termtest.CtrlHome, fmt.Sprintf("❯ question %d\n", i))
	}
	d.Type(termtest.CtrlEnd)
	d.Shows("Answer 199")
	d.CheckClean()
}

func TestResizingWhileAReplyStreams(t *testing.T) {
	d := opened(t, 100, 30)
	d.Line("stream 30")
	d.Shows("Heading")
	for i := range 60 {
		d.Resize(20+i*7%300, 3+i%50)
	}
	d.Resize(80, 24)
	d.Shows("END-OF-REPLY")
	d.Hides("Working")
	d.CheckClean()
}

func TestAMegabyteIsPasted(t *testing.T) {
	d := opened(t, 80, 24)
	wrote := make(chan error, 1)
	go func() {
		wrote <- d.Write("\x1b[200~" + strings.Repeat("0123456789abcdef\n", 1<<16) + "\x1b[201~")
	}()
	d.Shows("Pasted text")
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	d.Type("\r")
	d.Shows("not sent: it has about") // more than the window
	d.Shows("Pasted text #2")
}

func TestACrashRestoresTheTerminalAndSaysWhereTheSessionIs(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("/boom")
	d.Shows("lathe crashed: boom")
	d.Shows("lathe --resume 0199-fake")
	d.CheckRestored()
	if code := d.Ends(); code == 0 {
		t.Error("the exit code of a crash is 0")
	}
}

func TestSignalsEndInOrder(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			d := opened(t, 80, 24)
			d.Signal(s)
			d.CheckRestored()
			if code := d.Ends(); code != 3 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestAVanishedTerminalEndsTheProgram(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("wait") // the animation lets our own read of the closed terminal return
	d.Shows("Working")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d.Ends()
}

func TestModelOutputDoesNotReachTheTerminalAsControl(t *testing.T) {
	d := opened(t, 80, 24)
	d.Line("fail")
	d.Shows("␛[31mred")
	d.CheckClean()
}

func TestLeavingAnInlineScreenLeavesOnlyTheConversation(t *testing.T) {
	d := opened(t, 80, 16, "LATHE_TUI_INLINE=1")
	exchange(d, "hello")
	d.Line("/quit")
	d.Shows("resume with: 0199-fake")
	d.CheckRestored()
	d.Look(func(s *termtest.Screen) {
		for _, rubbish := range []string{"───", "claude-sonnet-4-5 ·", "\n> "} {
			if text := strings.Join(s.All(), "\n"); strings.Contains(text, rubbish) {
				t.Errorf("%q is left in:\n%s", rubbish, text)
			}
		}
	})
}

func TestAnInlineScreenOffersOnlyWhatWorksThere(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_INLINE=1")
	d.Line("long")
	d.Shows("line 50")
	d.Look(func(s *termtest.Screen) {
		if text := strings.Join(s.All(), "\n"); strings.Contains(text, "ctrl+o") {
			t.Errorf("what was printed offers to be expanded:\n%s", text)
		}
	})
}

func TestInlineKeepsWhatIsFinishedInTheScrollback(t *testing.T) {
	d := opened(t, 80, 16, "LATHE_TUI_INLINE=1")
	d.Line("stream 6")
	d.Shows("END-OF-REPLY")
	d.Hides("Working")
	exchange(d, "hello")
	d.Look(func(s *termtest.Screen) {
		all := strings.Join(s.All(), "\n")
		if n := strings.Count(all, "Heading"); n < 15 || strings.Count(all, "❯ stream 6") != 1 || strings.Count(all,
			"END-OF-REPLY") != 1 {
			t.Errorf("%d headings; all:\n%s", n, all)
		}
		if s.Alt || s.Clears > 0 {
			t.Errorf("alternate screen %v, clears %d", s.Alt, s.Clears)
		}
	})
}

func TestAFileThatThePromptNamesIsShownWithItsTokensAndAttached(t *testing.T) {
	d := opened(t, 80, 24)
	d.Type("look at @a.go")
	d.Shows("[a.go ~1.2k tokens]")
	d.Type("x")
	d.Type("\x7f\r")
	d.Shows("attached a.go (120 lines)")
	d.Hides("~1.2k tokens")
	d.Shows("You said: look at @a.go")
	d.CheckClean()
}
