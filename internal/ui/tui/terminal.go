package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	xterm "golang.org/x/term"
)

// escapeWait is how long a lone escape byte may be the start of a longer sequence.
const escapeWait = 25 * time.Millisecond

// lastWrite is how long the terminal may take to accept the last bytes when the program ends.
const lastWrite = time.Second

// terminal is the device: its modes, its bytes in and out. Writing happens in its own goroutine, so that
// a terminal that does not take bytes blocks only that goroutine.
type terminal struct {
	in, out *os.File
	name    string // TERM
	modes   modes

	mu     sync.Mutex
	saved  *xterm.State
	output func() // restores the mode of the output, on Windows
	active bool

	writes chan []byte
	busy   atomic.Bool
	wanted atomic.Bool // somebody waits to hear that writing is over
	ended  chan struct{}
	guard  func() // deferred by the goroutines

	stopRead context.CancelFunc
	cancel   interface{ Cancel() bool }
	readDone chan struct{}
}

// modes are the optional modes of the terminal.
type modes struct {
	inline bool
	mouse  bool
}

func (m modes) enter() string {
	s := "\x1b[?2004h" + // pastes come in brackets
		"\x1b[?1004h" + // focus is reported
		"\x1b[>4;2m" // xterm tells modified keys apart
	if !m.inline {
		s = "\x1b[?1049h" + "\x1b[?1007h" + s // the wheel sends arrows
	}
	s += "\x1b[>1u" + // kitty's protocol tells escape from sequences; its stack belongs to the screen
		wrapOff // at the right edge
	if m.mouse {
		s += "\x1b[?1002h\x1b[?1006h"
	}
	return s
}

func (m modes) leave() string {
	s := "\x1b[m\x1b]8;;\x1b\\\x1b[?7h\x1b[<u\x1b[>4m\x1b[?1004l\x1b[?2004l"
	if m.mouse {
		s += "\x1b[?1006l\x1b[?1002l"
	}
	s += cursorOn
	if !m.inline {
		s += "\x1b[?1049l"
	}
	return s
}

func newTerminal(in, out *os.File, name string, m modes) *terminal {
	return &terminal{in: in, out: out, name: name, modes: m, writes: make(chan []byte, 1), ended: make(chan struct{})}
}

// enter sets the modes that the program needs.
func (t *terminal) enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active {
		return nil
	}
	saved, err := xterm.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("the input is not a terminal that can be used (%w); try --plain, or -p for one answer", err)
	}
	restore, err := prepareOutput(t.out)
	if err != nil {
		return errors.Join(fmt.Errorf("the output is not a terminal that can be used: %w", err),
			xterm.Restore(int(t.in.Fd()), saved))
	}
	t.saved, t.output, t.active = saved, restore, true
	_, err = t.out.WriteString(t.modes.enter())
	return err
}

// leave restores the terminal, once. It does not wait for a terminal that takes no bytes.
// last is written after everything else.
func (t *terminal) leave(last string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.active {
		return
	}
	t.active = false
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = t.out.WriteString(t.modes.leave() + last)
	}()
	select {
	case <-done:
	case <-time.After(lastWrite):
	}
	_ = xterm.Restore(int(t.in.Fd()), t.saved)
	t.output()
}

func (t *terminal) size() (w, h int) {
	w, h, err := xterm.GetSize(int(t.out.Fd()))
	if err != nil || w <= 0 || h <= 0 {
		return 80, 24
	}
	return w, h
}

// startWriting writes the buffers given to write, until stopWriting. idle is called when a write is over and
// somebody waits for that, gone when the terminal does not exist any more.
func (t *terminal) startWriting(idle func(), gone func(error)) {
	go func() {
		defer t.guard()
		defer close(t.ended)
		for b := range t.writes {
			_, err := t.out.Write(b)
			t.busy.Store(false)
			if err != nil {
				gone(fmt.Errorf("%w: %w", ErrGone, err))
				return
			}
			if t.wanted.Swap(false) {
				idle()
			}
		}
	}()
}

// write hands b over, which must not change until the terminal is ready again. False means that it still
// writes: idle will be called.
func (t *terminal) write(b []byte) bool {
	if !t.ready() {
		return false
	}
	t.busy.Store(true)
	t.writes <- b
	return true
}

func (t *terminal) ready() bool {
	if !t.busy.Load() {
		return true
	}
	t.wanted.Store(true)
	return !t.busy.Load()
}

// drain waits until the terminal took all bytes, or a while.
func (t *terminal) drain() {
	for end := time.Now().Add(lastWrite); t.busy.Load() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// stopWriting ends the writer when it has written everything, or after a while.
func (t *terminal) stopWriting() {
	close(t.writes)
	select {
	case <-t.ended:
	case <-time.After(lastWrite):
	}
}

// startReading sends input events, until stopReading or the end of the input, which is reported to gone.
func (t *terminal) startReading(send func(uv.Event), gone func(error)) error {
	r, err := uv.NewCancelReader(t.in)
	if err != nil {
		return fmt.Errorf("reading the terminal: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.stopRead, t.cancel, t.readDone = cancel, r, make(chan struct{})
	events := make(chan uv.Event)
	decoder := uv.NewTerminalReader(r, t.name)
	decoder.EscTimeout = escapeWait
	done := t.readDone
	go func() {
		defer t.guard()
		err := decoder.StreamEvents(ctx, events)
		close(events)
		if ctx.Err() == nil {
			if err == nil {
				err = io.EOF
			}
			gone(fmt.Errorf("%w: %w", ErrGone, err))
		}
	}()
	go func() {
		defer t.guard()
		defer close(done)
		for e := range events {
			send(e)
		}
	}()
	return nil
}

// stopReading leaves the input to others.
func (t *terminal) stopReading() {
	if t.cancel == nil {
		return
	}
	t.stopRead()
	t.cancel.Cancel()
	select {
	case <-t.readDone:
	case <-time.After(lastWrite):
	}
	if c, ok := t.cancel.(io.Closer); ok {
		_ = c.Close()
	}
	t.cancel = nil
}
