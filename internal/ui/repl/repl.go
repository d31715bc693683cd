// Package repl is the plain front end: lines in, lines out. It is for dumb terminals, pipes, screen readers,
// and anyone who prefers lines; `lathe --plain` opens it.
//
// The words: a line is entered by the user; while a turn runs it is steered, else it is a prompt, a slash
// command, the answer to a question or the choice from a list. Everything that is shown goes through one
// [screen], which knows whether a line is being edited, so that nothing that comes by itself garbles it.
//
// Promises: nothing foreign reaches the terminal unescaped; on a terminal without a line editor, and in a
// pipe, no escape sequence is written at all; the spinner is on stderr only, and only when that is a
// terminal; a number that was typed before a question was shown does not answer it.
package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// Options say how to show the session.
type Options struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	Terminal bool // In and Out are a terminal: there is a prompt, and Ctrl+C
	Editor   bool // it understands escape sequences: lines can be edited; In must be an *os.File
	Colour   bool // Out shows colours: results have icons, and diffs colours
	Spinner  bool // Err is a terminal that understands them

	Width     func() int                   // of the terminal, in cells
	Interrupt <-chan struct{}              // Ctrl+C where there is no line editor
	Initial   llm.Message                  // is sent at once, when it has parts
	Command   string                       // a slash command that is run at once, before that
	Version   string                       // of lathe
	Close     func() error                 // closes the session, so that its stream ends
	Raw       func() (func() error, error) // puts the terminal into raw mode and returns the way back; nil without Editor
}

// twice is how soon the second Ctrl+C must follow the first to leave.
const twice = 2 * time.Second

// repl is the state of the loop. Only the loop's goroutine touches it.
type repl struct {
	s   port.Session
	o   Options
	ctx context.Context
	out *screen
	in  lines

	events chan event.Event
	ended  chan error // Prompt and Command report here
	over   chan struct{}
	status event.Status

	sent    int             // calls of Prompt that did not return
	coming  map[string]bool // prompts whose turn was not seen yet
	seen    map[string]bool // prompts whose turn was
	active  string          // the prompt of the running turn
	working int             // calls of Command that did not return
	own     int             // commands of the user's whose end was not shown

	questions []asked
	pick      *event.Pick
	printer   printer
	quitAt    time.Time // of the first Ctrl+C
	leaving   bool
	eof       bool
	initial   *llm.Message
	back      string // a message that was not taken, to give back at rest
}

// Run shows the session until the user leaves it. The error is the end of ctx, or a failure to write.
func Run(ctx context.Context, s port.Session, stream port.Events, o Options) error {
	if o.Width == nil {
		o.Width = func() int { return 80 }
	}
	r := &repl{
		s: s, o: o, ctx: ctx, events: make(chan event.Event), ended: make(chan error), over: make(chan struct{}),
		coming: map[string]bool{}, seen: map[string]bool{},
	}
	defer close(r.over)
	r.out = newScreen(o)
	if len(o.Initial.Parts) > 0 {
		r.initial = &o.Initial
	}
	if o.Editor {
		e, err := newEditor(o, r.out, s)
		if err != nil {
			return err
		}
		defer e.close()
		r.in = e
	} else {
		r.in = newReader(o, r.out)
	}
	go r.pump(stream)
	return r.loop()
}

// pump hands over events until the stream ends.
func (r *repl) pump(stream port.Events) {
	defer close(r.events)
	for {
		e, err := stream.Next(context.WithoutCancel(r.ctx))
		if err != nil {
			return
		}
		r.events <- e
	}
}

// loop handles lines, events and results one by one.
func (r *repl) loop() error {
	tick := time.NewTicker(spinnerEvery)
	defer tick.Stop()
	done := r.ctx.Done()
	for {
		r.ask()
		select {
		case e, ok := <-r.events:
			if !ok {
				r.out.end()
				return errors.Join(r.ctx.Err(), r.out.failed())
			}
			r.event(e)
		case err := <-r.ended:
			r.returned(err)
		case in := <-r.in.lines():
			r.in.taken()
			r.line(in)
		case <-r.in.began():
			r.in.read(steerPrompt)
		case cleared := <-r.in.interrupts():
			r.interrupt(cleared)
		case <-r.o.Interrupt:
			r.interrupt(false)
		case <-tick.C:
			r.out.tick()
		case <-done:
			done = nil
			r.leave()
		}
		if r.out.failed() != nil {
			r.leave()
		}
	}
}

// idle reports that nothing runs and everything that ran was shown.
func (r *repl) idle() bool { return r.sent+len(r.coming)+r.working+r.own == 0 && r.active == "" }

const (
	promptText  = "> "
	choiceText  = "? "
	steerPrompt = "+ "
)

// ask waits for a line where one is wanted: at rest, and when there is something to answer. While a turn
// runs, the first key begins a line.
func (r *repl) ask() {
	if r.leaving {
		return
	}
	if r.idle() {
		r.giveBack(r.back)
		r.back = ""
		if name := r.o.Command; name != "" && r.status.Session != "" {
			r.o.Command = ""
			r.command(name, "")
			return
		}
		if r.initial != nil && r.pick == nil && r.status.Session != "" {
			m := *r.initial
			r.initial = nil
			r.prompt(m)
			return
		}
		if r.eof {
			r.leave()
			return
		}
	}
	switch {
	case len(r.questions) > 0 || r.pick != nil && r.idle():
		r.out.rest()
		r.in.read(choiceText)
	case r.idle() && r.status.Session != "":
		r.out.rest()
		r.in.read(r.promptText())
	}
}

// promptText says the mode where it is not the usual one.
func (r *repl) promptText() string {
	if m := r.status.Mode; m != "" && m != "default" {
		return string(m) + promptText
	}
	return promptText
}

// prompt sends a message: as a turn, or into the running one.
func (r *repl) prompt(m llm.Message) {
	r.sent++
	if r.idle() || r.active == "" {
		r.out.working("Thinking")
	}
	go func() {
		receipt, err := r.s.Prompt(r.ctx, port.Prompt{Message: m})
		r.report(promptDone{receipt, err})
	}()
}

// promptDone carries what became of a prompt over the channel of errors.
type promptDone struct {
	port.Receipt
	err error
}

func (promptDone) Error() string { return "the prompt was taken, or not" }

// taken shows what became of a prompt.
func (r *repl) taken(p promptDone) {
	r.sent--
	switch {
	case p.err != nil: // there was no turn
		r.out.working("")
		r.out.line("error: %s", p.err)
	case p.State == port.ForStep:
		r.out.line("(it is delivered at the next step)")
	case p.State == port.ForAfter:
		r.out.line("(it is sent after the turn)")
	case !r.seen[p.ID]:
		r.coming[p.ID] = true
	}
}

// state notes which turn runs.
func (r *repl) state(s event.State) {
	if r.active = s.Turn; s.Turn != "" {
		delete(r.coming, s.Turn)
		r.seen[s.Turn] = true
	}
}

// report hands the end of a call to the loop, if that still runs.
func (r *repl) report(err error) {
	select {
	case r.ended <- err:
	case <-r.over:
	}
}

// command runs a slash command; its output is shown when it returns.
func (r *repl) command(name, args string) {
	r.working++
	if name == "!" {
		r.own++
	}
	go func() {
		out, err := r.s.Command(r.ctx, port.Command{Name: name, Args: args})
		r.report(commandDone{out, name, err})
	}()
}

// commandDone carries the outcome of a command over the channel of errors.
type commandDone struct {
	out  event.Output
	name string
	err  error
}

func (c commandDone) Error() string { return "the command ended" }

// returned takes the end of a Prompt or a Command.
func (r *repl) returned(err error) {
	if done, ok := errors.AsType[commandDone](err); ok {
		r.working--
		r.output(done)
		return
	}
	if done, ok := errors.AsType[promptDone](err); ok {
		r.taken(done)
	}
}

// output shows the output of a command.
func (r *repl) output(c commandDone) {
	if c.err != nil {
		if c.name == "!" {
			r.own = max(r.own-1, 0)
		}
		r.out.line("error: %s", c.err)
		return
	}
	o := c.out
	if o.View != nil {
		r.out.block(viewText(o.View))
	}
	if o.Text != "" {
		r.out.block(o.Text)
	}
	if o.Copy != "" {
		r.copy(o.Copy)
	}
	switch o.Open {
	case "":
	case "keys":
		r.out.block(keysText(r.o.Editor))
	case "login":
		r.out.line("keep the key with: /config env.NAME KEY (NAME: %s); lathe asks for it when it starts without one",
			hosts.Variables("apiKey"))
	default:
		r.out.line("the plain interface has no view %q; /help lists the commands", o.Open)
	}
	if o.Edit != nil {
		r.out.line("the file is %s; /%s shows how it is read", o.Edit.Path, o.Edit.Then)
	}
	if o.Theme != "" {
		r.out.line("the theme %s counts in the full interface", o.Theme)
	}
	r.giveBack(o.Insert)
	if o.Page != nil {
		r.out.block(o.Page.Title + "\n\n" + o.Page.Text)
	}
	if o.Pick != nil {
		r.offer(o.Pick)
	}
	if o.Prompt != nil {
		r.out.line("sent: %s", firstLine(o.Prompt.PlainText()))
		r.prompt(*o.Prompt)
	}
	if o.Quit {
		r.leave()
	}
}

// giveBack types a message for the user, or shows it where lines cannot be edited.
func (r *repl) giveBack(text string) {
	if text != "" && !r.in.insert(text) {
		r.out.line("the message was:")
		r.out.block(text)
	}
}

func (r *repl) copy(text string) {
	if r.o.Editor {
		r.out.clipboard(text)
		r.out.line("copied %d characters", len([]rune(text)))
		return
	}
	r.out.block(text)
}

// interrupt is Ctrl+C: it ends the running work, or empties the line that is being edited, which has happened then,
// or at the second time ends the program.
func (r *repl) interrupt(cleared bool) {
	switch {
	case r.active != "" || r.sent > 0 || len(r.coming) > 0 || r.working > 0 || len(r.questions) > 0:
		if err := r.s.Interrupt(r.ctx, ""); err != nil {
			r.out.line("error: %s", err)
		}
	case r.pick != nil:
		r.pick = nil
	case cleared:
	case time.Since(r.quitAt) < twice:
		r.leave()
	default:
		r.quitAt = time.Now()
		r.out.line("Ctrl+C again leaves, Ctrl+D too")
	}
}

// leave ends the session and shows its last events.
func (r *repl) leave() {
	if r.leaving {
		return
	}
	r.leaving = true
	r.in.stop()
	r.out.working("")
	go func() {
		if r.o.Close != nil {
			_ = r.o.Close() // the caller closes it again and gets the error
		}
	}()
}

// line takes a line of the user.
func (r *repl) line(in entered) {
	if in.err != nil {
		r.eof = true
		if r.o.Terminal && !errors.Is(in.err, io.EOF) {
			r.out.line("error: reading the terminal: %s", in.err)
		}
		if r.o.Terminal {
			r.leave()
		}
		return
	}
	text := strings.TrimSpace(in.text)
	_, _, isCommand := slash(text)
	switch {
	case isCommand || leaves(text):
	case len(r.questions) > 0 && !in.began.Before(r.questions[0].shown):
		r.answer(text)
		return
	case r.pick != nil && r.idle():
		if r.choose(text) {
			return
		}
	}
	if text == "" {
		return
	}
	r.enter(text)
}

// leaves reports the words that end the session.
func leaves(text string) bool { return text == "exit" || text == "quit" }

// enter handles a line that answers no question.
func (r *repl) enter(text string) {
	if name, args, ok := slash(text); ok {
		r.command(name, args)
		return
	}
	if leaves(text) {
		r.command("quit", "")
		return
	}
	switch text[0] {
	case '!':
		r.command("!", text[1:])
		return
	case '#':
		r.command("#", text[1:])
		return
	}
	r.prompt(llm.UserText(text))
}

// slash splits a command line. A path is no command: its name has another slash.
func slash(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name, args, _ = strings.Cut(rest, " ")
	if name == "" || strings.ContainsAny(name, "/.\\") {
		return "", "", false
	}
	return name, strings.TrimSpace(args), true
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func keysText(editor bool) string {
	if !editor {
		return "Enter sends the line; while a turn runs it is delivered at its next step. Ctrl+C interrupts, at rest " +
			"twice leaves; so does the end of the input."
	}
	keys := [][2]string{
		{"Enter", "send; while a turn runs: deliver at its next step"},
		{"Tab", "complete a command, its argument, or a file after @"},
		{"Up, Down", "earlier prompts"},
		{"Ctrl+R", "the last prompt that contains what was typed; again: the one before"},
		{"Ctrl+C", "interrupt; clear the line; at rest twice: leave"},
		{"Ctrl+D", "leave, on an empty line"},
		{"Ctrl+A, Ctrl+E", "beginning, end of the line"},
		{"Ctrl+W, Ctrl+U, Ctrl+K", "delete a word, to the beginning, to the end"},
	}
	var b strings.Builder
	for _, k := range keys {
		fmt.Fprintf(&b, "- %s: %s\n", k[0], k[1])
	}
	return b.String()
}
