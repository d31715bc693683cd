package repl

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	xterm "golang.org/x/term"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/port"
)

// editor reads lines with golang.org/x/term: it edits a line, and redraws it around other output that is written
// meanwhile. Keys come through a queue, so that Ctrl+C counts at any time, and the first key that is pressed
// while a turn runs opens a line.
type editor struct {
	o    Options
	out  *screen
	s    port.Session
	t    *xterm.Terminal
	keys *keyQueue
	back func() error // out of raw mode

	ask    chan string // a line is wanted, with this prompt
	got    chan entered
	ctrlC  chan bool // true: it emptied the line
	quit   chan struct{}
	wanted bool
	shown  string // the prompt
	past   *pastLines
	find   finder
}

func newEditor(o Options, out *screen, s port.Session) (*editor, error) {
	back, err := o.Raw()
	if err != nil {
		return nil, err
	}
	e := &editor{
		o: o, out: out, s: s, back: back, keys: newKeyQueue(), ask: make(chan string, 1), got: make(chan entered),
		ctrlC: make(chan bool, 8), quit: make(chan struct{}), past: &pastLines{},
	}
	e.t = xterm.NewTerminal(e, "")
	e.t.History = e.past
	e.t.AutoCompleteCallback = e.complete
	e.size()
	e.t.SetBracketedPasteMode(true)
	out.raw, out.above = true, e.above
	go e.pump()
	go e.run()
	go e.remember()
	return e, nil
}

// remember takes the prompt history in.
func (e *editor) remember() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var old []string
	earlier, _ := e.s.Complete(ctx, event.Query{Kind: event.QueryHistory, Limit: 500}) // without them, there are none
	for _, c := range earlier {
		if !strings.ContainsAny(c.Text, "\n\r") { // a line editor has one line
			old = append(old, c.Text)
		}
	}
	e.past.older(old)
}

// above writes whole lines above the line that is being edited. The line editor counts each character as one
// cell; where they are wider, going to the start of the row first makes it clear the whole row all the same.
func (e *editor) above(p []byte) (int, error) {
	if _, err := io.WriteString(e.o.Out, "\r"); err != nil {
		return 0, err
	}
	return e.t.Write(p)
}

func (e *editor) size() { _ = e.t.SetSize(max(e.o.Width(), 10), 24) } // fails for a size below one only

// close leaves the terminal as it was.
func (e *editor) close() {
	e.t.SetBracketedPasteMode(false)
	_ = e.back() // a terminal that is gone shows no error
}

// pump reads keys.
func (e *editor) pump() {
	buf := make([]byte, 4096)
	var split splitter
	for {
		n, err := e.o.In.Read(buf)
		for _, k := range split.next(buf[:n]) {
			if k != "\x03" || split.pasting {
				e.keys.put(k)
				continue
			}
			select {
			case e.ctrlC <- e.keys.clear():
			default: // several wait already
			}
		}
		if err != nil {
			e.keys.end(err)
			return
		}
	}
}

// run reads a line whenever one is wanted.
func (e *editor) run() {
	for {
		var prompt string
		select {
		case prompt = <-e.ask:
		case <-e.quit:
			return
		}
		e.size()
		e.t.SetPrompt(prompt)
		e.out.edit(true)
		in := e.line()
		e.out.edit(false)
		select {
		case e.got <- in:
		case <-e.quit:
			return
		}
	}
}

// line reads one line; pasted ones belong together up to the one that is ended by hand.
func (e *editor) line() entered {
	var all []string
	var began time.Time
	for {
		text, err := e.t.ReadLine()
		if at := e.keys.began(); began.IsZero() {
			began = at
		}
		if errors.Is(err, xterm.ErrPasteIndicator) {
			all = append(all, text)
			e.t.SetPrompt("")
			continue
		}
		if err != nil {
			return entered{err: err}
		}
		return entered{text: strings.Join(append(all, text), "\n"), began: began}
	}
}

// Read and Write are the terminal as the line editor sees it.
func (e *editor) Read(p []byte) (int, error)  { return e.keys.read(p) }
func (e *editor) Write(p []byte) (int, error) { return e.o.Out.Write(p) }

func (e *editor) read(prompt string) {
	if e.wanted {
		if prompt != e.shown {
			e.shown = prompt
			e.t.SetPrompt(prompt)
			_, _ = e.above(nil) // redraws the line; reading fails on a terminal that is gone
		}
		return
	}
	e.wanted, e.shown = true, prompt
	e.ask <- prompt
}

func (e *editor) lines() <-chan entered   { return e.got }
func (e *editor) interrupts() <-chan bool { return e.ctrlC }
func (e *editor) taken()                  { e.wanted = false }
func (e *editor) stop()                   { close(e.quit); e.keys.end(io.EOF) }

// began is ready when a key waits and no line is wanted.
func (e *editor) began() <-chan struct{} {
	if e.wanted {
		return nil
	}
	return e.keys.ready
}

// insert types a text for the user. One of several lines cannot be edited here.
func (e *editor) insert(text string) bool {
	if strings.ContainsAny(text, "\n\r") {
		return false
	}
	for _, r := range text {
		if r >= ' ' && r != 0x7f {
			e.keys.put(string(r))
		}
	}
	return true
}

// Keys of the line editor: to the end of the line, delete to its beginning.
const (
	keyEnd  = "\x05"
	keyKill = "\x15"
)

// keyQueue holds keys until the line editor reads them. A key is the bytes of one rune or one sequence.
type keyQueue struct {
	ready chan struct{} // has a value while keys wait

	mu     sync.Mutex
	wake   *sync.Cond
	keys   []string
	err    error
	first  time.Time   // when the line that the last key belongs to began; zero: there is nothing in it
	firsts []time.Time // of the lines before that, as long as no one asked
}

func newKeyQueue() *keyQueue {
	q := &keyQueue{ready: make(chan struct{}, 1)}
	q.wake = sync.NewCond(&q.mu)
	return q
}

func (q *keyQueue) put(k string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.keys = append(q.keys, k)
	if q.first.IsZero() {
		q.first = time.Now()
	}
	if k == "\r" || k == "\n" {
		q.firsts, q.first = append(q.firsts, q.first), time.Time{}
	}
	q.signal()
}

// clear empties the line that is being typed; false: there is nothing in it.
func (q *keyQueue) clear() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first.IsZero() {
		return false
	}
	q.keys, q.first = append(q.keys, keyEnd, keyKill), time.Time{}
	q.signal()
	return true
}

// began is when the line that was read began.
func (q *keyQueue) began() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.firsts) == 0 {
		return time.Time{}
	}
	at := q.firsts[0]
	q.firsts = q.firsts[1:]
	return at
}

func (q *keyQueue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.err == nil {
		q.err = err
	}
	q.signal()
}

func (q *keyQueue) signal() {
	q.wake.Broadcast()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// read hands over whole keys, at most to the end of a line: the next line may belong to something else.
func (q *keyQueue) read(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.keys) == 0 {
		if q.err != nil {
			return 0, q.err
		}
		q.wake.Wait()
	}
	n := 0
	for len(q.keys) > 0 && n+len(q.keys[0]) <= len(p) {
		k := q.keys[0]
		q.keys = q.keys[1:]
		n += copy(p[n:], k)
		if k == "\r" || k == "\n" {
			break
		}
	}
	if len(q.keys) == 0 && q.err == nil {
		select {
		case <-q.ready:
		default:
		}
	}
	return n, nil
}

// pastLines is the history of the line editor, newest first.
type pastLines struct {
	mu  sync.Mutex
	all []string
}

// maxPast is how many lines are kept.
const maxPast = 1000

// Add takes a line; one of several, or the same as the last one, is left out.
func (p *pastLines) Add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.TrimSpace(line) == "" || len(p.all) > 0 && p.all[0] == line {
		return
	}
	p.all = append([]string{line}, p.all[:min(len(p.all), maxPast-1)]...)
}

// older adds lines from before.
func (p *pastLines) older(all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, all...)
}

// Len is how many lines there are.
func (p *pastLines) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// At is a line, 0 the newest.
func (p *pastLines) At(i int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[i]
}
