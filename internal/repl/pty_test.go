//go:build linux || darwin

package repl

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	xterm "golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// desk is the plain front end on a terminal.
type desk struct {
	t    *testing.T
	keys *os.File
	done chan error

	mu  sync.Mutex
	out bytes.Buffer
	new chan struct{}
}

func sit(t *testing.T, f *fake, editor bool) *desk {
	t.Helper()
	keys, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(keys, &pty.Winsize{Rows: 24, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, keys: keys, done: make(chan error, 1), new: make(chan struct{}, 1)}
	go d.read()
	o := Options{
		In: tty, Out: tty, Err: tty, Terminal: true, Editor: editor, Spinner: editor, Close: f.close, Version: "1", Width: func() int { return 60 },
		Raw: func() (func() error, error) {
			old, err := xterm.MakeRaw(int(tty.Fd()))
			return func() error { return xterm.Restore(int(tty.Fd()), old) }, err
		},
	}
	go func() { d.done <- Run(context.WithoutCancel(t.Context()), f, o) }()
	t.Cleanup(func() { _ = f.close(); _ = tty.Close(); _ = keys.Close() })
	return d
}

func (d *desk) read() {
	buf := make([]byte, 4096)
	for {
		n, err := d.keys.Read(buf)
		d.mu.Lock()
		d.out.Write(buf[:n])
		d.mu.Unlock()
		select {
		case d.new <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (d *desk) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.String()
}

// sees waits until the terminal has shown a text, and forgets what came up to it.
func (d *desk) sees(want string) {
	d.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		d.mu.Lock()
		i := strings.Index(d.out.String(), want)
		if i >= 0 {
			d.out.Next(i + len(want))
			d.mu.Unlock()
			return
		}
		d.mu.Unlock()
		select {
		case <-d.new:
		case <-deadline:
			out := d.text()
			d.t.Fatalf("%q was not shown, but\n%q", want, out[:min(len(out), 2000)])
		}
	}
}

func (d *desk) types(keys string) {
	d.t.Helper()
	if _, err := d.keys.WriteString(keys); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) ends() {
	d.t.Helper()
	select {
	case err := <-d.done:
		if err != nil {
			d.t.Error(err)
		}
	case <-time.After(20 * time.Second):
		d.t.Fatalf("it does not end:\n%q", d.text())
	}
}

func TestALineIsEditedAndSent(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, text string) { say(f, "reply to "+text) }
	d := sit(t, f, true)
	d.sees("> ")
	d.types("helo\x1b[Dl\x05 you\r")
	d.sees("reply to hello you\r\n")
	d.sees("(1 step, 0s)")
	d.sees("> ")
	d.types("\x1b[A") // the line before
	d.sees("hello you")
	d.types("\x15\x04")
	d.ends()
	if !slices.Equal(f.prompts, []string{"hello you"}) {
		t.Errorf("%q", f.prompts)
	}
}

func TestANoticeDoesNotGarbleTheLine(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.sees("> ")
	d.types("half a li")
	d.sees("half a li")
	f.publish(event.Notice{Level: "info", Text: "settings changed"})
	d.sees("settings changed\r\n")
	d.sees("> half a li") // drawn again below it
	d.types("ne\r")
	d.sees("(1 step")
	if !slices.Equal(f.prompts, []string{"half a line"}) {
		t.Errorf("%q", f.prompts)
	}
	d.types("\x04")
	d.ends()
}

func TestANoticeDoesNotGarbleALineOfWideCharacters(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.sees("> ")
	d.types("你好世界")
	d.sees("你好世界")
	f.publish(event.Notice{Level: "info", Text: "settings changed"})
	d.sees("\r\x1b[6D\x1b[K") // from the start of the row
	d.sees("settings changed\r\n")
	d.sees("> 你好世界")
	d.types("\r")
	d.sees("(1 step")
	d.types("\x04")
	d.ends()
}

func TestALineTypedWhileATurnRunsSteersIt(t *testing.T) {
	f := newFake(t)
	release := make(chan struct{})
	f.turn = func(f *fake, _ string) { say(f, "working"); <-release; say(f, "over") }
	d := sit(t, f, true)
	d.sees("> ")
	d.types("go\r")
	d.sees("working")
	d.types("not that")
	d.sees("+ not that")
	d.types(" one\r")
	d.sees("it is delivered")
	close(release)
	d.sees("over")
	d.sees("> ")
	d.types("\x04")
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
	d.sees("> ")
	d.types("go\r")
	d.sees("Thinking")
	close(release)
	d.sees("\x1b[2K") // it is taken away
	d.sees("> ")
	d.types("\x04")
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
	d.sees("> ")
	d.types("go\r")
	d.sees("working")
	d.types("\x03")
	d.sees("(1 step")
	d.sees("> ")
	d.types("never mind")
	d.sees("never mind")
	d.types("\x03")
	d.types("x\r")
	d.sees("(1 step")
	d.sees("> ")
	d.types("\x03")
	d.sees("Ctrl+C again leaves")
	d.types("\x03")
	d.ends()
	if !slices.Equal(f.prompts, []string{"go", "x"}) {
		t.Errorf("%q", f.prompts)
	}
}

func TestTabCompletesAndCtrlRFinds(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.sees("> ")
	d.types("/mo\t")
	d.sees("/mode")
	d.types("l\t x\r") // model is whole
	d.sees("> ")
	d.types("see @ma\t")
	d.sees("@src/main.go ")
	d.types("\x15ANOT\x12")
	d.sees("another one")
	d.types("\r")
	d.sees("(1 step")
	d.types("\x04")
	d.ends()
	if !slices.Equal(f.prompts, []string{"another one"}) || len(f.commands) != 1 || !strings.HasPrefix(f.commands[0], "model") {
		t.Errorf("%q %q", f.prompts, f.commands)
	}
}

func TestAPasteOfSeveralLinesIsOneMessage(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.sees("> ")
	d.types("\x1b[200~one\ntwo\x03\nthree\x1b[201~")
	d.sees("three")
	d.types("\r")
	d.sees("(1 step")
	d.types("\x04")
	d.ends()
	if len(f.prompts) != 1 || !strings.HasPrefix(f.prompts[0], "one\ntwo") || !strings.HasSuffix(f.prompts[0], "three") {
		t.Errorf("%q", f.prompts)
	}
}

func TestBrokenInputDoesNotBlockTheTerminal(t *testing.T) {
	f := newFake(t)
	d := sit(t, f, true)
	d.sees("> ")
	d.types("a\xff\xc3\x28" + "\x1b[" + strings.Repeat("9", 100) + "m" + "\x1b]0;x" + "\x1bOA\x1bOB" + "b\r")
	d.sees("(1 step")
	d.types("\x04")
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
	d.sees("> ")
	d.types("go\r")
	d.sees("working")
	d.types("1")
	d.sees("+ 1")
	close(show)
	d.sees("may Bash run?")
	d.types("\r")
	d.sees("it is delivered")
	d.sees("? ")
	d.types("3 no\r")
	d.sees("3 no")
	close(answered)
	d.sees("(1 step")
	d.types("\x04")
	d.ends()
	if len(f.answers) != 1 || f.answers[0].Choice != event.ChoiceNo || f.answers[0].Text != "no" {
		t.Errorf("%+v", f.answers)
	}
}

func TestADumbTerminalGetsNoEscapeSequences(t *testing.T) {
	f := newFake(t)
	f.turn = func(f *fake, text string) { say(f, "reply to "+text) }
	d := sit(t, f, false)
	d.sees("> ")
	d.types("hello\n")
	d.sees("reply to hello")
	d.sees("> ")
	f.publish(event.Notice{Level: "info", Text: "by the way"})
	d.sees("by the way")
	d.sees("> ")
	d.types("\x04")
	d.ends()
	if out := d.text(); strings.ContainsRune(out, '\x1b') {
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
	d.sees("> ")
	d.types("go\r")
	d.sees("begin")
	d.types("typing")
	d.sees("+ typing")
	close(release)
	d.sees("word word word word word word word word word word word \r\n")
	d.sees("typing")
	d.types("\r")
	d.sees("> ")
	d.types("\x04")
	d.ends()
}
