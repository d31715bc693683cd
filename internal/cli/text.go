package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	xterm "golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/machine/term"
)

// textPrinter prints the answer and nothing else to stdout: as it arrives on a terminal, else at the end.
// Tool lines and the spinner go to stderr, and only if that is a terminal; they wait while a text is being
// written, as both may be the same screen. Warnings go to stderr wherever that leads.
type textPrinter struct {
	out, err io.Writer
	live     bool // stdout is a terminal
	raw      bool // the answer is not made safe for a terminal
	progress *progress

	id      string       // of the reply whose texts are shown
	shown   map[int]bool // its parts that were shown, or are
	part    int          // the part that is being written, or -1
	column0 bool         // the cursor is at the start of a line
	escaper term.Escaper // of the part that is being written
	wrote   bool
}

func newTextPrinter(io *streams, now func() time.Time) *textPrinter {
	p := &textPrinter{out: io.out, err: io.err, live: io.outTTY, part: -1, column0: true}
	if io.eTTY {
		p.progress = newProgress(io.err, now)
	}
	return p
}

func (p *textPrinter) begin(About) error { return nil }

func (p *textPrinter) event(e event.Event) error {
	if len(e.Agent) > 0 {
		return nil
	}
	switch b := e.Body.(type) {
	case event.TurnStart:
		p.progress.start("Thinking")
	case event.StepStart:
		p.progress.status("Thinking")
	case event.Delta:
		return p.delta(b.ForPeople())
	case event.PartDone:
		return p.partDone(b.ForPeople())
	case event.ToolStart:
		p.progress.status(toolTitle(b.Call, b.Title))
	case event.ToolEnd:
		p.progress.tool(b)
	case event.Response:
		return p.endPart()
	case event.Retry:
		p.id = "" // the shown text is void, and will come again
		p.progress.line("retry %d of %d in %s: %s", b.Attempt, b.Max, b.Delay.Round(100*time.Millisecond), b.Err)
		return p.endPart()
	case event.Compacting:
		p.progress.status("Compacting")
	case event.Compacted:
		p.progress.line("%s", b)
	case event.EvalStart:
		p.progress.status("Judging")
	case event.EvalComplete:
		p.progress.line("%s", b)
	case event.Goal:
		p.progress.line("%s", b)
	case event.Notice:
		switch {
		case b.Level == "info":
		case p.progress != nil:
			p.progress.line("%s: %s", b.Level, b.Text)
		default:
			fmt.Fprintf(p.err, "%s: %s: %s\n", messagesName, b.Level, escape(b.Text))
		}
	case event.TurnEnd:
		p.progress.stop()
	}
	return nil
}

// delta writes a piece of a text to the terminal. A piece of another part ends the text before it.
func (p *textPrinter) delta(b event.Delta) error {
	if !p.live {
		return nil
	}
	switch d := b.Delta.(type) {
	case llm.TextDelta:
		return p.stream(b.MessageID, d.Index, d.Text)
	case llm.ToolDelta, llm.ReasoningDelta:
		return p.endPart()
	}
	return nil
}

func (p *textPrinter) stream(id string, index int, text string) error {
	if text == "" {
		return nil
	}
	if p.id != id {
		p.id, p.shown = id, map[int]bool{}
	}
	if p.part != index || !p.shown[index] {
		if err := p.endPart(); err != nil {
			return err
		}
		p.progress.pause()
		if err := p.separate(); err != nil {
			return err
		}
		p.part, p.shown[index] = index, true
	}
	return p.write(p.escaper.Next(text))
}

// partDone makes sure that all of a text part was shown, also when no delta came before it. It may come
// when later parts are shown already.
func (p *textPrinter) partDone(b event.PartDone) error {
	text, ok := b.Part.(llm.Text)
	if !ok || !p.live {
		return nil
	}
	if p.id != b.MessageID || !p.shown[b.Index] {
		if err := p.stream(b.MessageID, b.Index, text.Text); err != nil {
			return err
		}
	}
	if p.part != b.Index {
		return nil
	}
	return p.endPart()
}

// endPart ends the text that is being written with its line.
func (p *textPrinter) endPart() error {
	if p.part < 0 {
		return nil
	}
	p.part = -1
	text := p.escaper.End()
	if !p.column0 || text != "" {
		text += "\n"
	}
	err := p.write(text)
	p.progress.resume()
	return err
}

// separate puts a blank line between texts.
func (p *textPrinter) separate() error {
	if !p.wrote {
		return nil
	}
	return p.write("\n")
}

func (p *textPrinter) write(text string) error {
	if text == "" {
		return nil
	}
	p.wrote, p.column0 = true, strings.HasSuffix(text, "\n")
	if _, err := io.WriteString(p.out, text); err != nil {
		if isBrokenPipe(err) {
			return errBrokenPipe
		}
		return &Error{Code: exitFailed, Msg: "writing to stdout", Err: err, Hint: hintKept}
	}
	return nil
}

func (p *textPrinter) finish(_ *resultStats, o *outcome) error {
	err := p.endPart()
	p.progress.stop()
	if err != nil || p.live && o.structured == nil {
		return err
	}
	text := o.text()
	if o.isError() || text == "" {
		return nil
	}
	if !p.raw && (p.live || o.structured == nil) {
		text = escape(text)
	}
	return p.write(strings.TrimRight(text, "\n") + "\n")
}

func (p *textPrinter) close() error { p.progress.stop(); return nil }

// toolTitle is "Read internal/x.go". A call that could not be prepared has no title of its own.
func toolTitle(c llm.ToolCall, title string) string {
	if title == "" {
		title = mainArgument(c.Input)
	}
	title, _, more := strings.Cut(strings.TrimSpace(title), "\n")
	if more {
		title += " ..."
	}
	if title == "" || strings.HasPrefix(title, c.Name) {
		return strings.TrimSpace(c.Name + strings.TrimPrefix(title, c.Name))
	}
	return c.Name + " " + title
}

// mainArgument is the most informative value of a call's input.
func mainArgument(input json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, k := range []string{"file_path", "path", "command", "pattern", "url", "query", "description"} {
		if s, ok := in[k].(string); ok {
			return s
		}
	}
	return ""
}

func resultText(r llm.ToolResult) string {
	for _, p := range r.Parts {
		if t, ok := p.(llm.Text); ok {
			return strings.TrimSpace(t.Text)
		}
	}
	return ""
}

// progress is the moving line on stderr, and the lines above it. A nil progress does nothing.
type progress struct {
	mu     sync.Mutex
	w      io.Writer
	now    func() time.Time
	what   string
	since  time.Time
	drawn  bool
	frame  int
	paused bool     // another writer has the screen
	held   []string // lines that wait for the end of that
	quit   chan struct{}
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
	if p.what == "" || p.quit == nil || p.paused {
		return
	}
	p.frame = (p.frame + 1) % len(spinner)
	text := p.what
	if s := p.now().Sub(p.since); s >= 2*time.Second {
		text += fmt.Sprintf(" (%ds)", int(s.Seconds()))
	}
	fmt.Fprintf(p.w, "\r\x1b[2K%c %s", spinner[p.frame], term.Truncate(term.EscapeLine(text), p.width()-3, "…"))
	p.drawn = true
}

// width is the terminal's. A moving line that wraps could not be taken away.
func (p *progress) width() int {
	if f, ok := p.w.(*os.File); ok {
		if w, _, err := xterm.GetSize(int(f.Fd())); err == nil && w > 10 {
			return w
		}
	}
	return 80
}

// status shows the current activity.
func (p *progress) status(what string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.since = what, p.now()
}

// pause takes the moving line away and holds all lines back until resume.
func (p *progress) pause() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = true
	p.erase()
}

func (p *progress) resume() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = false
	for _, l := range p.held {
		p.erase()
		fmt.Fprintln(p.w, l)
	}
	p.held = nil
}

func (p *progress) erase() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[2K")
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
	text := term.Truncate(term.EscapeLine(strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")), 200, "…")
	if p.paused {
		p.held = append(p.held, text)
		return
	}
	p.erase()
	fmt.Fprintln(p.w, text)
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
	title := toolTitle(b.Call, b.Title)
	if why, _, _ := strings.Cut(resultText(b.Result), "\n"); b.Result.IsError && why != "" {
		title += ": " + why
	}
	p.line("%s %s", mark, title)
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
