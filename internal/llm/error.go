package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrorKind classifies failed requests. The names are those of stream-json's error field.
type ErrorKind string

// Kinds of failure.
const (
	KindAuth       ErrorKind = "authentication_failed"
	KindBilling    ErrorKind = "billing_error"
	KindPermission ErrorKind = "permission_denied"
	KindNotFound   ErrorKind = "model_not_found"
	KindInvalid    ErrorKind = "invalid_request"
	KindTooLarge   ErrorKind = "request_too_large"
	KindImage      ErrorKind = "image_refused" // an image of the request is invalid or not accepted
	KindRateLimit  ErrorKind = "rate_limit"
	KindOverloaded ErrorKind = "overloaded"
	KindServer     ErrorKind = "server_error"
	KindNetwork    ErrorKind = "network_error" // refused, reset, cut, no terminal event
	KindStall      ErrorKind = "stalled"       // no bytes for the configured time
	KindProtocol   ErrorKind = "protocol_error"
	KindTLS        ErrorKind = "tls_error"
)

// Error is a failed request.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int    // HTTP status, or 0
	Message    string // the provider's message, safe for a terminal
	Hint       string // the user's next move
	RequestID  string
	Retryable  bool
	RetryAfter time.Duration // requested by the provider, or 0
	Attempts   int           // number of attempts
	Partial    *Message      // the parts that were complete when the stream broke, or nil
	Err        error

	once    bool // it is retried once only: another try takes as long
	renewed bool // other credentials are ready: the request is sent again at once
}

// Error returns one line: the failure, the provider's message, the next move.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Provider)
	if e.Provider != "" {
		b.WriteString(": ")
	}
	b.WriteString(strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	} else if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, "; gave up after %d attempts", e.Attempts)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// AsError finds the *Error in err's chain, or nil.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}
