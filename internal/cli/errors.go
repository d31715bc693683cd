package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Exit codes, for scripts.
const (
	exitOK       = 0
	exitFailed   = 1   // the turn failed, was refused, or ran out of steps or budget
	exitUsage    = 2   // a wrong command line or configuration; nothing was run
	exitPipe     = 141 // the reader of stdout went away (128 + SIGPIPE)
	exitInt      = 130 // SIGINT (128 + 2)
	exitTerm     = 143 // SIGTERM (128 + 15)
	exitHangup   = 129 // SIGHUP (128 + 1)
	exitQuit     = 131 // SIGQUIT (128 + 3); the runtime's own answer would be its goroutines
	messagesName = "lathe"
)

// Error is a failure that knows its exit code and the user's next move.
type Error struct {
	Code  int
	Msg   string // without a capital and a full stop
	Hint  string // the next move
	Err   error
	Quiet bool // already printed, or not worth a line

	interrupted bool // a turn was
}

func (e *Error) Error() string {
	s := e.Msg
	if e.Err != nil {
		s = strings.TrimPrefix(s+": "+e.Err.Error(), ": ")
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// usage is a mistake on the command line.
func usage(hint, format string, args ...any) error {
	return &Error{Code: exitUsage, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// hintKept is the next move when stdout fails: nothing was lost.
const hintKept = "make room there; the session is kept, lathe session list has its id"

// errBrokenPipe means that stdout has no reader any more.
var errBrokenPipe = errors.New("stdout is closed")

func isBrokenPipe(err error) bool {
	return errors.Is(err, errBrokenPipe) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}

// exitCode is the one place where an error becomes an exit code.
func exitCode(err error) int {
	switch e, ok := errors.AsType[*Error](err); {
	case err == nil:
		return exitOK
	case isBrokenPipe(err):
		return exitPipe
	case ok && e.Code != 0:
		return e.Code
	}
	return exitFailed
}

// report writes the line for the user and returns the exit code.
func report(stderr io.Writer, err error) int {
	code := exitCode(err)
	if e, ok := errors.AsType[*Error](err); err == nil || code == exitPipe || (ok && e.Quiet) {
		return code
	}
	fmt.Fprintf(stderr, "%s: %s\n", messagesName, escape(oneMessage(err)))
	return code
}

// oneMessage is the error's text with the hint of the innermost error that has one.
func oneMessage(err error) string {
	s := strings.TrimRight(err.Error(), "\n")
	if llm.AsError(err) != nil {
		return s // its text has the hint
	}
	var h interface{ Hint() string }
	if errors.As(err, &h) && h.Hint() != "" && !strings.Contains(s, h.Hint()) {
		s += "; " + h.Hint()
	}
	return s
}
