//go:build linux || darwin

package repl

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	xterm "golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term/termtest"
)

// desk is the plain front end on a terminal.
type desk struct {
	*termtest.Terminal
	t    *testing.T
	done chan error
}

func sit(t *testing.T, f *fake, editor bool) *desk {
	t.Helper()
	term, tty := termtest.Open(t, 60, 24)
	d := &desk{Terminal: term, t: t, done: make(chan error, 1)}
	o := Options{
		In: tty, Out: tty, Err: tty, Terminal: true, Editor: editor, Spinner: editor, Close: f.close, Version: "1",
		Width: func() int { return 60 },
		Raw: func() (func() error, error) {
			old, err := xterm.MakeRaw(int(tty.Fd()))
			return func() error { return xterm.Restore(int(tty.Fd()), old) }, err
		},
	}
	go func() { d.done <- Run(context.WithoutCancel(t.Context()), f, f, o) }()
	t.Cleanup(func() { _ = f.close() })
	return d
}

func (d *desk) ends() {
	d.t.Helper()
	select {
	case err := <-d.done:
		if err != nil {
			d.t.Error(err)
		}
	case <-time.After(termtest.Patience):
		d.t.Fatalf("it does not end:\n%q", d.Output())
	}
}

func TestALineIsEditedAndSent(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, text string) { say(f, "reply to "+text) }
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("helo\x1b[Dl\x05 you\r")
	d.Sees("reply to hello you\r\n")
	d.Sees("(1 step, 0s)")
	d.Sees("> ")
	d.Type("\x1b[A") // the line before
	d.Sees("hello you")
	d.Type("\x15\x04")
	d.ends()
	if !slices.Equal(f.prompts, []string{"hello you"}) {
		t.Errorf("%q", f.prompts)
	}
}

func TestANoticeDoesNotGarbleTheLine(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("half a li")
	d.Sees("half a li")
	f.publish(event.Notice{Level: "info", Text: "settings changed"})
	d.Sees("settings changed\r\n")
	d.Sees("> half a li") // drawn again below it
	d.Type("ne\r")
	d.Sees("(1 step")
	if !slices.Equal(f.prompts, []string{"half a line"}) {
		t.Errorf("%q", f.prompts)
	}
	d.Type("\x04")
	d.ends()
}

func TestANoticeDoesNotGarbleALineOfWideCharacters(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("你好世界")
	d.Sees("你好世界")
	f.publish(event.Notice{Level: "info", Text: "settings changed"})
	d.Sees("\r\x1b[6D\x1b[K") // from the start of the row
	d.Sees("settings changed\r\n")
	d.Sees("> 你好世界")
	d.Type("\r")
	d.Sees("(1 step")
	d.Type("\x04")
	d.ends()
}

func TestALineTypedWhileATurnRunsSteersIt(t *testing.T) {
	f := newFake(t)
	release := make(chan struct{})
	f.turn = func(f *fake, _ string) { say(f, "working"); <-release; say(f, "over") }
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("go\r")
	d.Sees("working")
	d.Type("not that")
	d.Sees("+ not that")
	d.Type(" one\r")
	d.Sees("it is delivered")
	close(release)
	d.Sees("over")
	d.Sees("> ")
	d.Type("\x04")
	d.ends()
	if !slices.Equal(f.steered, []string{"not that one"}) || len(f.prompts) != 1 {
		t.Errorf("%q %q", f.steered, f.prompts)
	}
}

func TestTheSpinnerTurnsWhileNothingElseIsShown(t *testing.T) {
	f := newFake(t)
	release := make(chan struct{})
	f.turn = func(f *fake, _ string) { <-release }
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("go\r")
	d.Sees("Thinking")
	close(release)
	d.Sees("\x1b[2K") // it is taken away
	d.Sees("> ")
	d.Type("\x04")
	d.ends()
}

func TestCtrlCInterruptsClearsAndLeaves(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, text string) {
		say(f, "working")
		if text == "go" {
			<-f.interrupt
		}
	}
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("go\r")
	d.Sees("working")
	d.Type("\x03")
	d.Sees("(1 step")
	d.Sees("> ")
	d.Type("never mind")
	d.Sees("never mind")
	d.Type("\x03")
	d.Type("x\r")
	d.Sees("(1 step")
	d.Sees("> ")
	d.Type("\x03")
	d.Sees("Ctrl+C again leaves")
	d.Type("\x03")
	d.ends()
	if !slices.Equal(f.prompts, []string{"go", "x"}) {
		t.Errorf("%q", f.prompts)
	}
}

func TestTabCompletesAndCtrlRFinds(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("/mo\t")
	d.Sees("/mode")
	d.Type("l\t x\r") // model is whole
	d.Sees("> ")
	d.Type("see @ma\t")
	d.Sees("@src/main.go ")
	d.Type("\x15ANOT\x12")
	d.Sees("another one")
	d.Type("\r")
	d.Sees("(1 step")
	d.Type("\x04")
	d.ends()
	if !slices.Equal(f.prompts, []string{"another one"}) || len(f.commands) != 1 || !strings.HasPrefix(f.commands[0],
		"model") {
		t.Errorf("%q %q", f.prompts, f.commands)
	}
}

func TestAPasteOfSeveralLinesIsOneMessage(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("\x1b[200~one\ntwo\x03\nthree\x1b[201~")
	d.Sees("three")
	d.Type("\r")
	d.Sees("(1 step")
	d.Type("\x04")
	d.ends()
	if len(f.prompts) != 1 || !strings.HasPrefix(f.prompts[0], "one\ntwo") || !strings.HasSuffix(f.prompts[0], "three") {
		t.Errorf("%q", f.prompts)
	}
}

func TestBrokenInputDoesNotBlockTheTerminal(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("a\xff\xc3\x28" + "\x1b[" + strings.Repeat("9", 100) + "m" + "\x1b]0;x" + "\x1bOA\x1bOB" + "b\r")
	d.Sees("(1 step")
	d.Type("\x04")
	d.ends()
	if len(f.prompts) != 1 || !strings.HasSuffix(f.prompts[0], "b") {
		t.Errorf("%q", f.prompts)
	}
}

func TestAnAnswerTypedBeforeTheQuestionDoesNotCount(t *testing.T) {
	f := newFake(t)
	show, answered := make(chan struct{}), make(chan struct{})
	f.turn = func(f *fake, _ string) {
		say(f, "working")
		<-show
		f.publish(permissionQuestion())
		<-answered
	}
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("go\r")
	d.Sees("working")
	d.Type("1")
	d.Sees("+ 1")
	close(show)
	d.Sees("may Bash run?")
	d.Type("\r")
	d.Sees("it is delivered")
	d.Sees("? ")
	d.Type("3 no\r")
	d.Sees("3 no")
	close(answered)
	d.Sees("(1 step")
	d.Type("\x04")
	d.ends()
	if len(f.answers) != 1 || f.answers[0].Choice != event.ChoiceNo || f.answers[0].Text != "no" {
		t.Errorf("%+v", f.answers)
	}
}

func TestADumbTerminalGetsNoEscapeSequences(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, text string) { say(f, "reply to "+text) }
	d := sit(t, f, false)
	d.Sees("> ")
	d.Type("hello\n")
	d.Sees("reply to hello")
	d.Sees("> ")
	f.publish(event.Notice{Level: "info", Text: "by the way"})
	d.Sees("by the way")
	d.Sees("> ")
	d.Type("\x04")
	d.ends()
	if out := d.Output(); strings.ContainsRune(out, '\x1b') {
		t.Errorf("%q", out)
	}
}

func TestALongReplyIsWrappedAboveTheLine(t *testing.T) {
	f := newFake(t)
	release := make(chan struct{})
	f.turn = func(f *fake, _ string) {
		say(f, "begin")
		<-release
		f.publish(event.PartDone{MessageID: "long", Part: llm.Text{Text: strings.Repeat("word ", 40)}})
	}
	d := sit(t, f, true)
	d.Sees("> ")
	d.Type("go\r")
	d.Sees("begin")
	d.Type("typing")
	d.Sees("+ typing")
	close(release)
	d.Sees("word word word word word word word word word word word \r\n")
	d.Sees("typing")
	d.Type("\r")
	d.Sees("> ")
	d.Type("\x04")
	d.ends()
}
