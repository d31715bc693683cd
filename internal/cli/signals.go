package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
)

// signalError is the cause of a context that a signal ended.
type signalError struct{ sig os.Signal }

func (e *signalError) Error() string { return "ended by " + e.sig.String() }

// code is the exit code shells use for the signal.
func (e *signalError) code() int {
	switch e.sig {
	case syscall.SIGTERM:
		return exitTerm
	case syscall.SIGHUP:
		return exitHangup
	case syscall.SIGQUIT:
		return exitQuit
	}
	return exitInt
}

// signalOf returns the signal that ended ctx, or nil.
func signalOf(ctx context.Context) *signalError {
	if e, ok := errors.AsType[*signalError](context.Cause(ctx)); ok {
		return e
	}
	return nil
}

// children are functions that end the child processes, which must not outlive this one.
type children struct {
	mu  sync.Mutex
	end []func() error
}

func (c *children) add(end func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = append(c.end, end)
}

// kill ends all of them and waits for that.
func (c *children) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.end {
		_ = end() // too late to report it
	}
}

// withSignals ends the returned context at the first SIGINT, SIGTERM, SIGHUP or SIGQUIT, with a *signalError as its
// cause. The second one ends the children and then the process, whatever the turn does; the third does not
// even wait for the children. SIGPIPE becomes the EPIPE of the write that met it: the turn must
// end in order also when the answer has no reader.
//
// While divert holds a function, SIGINT calls that instead: an interactive front end means something of its
// own by it.
func withSignals(parent context.Context, kids *children, divert *atomic.Pointer[func()]) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGPIPE) // notified rather than ignored: children inherit ignored signals
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) { // as under nohup
			signal.Notify(ch, s)
		}
	}
	done := make(chan struct{})
	w := &watcher{ctx: ctx, cancel: cancel, kids: kids, divert: divert}
	go w.watch(ch, done)
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel(nil)
	}
}

// watcher takes the signals in turn.
type watcher struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	kids   *children
	divert *atomic.Pointer[func()]
	second bool
}

func (w *watcher) watch(ch <-chan os.Signal, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case s := <-ch:
			if s != syscall.SIGPIPE {
				w.take(&signalError{s})
			}
		}
	}
}

func (w *watcher) take(s *signalError) {
	if f := w.divert.Load(); f != nil && s.sig == os.Interrupt {
		(*f)()
		return
	}
	switch {
	case signalOf(w.ctx) == nil:
		w.cancel(s)
	case !w.second:
		w.second = true
		go func() { w.kids.kill(); os.Exit(s.code()) }()
	default:
		os.Exit(s.code())
	}
}
