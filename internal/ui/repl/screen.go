package repl

import (
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/term"
)

// screen is the one place that writes. While a line is being edited whole lines go above it; else text goes
// out as it comes.
type screen struct {
	o     Options
	raw   bool                        // the terminal does not turn newlines into line ends
	above func(p []byte) (int, error) // writes whole lines above the line that is being edited

	mu      sync.Mutex
	editing bool
	column0 bool
	stands  string // the prompt that is shown, on a terminal that edits lines itself
	held    string // the beginning of a line that waits for its end, while a line is being edited
	escaper term.Escaper
	open    bool // a text streams
	err     error

	what  string // text of the spinner
	since time.Time
	drawn bool
	frame int
}

const spinnerEvery = 150 * time.Millisecond

var spinnerFrames = []string{"|", "/", "-", "\\"}

func newScreen(o Options) *screen { return &screen{o: o, column0: true} }

// failed is the first failure to write.
func (s *screen) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// edit says whether a line is being edited from now on; held output is written when it no longer is.
func (s *screen) edit(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if on == s.editing {
		return
	}
	if on {
		s.erase()
		s.finishLine()
		s.editing = true
		return
	}
	s.editing, s.column0 = false, true
	held := s.held
	s.held = ""
	s.put(held)
}

// line writes a line of lathe's own, with foreign values escaped.
func (s *screen) line(format string, args ...any) {
	s.block(fmt.Sprintf(format, args...))
}

// block writes foreign text as whole lines.
func (s *screen) block(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endText()
	text = strings.TrimRight(term.Escape(text), "\n")
	s.erase()
	s.finishLine()
	s.put(text + "\n")
}

// painted writes foreign text as whole lines, each coloured by paint after it was escaped.
func (s *screen) painted(text string, paint func(line string) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endText()
	s.erase()
	s.finishLine()
	for line := range strings.SplitSeq(strings.TrimRight(term.Escape(text), "\n"), "\n") {
		s.put(paint(line) + "\n")
	}
}

// stream writes a piece of a growing text.
func (s *screen) stream(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.open = true
	s.put(s.escaper.Next(text))
}

// rest ends a text that streamed.
func (s *screen) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endText()
	s.finishLine()
}

func (s *screen) endText() {
	if s.open {
		s.open = false
		s.put(s.escaper.End())
	}
}

// finishLine makes the next text begin at the start of a line.
func (s *screen) finishLine() {
	if s.stands != "" {
		return // put ends it
	}
	if s.held != "" || !s.editing && !s.column0 {
		s.put("\n")
	}
}

// put writes escaped text. s.mu is held.
func (s *screen) put(text string) {
	if text == "" {
		return
	}
	if s.stands != "" {
		s.stands, s.column0 = "", true
		s.write(s.o.Out, "\n")
	}
	if !s.editing {
		s.column0 = strings.HasSuffix(text, "\n")
		if s.raw {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		s.write(s.o.Out, text)
		return
	}
	s.held += text
	for {
		n := s.lineEnd()
		if n == 0 {
			return
		}
		line := strings.TrimSuffix(s.held[:n], "\n")
		s.held = s.held[n:]
		if _, err := s.above([]byte(line + "\n")); err != nil && s.err == nil {
			s.err = err
		}
	}
}

// lineEnd is where the first line of the held output ends: at its newline, or where the terminal's width does,
// at a space if there is one. 0: it does not end yet.
func (s *screen) lineEnd() int {
	line, _, whole := strings.Cut(s.held, "\n")
	width := s.o.Width()
	if term.Width(line) <= width {
		if whole {
			return len(line) + 1
		}
		return 0
	}
	fits := len(term.Truncate(line, width, ""))
	if at := strings.LastIndexByte(line[:fits], ' '); at > fits/2 {
		return at + 1
	}
	return max(fits, 1)
}

func (s *screen) write(w io.Writer, text string) {
	if s.err != nil {
		return
	}
	_, s.err = io.WriteString(w, text)
}

// clipboard hands a text to the terminal's clipboard (OSC 52).
func (s *screen) clipboard(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(s.o.Out, "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\x07")
}

// prompt shows a prompt on a terminal that edits lines itself, unless it is there.
func (s *screen) prompt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stands == text {
		return
	}
	s.erase()
	s.finishLine()
	s.put(text)
	s.stands = text
}

// entered says that the user ended the line that the prompt was for.
func (s *screen) entered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.o.Terminal {
		s.stands, s.column0 = "", true
	}
}

// working describes the running work, for the spinner; "" is nothing.
func (s *screen) working(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if what == "" {
		s.erase()
	}
	if s.what == "" {
		s.since = time.Now()
	}
	s.what = what
}

// tick draws the spinner where nothing else is on its line.
func (s *screen) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.o.Spinner || s.what == "" || s.editing || !s.column0 || s.open {
		return
	}
	s.frame = (s.frame + 1) % len(spinnerFrames)
	text := s.what
	if d := time.Since(s.since); d >= 2*time.Second {
		text += fmt.Sprintf(" (%ds)", int(d.Seconds()))
	}
	fmt.Fprintf(s.o.Err, "\r\x1b[2K%s %s", spinnerFrames[s.frame], term.Truncate(term.EscapeLine(text), s.o.Width()-3,
		"…"))
	s.drawn = true
}

func (s *screen) erase() {
	if s.drawn {
		fmt.Fprint(s.o.Err, "\r\x1b[2K")
		s.drawn = false
	}
}

// end leaves the cursor at the start of a line.
func (s *screen) end() {
	s.mu.Lock()
	left := s.editing // a line that no one finishes
	s.mu.Unlock()
	s.edit(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.column0 = s.column0 && !left; left {
		s.finishLine()
	}
	s.endText()
	s.erase()
	s.finishLine()
}
