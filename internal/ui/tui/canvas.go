package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/lathe-dev/lathe/internal/ui/tui/theme"
)

// Canvas is the alternate screen of the terminal, for a face that draws something else than a conversation. Its
// methods are for one goroutine.
type Canvas struct {
	Theme *theme.Theme

	term   *terminal
	screen *screen
	wake   chan struct{}
	inbox  inbox
	unsize func()
	ends   func()

	mu    sync.Mutex
	ended error
	fixed bool // the size did not change

	extra []byte // written before the next frame
}

// OpenCanvas takes the terminal. Close gives it back.
func OpenCanvas(o Options) (*Canvas, error) {
	o = o.withDefaults()
	c := &Canvas{
		Theme: newLook(o).theme, wake: make(chan struct{}, 1), fixed: true,
		term: newTerminal(o.In, o.Out, o.Getenv("TERM"), modes{}),
	}
	c.term.guard = func() {
		if r := recover(); r != nil {
			c.end(&CrashError{Value: r, Stack: debug.Stack()})
		}
	}
	if err := c.term.enter(); err != nil {
		return nil, err
	}
	w, h := c.term.size()
	c.screen = newScreen(w, h, false)
	c.term.startWriting(c.signal, c.end)
	err := c.term.startReading(func(e uv.Event) {
		if c.inbox.add(e) {
			c.signal()
		}
	}, c.end)
	if err != nil {
		c.term.leave("")
		return nil, err
	}
	c.unsize = c.term.watchSize(func() {
		c.mu.Lock()
		c.fixed = false
		c.mu.Unlock()
		c.signal()
	})
	c.ends = watchEnd(func(s os.Signal) { c.end(ended(s)) }, func() {})
	return c, nil
}

func (c *Canvas) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Canvas) end(err error) {
	c.mu.Lock()
	c.ended = errors.Join(c.ended, err)
	c.mu.Unlock()
	c.signal()
}

// Wake signals that Input has something, that the size changed, or that the terminal takes another frame.
func (c *Canvas) Wake() <-chan struct{} { return c.wake }

// Input returns what was typed since the last call. The error says that the terminal is gone.
func (c *Canvas) Input() ([]uv.Event, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inbox.take(), c.ended
}

// Size is the size of the terminal.
func (c *Canvas) Size() (w, h int) {
	c.mu.Lock()
	fixed := c.fixed
	c.fixed = true
	c.mu.Unlock()
	if !fixed {
		c.screen.resize(c.term.size())
	}
	return c.screen.w, c.screen.h
}

// Show shows lines, with the cursor at x, y. If the terminal still writes, Wake says when it is ready.
func (c *Canvas) Show(lines []string, x, y int) {
	if !c.term.ready() {
		return
	}
	out := c.screen.paint(frame{lines: lines, cx: x, cy: y, cursor: y >= 0})
	if out, c.extra = append(c.extra, out...), nil; len(out) > 0 {
		c.term.write(out)
	}
}

// Notify shows a notification in the terminal at hand; the kind is as in Options.Notifications.
func (c *Canvas) Notify(kind, text string) {
	c.extra = append(c.extra, notification(kind, os.Getenv, text)...)
}

// Close gives the terminal back.
func (c *Canvas) Close() {
	c.ends()
	c.unsize()
	c.term.stopReading()
	c.term.stopWriting()
	c.term.leave("")
}

// Suspended calls f while another program or face has the terminal.
func Suspended(ctx context.Context, c *Canvas, o Options, f func(context.Context) error) (*Canvas, error) {
	c.Close()
	ferr := f(ctx)
	if ctx.Err() != nil || errors.Is(ferr, ErrGone) {
		return nil, errors.Join(ferr, context.Cause(ctx))
	}
	next, err := OpenCanvas(o)
	if err != nil {
		return nil, fmt.Errorf("the terminal did not come back: %w", err)
	}
	return next, ferr
}
