package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
)

// textPrinter prints the answer and nothing else to stdout: as it arrives on a terminal, else at the end.
// Tool lines and the spinner go to stderr, and only if that is a terminal.
type textPrinter struct {
	out      io.Writer
	live     bool // stdout is a terminal
	progress *progress

	streamed string // the id of the reply that is being streamed
	column0  bool   // the cursor is at the start of a line
	wrote    bool
}

func newTextPrinter(io *streams, now func() time.Time) *textPrinter {
	p := &textPrinter{out: io.out, live: io.outTTY, column0: true}
	if io.eTTY {
		p.progress = newProgress(io.err, now)
	}
	return p
}

func (p *textPrinter) begin(About) error { return nil }

func (p *textPrinter) event(e event.Event) error {
	if e.Agent != "" {
		return nil
	}
	switch b := e.Body.(type) {
	case event.TurnStart:
		p.progress.start("Thinking")
	case event.StepStart:
		p.progress.status("Thinking")
	case event.Delta:
		if d, ok := b.Delta.(llm.TextDelta); ok && p.live {
			return p.stream(b.MessageID, d.Text)
		}
	case event.PartDone:
		return p.part(b)
	case event.ToolStart:
		p.progress.status(toolTitle(b.Call.Name, b.Title))
	case event.ToolEnd:
		p.progress.tool(b)
	case event.Retry:
		p.streamed = ""
		p.progress.line("retry %d of %d in %s: %s", b.Attempt, b.Max, b.Delay.Round(100*time.Millisecond), b.Err)
	case event.Notice:
		if b.Level != "info" {
			p.progress.line("%s: %s", b.Level, b.Text)
		}
	case event.TurnEnd:
		p.progress.stop()
	}
	return nil
}

// stream writes a piece of a reply to the terminal.
func (p *textPrinter) stream(id, text string) error {
	p.progress.hide()
	if p.streamed != id {
		if err := p.separate(); err != nil {
			return err
		}
		p.streamed = id
	}
	return p.write(text)
}

// part makes sure that all of a text part was shown, also when no delta came before it.
func (p *textPrinter) part(b event.PartDone) error {
	text, ok := b.Part.(llm.Text)
	if !ok || !p.live || text.Text == "" {
		return nil
	}
	if p.streamed != b.MessageID {
		if err := p.stream(b.MessageID, text.Text); err != nil {
			return err
		}
	}
	p.streamed = ""
	if p.column0 {
		return nil
	}
	return p.write("\n")
}

// separate puts a blank line between replies.
func (p *textPrinter) separate() error {
	if !p.wrote {
		return nil
	}
	if !p.column0 {
		return p.write("\n\n")
	}
	return p.write("\n")
}

func (p *textPrinter) write(text string) error {
	if text == "" {
		return nil
	}
	p.wrote, p.column0 = true, strings.HasSuffix(text, "\n")
	if _, err := io.WriteString(p.out, escape(text)); err != nil {
		if isBrokenPipe(err) {
			return errBrokenPipe
		}
		return &Error{Code: exitFailed, Msg: "writing to stdout", Err: err}
	}
	return nil
}

func (p *textPrinter) finish(_ *tally, o *outcome) error {
	p.progress.stop()
	if p.live && o.structured == nil {
		if p.column0 {
			return nil
		}
		return p.write("\n")
	}
	if text := o.text(); !o.isError() && text != "" {
		return p.write(strings.TrimRight(text, "\n") + "\n")
	}
	return nil
}

func (p *textPrinter) close() error { p.progress.stop(); return nil }

// toolTitle is "Read internal/x.go".
func toolTitle(name, title string) string {
	title, _, more := strings.Cut(strings.TrimSpace(title), "\n")
	if more {
		title += " ..."
	}
	if title == "" || strings.HasPrefix(title, name) {
		return strings.TrimSpace(name + strings.TrimPrefix(title, name))
	}
	return name + " " + title
}

// progress is the moving line on stderr, and the lines above it. A nil progress does nothing.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	now   func() time.Time
	what  string
	since time.Time
	drawn bool
	frame int
	quit  chan struct{}
}

func newProgress(w io.Writer, now func() time.Time) *progress { return &progress{w: w, now: now} }

// spinner's frames, and how long each stays.
var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

const spinnerEvery = 120 * time.Millisecond

func (p *progress) start(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.since = what, p.now()
	if p.quit != nil {
		return
	}
	p.quit = make(chan struct{})
	go p.spin(p.quit)
}

func (p *progress) spin(quit <-chan struct{}) {
	tick := time.NewTicker(spinnerEvery)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-tick.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

func (p *progress) draw() {
	if p.what == "" || p.quit == nil {
		return
	}
	p.frame = (p.frame + 1) % len(spinner)
	text := p.what
	if s := p.now().Sub(p.since); s >= 2*time.Second {
		text += fmt.Sprintf(" (%ds)", int(s.Seconds()))
	}
	fmt.Fprintf(p.w, "\r\x1b[2K%c %s", spinner[p.frame], clip(escape(text), 76))
	p.drawn = true
}

// status says what goes on now.
func (p *progress) status(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.since = what, p.now()
}

// hide takes the moving line away until the next status.
func (p *progress) hide() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = ""
	p.erase()
}

func (p *progress) erase() {
	if p.drawn {
		io.WriteString(p.w, "\r\x1b[2K")
		p.drawn = false
	}
}

// line writes a line that stays.
func (p *progress) line(format string, args ...any) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	fmt.Fprintln(p.w, clip(escape(text), 200))
}

// tool writes the line of a call that ended.
func (p *progress) tool(b event.ToolEnd) {
	mark := "✓"
	switch {
	case b.Denied:
		mark = "⊘"
	case b.Result.IsError:
		mark = "✗"
	}
	p.line("%s %s", mark, toolTitle(b.Call.Name, b.Title))
	p.status("Thinking")
}

func (p *progress) stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.quit != nil {
		close(p.quit)
		p.quit = nil
	}
	p.what = ""
	p.erase()
}

// clip cuts a line after n characters.
func clip(s string, n int) string {
	s = strings.ReplaceAll(s, "\t", " ")
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
