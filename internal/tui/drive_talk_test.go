//go:build !windows

package tui

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func TestAPromptIsSentAndAnswered(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("hello")
	d.shows("You said: hello")
	d.checkClean()
}

func TestLeavingRestoresTheTerminalAndNamesTheSession(t *testing.T) {
	d := opened(t, 80, 24)
	d.keys(ctrlC)
	d.shows("ctrl+c again leaves")
	d.keys(ctrlC)
	d.shows("resume with: 0199-fake")
	d.checkRestored()
	if code := d.ends(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAStreamedReplyIsFollowedToItsEnd(t *testing.T) {
	d := opened(t, 100, 30)
	d.line("stream 20")
	d.shows("Working")
	d.shows("END-OF-REPLY")
	d.hides("Working")
	d.checkClean()
}

func TestEscapeInterrupts(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("wait")
	d.shows("sleep 1000")
	d.keys(esc)
	d.shows("interrupted")
	d.hides("Working")
}

func TestASteeredMessageIsDeliveredInTheTurn(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("wait")
	d.shows("sleep 1000")
	d.line("also this")
	d.shows("⤷ also this (next step)")
	d.keys(esc)
	d.shows("❯ also this")
	d.hides("next step")
}

func TestAQueuedMessageIsTakenBack(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("wait")
	d.shows("sleep 1000")
	d.keys("later")
	d.shows("later")
	d.keys(altEnter)
	d.shows("⤷ later (after the turn)")
	d.keys(up)
	d.hides("after the turn")
	d.shows("later")
	d.keys("!\r")
	d.shows("⤷ later! (next step)")
}

func TestAPermissionIsGranted(t *testing.T) {
	d := opened(t, 100, 40)
	d.line("ask")
	d.shows("rm -rf build-0")
	d.press("y", "answered once")
	d.shows("Thanks.")
}

func TestScrollingBackStaysWhileMoreComes(t *testing.T) {
	d := opened(t, 80, 24, "LATHE_TUI_HISTORY=200")
	d.shows("Answer 199")
	d.keys(pageUp + pageUp)
	d.shows("scrolled back")
	d.hides("Answer 199")
	before := d.screen()
	d.line("hello")
	d.shows("You said: hello") // sending goes to the end
	d.keys(ctrlHome)
	d.shows("question 0")
	d.keys(ctrlEnd)
	d.shows("You said: hello")
	_ = before
}

func TestResizingWhileAReplyStreams(t *testing.T) {
	d := opened(t, 100, 30)
	d.line("stream 30")
	d.shows("Heading")
	for i := range 60 {
		d.resize(20+i*7%300, 3+i%50)
	}
	d.resize(80, 24)
	d.shows("END-OF-REPLY")
	d.hides("Working")
	d.checkClean()
}

func TestAMegabyteIsPasted(t *testing.T) {
	d := opened(t, 80, 24)
	wrote := make(chan error, 1)
	go func() {
		_, err := d.tty.WriteString("\x1b[200~" + strings.Repeat("0123456789abcdef\n", 1<<16) + "\x1b[201~")
		wrote <- err
	}()
	d.shows("Pasted text")
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	d.keys("\r")
	d.shows("0123456789abcdef 0123456789abcdef")
	d.keys(ctrlHome)
	d.shows("more lines")
}

func TestACrashRestoresTheTerminalAndSaysWhereTheSessionIs(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("/boom")
	d.shows("lathe crashed: boom")
	d.shows("lathe --resume 0199-fake")
	d.checkRestored()
	if code := d.ends(); code == 0 {
		t.Error("the exit code of a crash is 0")
	}
}

func TestSignalsEndInOrder(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			d := opened(t, 80, 24)
			d.signal(s)
			d.checkRestored()
			if code := d.ends(); code != 3 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

func TestAVanishedTerminalEndsTheProgram(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("wait") // what moves lets our own read of the closed terminal return
	d.shows("Working")
	if err := d.tty.Close(); err != nil {
		t.Fatal(err)
	}
	d.ends()
}

func TestModelOutputDoesNotReachTheTerminalAsControl(t *testing.T) {
	d := opened(t, 80, 24)
	d.line("fail")
	d.shows("␛[31mred")
	d.checkClean()
}

func TestInlineKeepsWhatIsFinishedInTheScrollback(t *testing.T) {
	d := opened(t, 80, 16, "LATHE_TUI_INLINE=1")
	d.line("stream 6")
	d.shows("END-OF-REPLY")
	d.hides("Working")
	d.line("hello")
	d.shows("You said: hello")
	d.mu.Lock()
	defer d.mu.Unlock()
	all := strings.Join(d.vt.all(), "\n")
	if n := strings.Count(all, "Heading"); n < 15 || strings.Count(all, "❯ stream 6") != 1 || strings.Count(all, "END-OF-REPLY") != 1 {
		t.Errorf("%d headings; all:\n%s", n, all)
	}
	if d.vt.alt || d.vt.clears > 0 {
		t.Errorf("alternate screen %v, clears %d", d.vt.alt, d.vt.clears)
	}
}
