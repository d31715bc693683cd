package tui

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/lathe-dev/lathe/internal/face/port"
)

// program owns the goroutines around the model: the loop, the reader and the writer of the terminal, the
// pump, and the calls of the session that run.
type program struct {
	session port.Session
	options Options
	model   *model
	mail    chan any // messages for the loop
	term    *terminal
	pump    *pump
	inbox   inbox

	ctx    context.Context // of the loop; its cause says why it ended
	cancel context.CancelCauseFunc

	unwatch func()       // the signals
	away    atomic.Bool  // another program has the terminal
	owed    atomic.Int32 // reports of the cursor that the terminal has not sent yet

	mu    sync.Mutex
	crash *CrashError
}

// errQuit ends the loop in order.
var errQuit = errors.New("the user left")

func newProgram(ctx context.Context, s port.Session, o Options) *program {
	p := &program{session: s, options: o, mail: make(chan any)}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	p.term = newTerminal(o.In, o.Out, o.Getenv("TERM"), modes{inline: o.Inline, mouse: o.Mouse})
	p.term.guard = p.guard
	p.pump = newPump(func() { p.send(eventsMsg{}) })
	p.model = newModel(p)
	return p
}

// send gives the loop a message. It waits for the loop, so the loop itself must not call it. After the end of
// the loop it drops the message.
func (p *program) send(m any) {
	select {
	case p.mail <- m:
	case <-p.ctx.Done():
	}
}

// spawn runs f in a goroutine and gives its result to the loop, if there is one.
func (p *program) spawn(f func() any) {
	go func() {
		defer p.guard()
		if m := f(); m != nil {
			p.send(m)
		}
	}()
}

// guard is deferred by every goroutine of the terminal: a panic ends the program in order.
func (p *program) guard() {
	if r := recover(); r != nil {
		p.crashed(r, debug.Stack())
	}
}

func (p *program) crashed(value any, stack []byte) {
	p.mu.Lock()
	if p.crash == nil {
		p.crash = &CrashError{Value: value, Stack: stack}
	}
	p.mu.Unlock()
	p.cancel(p.crash)
}

// run opens the terminal, runs the loop, and puts everything back.
func (p *program) run(stream port.Events) (Result, error) {
	if err := p.term.enter(); err != nil {
		return Result{}, err
	}
	defer p.term.leave("")
	p.term.startWriting(func() { p.send(wroteMsg{}) }, p.gone)
	if err := p.read(); err != nil {
		return Result{}, err
	}
	stopSize := p.term.watchSize(func() { p.send(sizeMsg{}) })
	p.watchSignals()
	events, stopEvents := context.WithCancel(p.ctx)
	p.spawn(func() any { return endedMsg{p.pump.run(events, stream.Next)} })

	p.loop()

	p.cancel(errQuit)
	stopEvents()
	p.pump.stop()
	p.stopSignals()
	stopSize()
	p.awaitReports()
	p.term.stopReading()
	p.term.stopWriting()
	p.term.leave(p.model.lastWords())
	return p.result()
}

func (p *program) gone(err error) { p.cancel(err) }

// read starts the reader of the terminal.
func (p *program) read() error {
	return p.term.startReading(func(e uv.Event) {
		if _, ok := e.(uv.CursorPositionEvent); ok {
			p.owed.Add(-1)
		}
		if p.inbox.add(e) {
			p.spawn(func() any { return inputMsg{} })
		}
	}, p.gone)
}

func (p *program) watchSignals() {
	p.unwatch = watchEnd(func(s os.Signal) {
		if !p.away.Load() || !fromKeys(s) {
			p.cancel(ended(s))
		}
	}, func() { p.send(suspendMsg{}) })
}

func (p *program) stopSignals() { p.unwatch() }

// loop runs until the user leaves, the terminal goes away or something crashes.
func (p *program) loop() {
	defer p.guard()
	p.model.start()
	for {
		select {
		case msg := <-p.mail:
			p.model.update(msg)
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *program) result() (Result, error) {
	r := p.model.result()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crash != nil {
		p.crash.Result = r
		return r, p.crash
	}
	switch cause := context.Cause(p.ctx); {
	case errors.Is(cause, errQuit):
		return r, nil
	default:
		return r, cause
	}
}

// ended is why the program ends when a signal asks it to.
func ended(s os.Signal) error {
	if hangup(s) {
		return ErrGone
	}
	return &SignalError{s}
}

// SignalError says that a signal ended the program.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "ended by a signal: " + e.Signal.String() }
