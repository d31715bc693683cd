package port

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
)

// Methods of the wire. The session's are requests of the face; events and resync are notifications to it.
const (
	methodInitialize = "initialize" // Hello -> Welcome; the first message
	methodAttach     = "attach"     // attach -> {}; ends the stream before
	methodPrompt     = "prompt"     // Prompt -> Receipt
	methodQueue      = "queue"      // QueueChange -> Queue
	methodInterrupt  = "interrupt"  // Turn -> {}
	methodAnswer     = "answer"     // Answer -> {}
	methodCommand    = "command"    // Command -> event.Output
	methodComplete   = "complete"   // event.Query -> Candidates
	methodRead       = "read"       // ReadRequest -> Content
	methodEvent      = "event"      // streamed
	methodEnd        = "end"        // streamEnd
)

// Hello is the first message of a face.
type Hello struct {
	Version int  `json:"version"`
	Face    Face `json:"face"`
}

// Welcome is the answer of a process.
type Welcome struct {
	Version int    `json:"version"`
	Lathe   string `json:"lathe"` // the version of lathe, for people
	PID     int    `json:"pid"`
}

// attach begins a stream with a number that the face chose.
type attach struct {
	Stream int `json:"stream"`
	From
}

// Turn names a turn; empty: whichever runs.
type Turn struct {
	Turn string `json:"turn,omitempty"`
}

// Candidates are completions.
type Candidates struct {
	Candidates []event.Candidate `json:"candidates"`
}

// streamed is an event of a stream.
type streamed struct {
	Stream int         `json:"stream"`
	Event  event.Event `json:"event"`
}

// streamEnd ends a stream.
type streamEnd struct {
	Stream int  `json:"stream"`
	Resync bool `json:"resync,omitempty"` // the face fell behind, and is to attach again
}

// Codes of errors, beside those of JSON-RPC.
const (
	codeVersion    = -32010 // the process speaks another version
	codeFirst      = -32011 // initialize comes first
	codeTurnOver   = -32012 // ErrTurnOver
	codeNoQuestion = -32013 // event.ErrNoQuestion
	codeRefused    = -32014 // ErrRefused
	codeCursor     = -32015 // event.ErrCursor
	codeFailed     = -32016 // what the message says
)

// ErrRefused is returned to a face that may not do something.
var ErrRefused = errors.New("this face may not do that")

// codes are the errors that a face recognises.
var codes = map[int]error{
	codeTurnOver: ErrTurnOver, codeNoQuestion: event.ErrNoQuestion, codeRefused: ErrRefused, codeCursor: event.ErrCursor,
}

// wireError is an error as it is sent.
func wireError(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	for code, known := range codes {
		if errors.Is(err, known) {
			return &jsonrpc.Error{Code: code, Message: err.Error()}
		}
	}
	return &jsonrpc.Error{Code: codeFailed, Message: err.Error()}
}

// Failure is an error that a process answered with.
type Failure struct {
	message string
	known   error // one of codes, or nil
}

func (f *Failure) Error() string { return f.message }
func (f *Failure) Unwrap() error { return f.known }

// received is an error as the face's methods return it.
func received(err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return &Failure{e.Message, codes[e.Code]}
	}
	return err
}

// decoded calls f with decoded parameters.
func decoded[P, R any](params json.RawMessage, f func(P) (R, error)) (any, *jsonrpc.Error) {
	var p P
	if len(params) > 0 {
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.InvalidParams, Message: "the parameters cannot be read: " + err.Error()}
		}
	}
	r, err := f(p)
	if err != nil {
		return nil, wireError(err)
	}
	return r, nil
}

// nothing is the result of a method that only succeeds or fails.
func nothing(err error) (struct{}, error) { return struct{}{}, err }

// versionError says that two versions do not fit.
func versionError(theirs int) error {
	return &jsonrpc.Error{Code: codeVersion, Message: fmt.Sprintf("this lathe speaks version %d of the port, the other "+
		"one version %d; end it with: lathe daemon stop", Version, theirs)}
}

// cancelled is the notification by which a face gives up a request.
func cancelled(n int64) (string, any) { return "$/cancelRequest", map[string]int64{"id": n} }

// call is a request with a result of a type.
func call[R any](ctx context.Context, c *jsonrpc.Conn, method string, params any) (r R, err error) {
	err = received(c.Call(ctx, method, params, &r, nil))
	return r, err
}
