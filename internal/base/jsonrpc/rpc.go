// Package jsonrpc speaks JSON-RPC 2.0 with one peer, as the Model Context Protocol and the Language Server Protocol use
// it: both sides send requests.
//
// The words: a [Transport] carries whole messages; a [Conn] matches answers to calls. A peer is a stranger's program.
//
// Promises:
//
//   - Each call ends: with the peer's answer, with its context, or with the connection.
//   - Answers that no one waits for (late, twice, unknown ids), lines that are no JSON and unknown messages are counted
//     and dropped.
//   - Memory is bounded by [MaxMessage], the requests of the peer that run at one time, and the calls of this side.
package jsonrpc

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// MaxMessage is the size of the longest message that is read, in bytes.
const MaxMessage = 32 << 20

// maxServed is how many requests of the peer are served at one time; more are refused.
const maxServed = 16

// maxStrict is the same for a strict handler, whose peer is told when it is one too many.
const maxStrict = 256

// Transport carries messages to a peer and back. Send may be called from several goroutines.
type Transport interface {
	// Send sends one JSON message without line breaks.
	Send(ctx context.Context, message []byte) error
	// Receive returns the next message; it is called from one goroutine. Any error ends the connection, io.EOF in order; a
	// [*Lost] does not.
	Receive() ([]byte, error)
	Close() error
}

// Lost is a message that could not be taken: too long, or without an end. The connection goes on.
type Lost struct {
	ID  json.RawMessage // of the request that it answers; nil: unknown, so that every call may be concerned
	Why string
	Err error // the cause, which the call returns; may be nil
}

func (l *Lost) Error() string { return l.Why }

// ErrRefused is a refusal of the credentials, which another request would meet as well.
var ErrRefused = errors.New("the server refuses the credentials")

type headersKey struct{}

// WithHeaders returns a context with which a message is sent with these headers, over a transport that has headers.
func WithHeaders(ctx context.Context, headers map[string]string) context.Context {
	return context.WithValue(ctx, headersKey{}, headers)
}

// Headers are those of a message that is sent with ctx.
func Headers(ctx context.Context) map[string]string {
	h, _ := ctx.Value(headersKey{}).(map[string]string)
	return h
}

// Error is an error that the peer answers with.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Codes of errors.
const (
	ParseError     = -32700
	InvalidRequest = -32600
	NoMethod       = -32601
	InvalidParams  = -32602
	NeedsURL       = -32042 // URLElicitationRequired of MCP
	Internal       = -32603
	Cancelled      = -32800
)

// Progress is a report of the peer on a running call.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"`
	Message  string  `json:"message,omitempty"`
}

// Handler serves the peer. Nil functions refuse or drop.
type Handler struct {
	Request func(ctx context.Context, method string, params json.RawMessage) (any, *Error) // may take long
	Notify  func(method string, params json.RawMessage)                                    // must not block
	// gets what was dropped, for a log
	Odd func(line string)
	// The peer reads while it writes: it waits when it has too many requests at one time, which are dropped else.
	Patient bool
	Cancel  func(n int64) (method string, params any) // the notification that cancels call n; nil: that of MCP
	// Begin, in the place of Request, is called in the order in which requests and notifications come; what it returns
	// runs beside the reader.
	Begin func(method string, params json.RawMessage) func(ctx context.Context) (any, *Error)
	// Strict: what cannot be read is answered with an error, and so are a request that was cancelled and one too many.
	Strict bool
}

// Follower is a result that has to know when its answer was sent.
type Follower interface{ Sent() }

type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`

	lost error // why no answer came
}

type waiting struct {
	answer   chan message
	progress func(Progress)
}

// Conn is a connection to one peer. It is safe for concurrent use.
type Conn struct {
	t      Transport
	h      Handler
	life   context.Context
	end    context.CancelCauseFunc
	next   atomic.Int64
	served chan struct{} // has a place for each request of the peer that is served

	mu      sync.Mutex
	calls   map[string]*waiting
	running map[string]context.CancelFunc // requests of the peer, by id
	done    chan struct{}
}

// ErrEnded is the cause of a connection's end by the peer.
var ErrEnded = errors.New("the server ended the connection")

// ErrClosed is the cause of a connection's end by Close.
var ErrClosed = errors.New("the connection is closed")

// New begins to read from t. The Conn closes t.
func New(t Transport, h Handler) *Conn {
	c := &Conn{
		t: t, h: h, calls: map[string]*waiting{}, running: map[string]context.CancelFunc{},
		served: make(chan struct{}, maxServed), done: make(chan struct{}),
	}
	if h.Strict {
		c.served = make(chan struct{}, maxStrict)
	}
	c.life, c.end = context.WithCancelCause(context.Background())
	go c.read()
	return c
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.life.Done() }

// Err is why the connection ended; nil while it holds.
func (c *Conn) Err() error { return context.Cause(c.life) }

// Close ends the connection and waits for its reader.
func (c *Conn) Close() error {
	c.end(ErrClosed)
	err := c.t.Close()
	<-c.done
	return err
}

// Call sends a request and waits for its answer, which is decoded into result unless that is nil. The error is an
// *Error where the peer sent one, the cause of ctx (the peer is told), or why the connection ended. Params may be nil.
// progress, if not nil, gets the peer's reports; the params must be a map then.
func (c *Conn) Call(ctx context.Context, method string, params, result any, progress func(Progress)) error {
	n := c.next.Add(1)
	id := strconv.FormatInt(n, 10)
	if fields, ok := params.(map[string]any); ok && progress != nil {
		meta, _ := fields["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta["progressToken"] = n
		fields["_meta"] = meta
	}
	w := &waiting{answer: make(chan message, 1), progress: progress}
	c.mu.Lock()
	c.calls[id] = w
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, message{ID: json.RawMessage(id), Method: method}, params); err != nil {
		if ctx.Err() != nil { // it may have been sent all the same
			c.cancelled(ctx, method, n)
		}
		return err
	}
	select {
	case m := <-w.answer:
		return m.into(result)
	case <-c.life.Done():
		select {
		case m := <-w.answer: // it came before the end
			return m.into(result)
		default:
			return c.Err()
		}
	case <-ctx.Done():
		c.cancelled(ctx, method, n)
		return context.Cause(ctx)
	}
}

// cancelled reports to the server that no one waits for an answer any more.
func (c *Conn) cancelled(ctx context.Context, method string, n int64) {
	if method == "initialize" { // which may not be cancelled
		return
	}
	told, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if c.h.Cancel != nil {
		method, params := c.h.Cancel(n)
		_ = c.Notify(told, method, params)
		return
	}
	_ = c.Notify(told, "notifications/cancelled", map[string]any{"requestId": n, "reason": context.Cause(ctx).Error()})
}

func (m message) into(result any) error {
	if m.lost != nil {
		return m.lost
	}
	if m.Error != nil {
		return m.Error
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(m.Result, result); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// Notify sends a notification. Params may be nil.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return c.send(ctx, message{Method: method}, params)
}

func (c *Conn) send(ctx context.Context, m message, params any) error {
	if err := c.Err(); err != nil {
		return err
	}
	m.Version = "2.0"
	if params != nil {
		p, err := encode(params)
		if err != nil {
			return err
		}
		m.Params = p
	}
	data, err := encode(m)
	if err != nil {
		return err
	}
	return c.t.Send(ctx, data)
}

// encode writes JSON without the escapes for HTML, which would change a tool's input.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (c *Conn) read() {
	defer close(c.done)
	for {
		data, err := c.t.Receive()
		if lost, ok := errors.AsType[*Lost](err); ok {
			c.lost(lost)
			continue
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = ErrEnded
			}
			c.end(err)
			return
		}
		c.take(data)
	}
}

// take handles a message or, of the protocol of 2025-03-26, a list of them.
func (c *Conn) take(data []byte) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return
	}
	if c.h.Strict {
		c.strict(data)
		return
	}
	if data[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil {
			c.odd(data)
			return
		}
		for _, one := range list {
			c.one(one)
		}
		return
	}
	c.one(data)
}

func (c *Conn) one(data []byte) {
	var m message
	if json.Unmarshal(data, &m) != nil {
		c.odd(data)
		return
	}
	c.handle(m, data)
}

func (c *Conn) handle(m message, data []byte) {
	switch {
	case m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null":
		c.serve(m)
	case m.Method != "":
		c.notified(m)
	case len(m.Result) > 0 || m.Error != nil:
		c.answered(m, data)
	default:
		c.odd(data)
	}
}

// answered hands an answer to its call. Some servers send the id as a string.
func (c *Conn) answered(m message, data []byte) {
	id := string(bytes.Trim(m.ID, `"`))
	c.mu.Lock()
	w := c.calls[id]
	delete(c.calls, id)
	c.mu.Unlock()
	if w == nil {
		c.odd(data)
		return
	}
	w.answer <- m
}

// lost ends the calls that a lost message may have answered.
func (c *Conn) lost(l *Lost) {
	failed := message{lost: cmp.Or(l.Err, error(l))}
	if c.h.Strict {
		c.reply(message{
			Version: "2.0", ID: json.RawMessage("null"), Error: &Error{Code: InvalidRequest, Message: l.Why},
		})
	}
	if l.ID != nil {
		failed.ID = l.ID
		c.answered(failed, []byte(l.Why))
		return
	}
	c.odd([]byte(l.Why))
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, w := range c.calls {
		delete(c.calls, id)
		w.answer <- failed
	}
}

func (c *Conn) odd(data []byte) {
	if c.h.Odd != nil {
		c.h.Odd(string(data[:min(len(data), 300)]))
	}
}

func (c *Conn) notified(m message) {
	switch m.Method {
	case "notifications/cancelled", "$/cancelRequest", "$/cancel_request":
		var p struct {
			MCP json.RawMessage `json:"requestId"`
			LSP json.RawMessage `json:"id"`
		}
		_ = json.Unmarshal(m.Params, &p)
		c.mu.Lock()
		cancel := c.running[string(p.MCP)+string(p.LSP)]
		c.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	case "notifications/progress":
		c.progressed(m.Params)
	default:
		if c.h.Notify != nil {
			c.h.Notify(m.Method, m.Params)
		}
	}
}

func (c *Conn) progressed(params json.RawMessage) {
	var p struct {
		Token json.RawMessage `json:"progressToken"`
		Progress
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	w := c.calls[string(bytes.Trim(p.Token, `"`))]
	c.mu.Unlock()
	if w != nil && w.progress != nil {
		w.progress(p.Progress)
	}
}
