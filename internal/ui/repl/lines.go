package repl

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"
)

// lines is where the user's lines come from: a line editor, or plain reading.
type lines interface {
	read(prompt string)      // wants a line; while one is wanted it does nothing
	lines() <-chan entered   // the lines
	began() <-chan struct{}  // a key came while no line was wanted
	interrupts() <-chan bool // Ctrl+C; true: it emptied the line
	taken()                  // a line was received
	insert(text string) bool // puts text into the line; false: it cannot
	stop()
}

// entered is one line.
type entered struct {
	text  string
	began time.Time // when its first character came, as far as that is known
	err   error     // the input ended
}

// maxLine is the longest line, in bytes.
const maxLine = 8 << 20

// reader reads lines as they are: from a terminal that edits by itself, or a pipe, of which no more is read
// than needed.
type reader struct {
	o     Options
	out   *screen
	want  chan struct{}
	got   chan entered
	quit  chan struct{}
	asked bool // a line of a pipe is wanted
}

func newReader(o Options, out *screen) *reader {
	r := &reader{o: o, out: out, want: make(chan struct{}, 1), got: make(chan entered), quit: make(chan struct{})}
	go r.run()
	return r
}

// run reads. On a terminal it is always ahead by one line, so that a turn can be steered.
func (r *reader) run() {
	in := bufio.NewReaderSize(r.o.In, 64<<10)
	for {
		if !r.o.Terminal {
			select {
			case <-r.want:
			case <-r.quit:
				return
			}
		}
		text, err := readLine(in)
		if errors.Is(err, io.EOF) && text != "" {
			err = nil
		}
		e := entered{text: text, began: time.Now(), err: err}
		select {
		case r.got <- e:
		case <-r.quit:
			return
		}
		if err != nil {
			return
		}
	}
}

func readLine(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		part, err := in.ReadSlice('\n')
		if b.Len()+len(part) > maxLine {
			return "", errors.New("a line is longer than 8 MB")
		}
		b.Write(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return strings.ToValidUTF8(strings.TrimRight(b.String(), "\r\n"), "\uFFFD"), err
	}
}

func (r *reader) read(prompt string) {
	if r.o.Terminal {
		r.out.prompt(prompt)
		return
	}
	if !r.asked {
		r.asked = true
		r.want <- struct{}{}
	}
}

func (r *reader) lines() <-chan entered   { return r.got }
func (r *reader) began() <-chan struct{}  { return nil }
func (r *reader) interrupts() <-chan bool { return nil }
func (r *reader) insert(string) bool      { return false }
func (r *reader) taken()                  { r.asked = false; r.out.entered() }
func (r *reader) stop()                   { close(r.quit) }
