package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
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

// withSignals ends the returned context at the first SIGINT, SIGTERM or SIGHUP, with a *signalError as its
// cause, and the process at the second. SIGPIPE becomes the EPIPE of the write that met it: the turn must
// end in order also when nobody reads the answer.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, syscall.SIGPIPE) // notified rather than ignored: what is ignored, children inherit
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as under nohup
			signal.Notify(ch, s)
		}
	}
	done := make(chan struct{})
	go watchSignals(ctx, ch, done, cancel)
	return ctx, func() {
		signal.Stop(ch)
		close(done)
		cancel(nil)
	}
}

func watchSignals(ctx context.Context, ch <-chan os.Signal, done <-chan struct{}, cancel context.CancelCauseFunc) {
	for {
		select {
		case <-done:
			return
		case s := <-ch:
			switch {
			case s == syscall.SIGPIPE:
			case signalOf(ctx) == nil:
				cancel(&signalError{s})
			default:
				os.Exit((&signalError{s}).code())
			}
		}
	}
}
