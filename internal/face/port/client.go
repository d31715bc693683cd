package port

import (
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
)

// Client is a session behind a connection. It has one stream at a time: Attach ends the one before.
type Client struct {
	Welcome Welcome // what the process said of itself

	conn *jsonrpc.Conn

	mu      sync.Mutex
	streams int     // counts them
	stream  *stream // the newest
}

// Connect introduces a face to a process. The client closes the transport.
func Connect(ctx context.Context, t jsonrpc.Transport, f Face) (*Client, error) {
	c := &Client{}
	c.conn = jsonrpc.New(t, jsonrpc.Handler{Notify: c.notified, Cancel: cancelled, Request: asked(f)})
	var err error
	c.Welcome, err = call[Welcome](ctx, c.conn, methodInitialize, Hello{Version, f})
	if err == nil && c.Welcome.Version != Version {
		err = received(versionError(c.Welcome.Version))
	}
	if err != nil {
		_ = c.conn.Close()
		return nil, err
	}
	return c, nil
}

// asked answers what a process asks its face.
func asked(f Face) func(context.Context, string, json.RawMessage) (any, *jsonrpc.Error) {
	return func(ctx context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error) {
		if f.Answer == nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.NoMethod, Message: "this face answers nothing"}
		}
		out, err := f.Answer(ctx, method, params)
		if err != nil {
			return nil, wireError(err)
		}
		return out, nil
	}
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.conn.Done() }

// Close ends the connection. The session goes on.
func (c *Client) Close() error { return c.conn.Close() }

// Call sends a request for a method beside those of a session.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return received(c.conn.Call(ctx, method, params, result, nil))
}

// Attach is as in [Session].
func (c *Client) Attach(ctx context.Context, f From) (Events, error) {
	c.mu.Lock()
	c.streams++
	s := &stream{client: c, number: c.streams, wake: make(chan struct{}, 1)}
	c.stream = s
	c.mu.Unlock()
	if _, err := call[struct{}](ctx, c.conn, methodAttach, attach{s.number, f}); err != nil {
		return nil, err
	}
	return s, nil
}

// Prompt is as in [Session].
func (c *Client) Prompt(ctx context.Context, p Prompt) (Receipt, error) {
	return call[Receipt](ctx, c.conn, methodPrompt, p)
}

// Queue is as in [Session].
func (c *Client) Queue(ctx context.Context, q QueueChange) (Queue, error) {
	return call[Queue](ctx, c.conn, methodQueue, q)
}

// Interrupt is as in [Session].
func (c *Client) Interrupt(ctx context.Context, turn string) error {
	_, err := call[struct{}](ctx, c.conn, methodInterrupt, Turn{turn})
	return err
}

// Answer is as in [Session].
func (c *Client) Answer(ctx context.Context, a Answer) error {
	_, err := call[struct{}](ctx, c.conn, methodAnswer, a)
	return err
}

// Command is as in [Session].
func (c *Client) Command(ctx context.Context, k Command) (event.Output, error) {
	return call[event.Output](ctx, c.conn, methodCommand, k)
}

// Complete is as in [Session].
func (c *Client) Complete(ctx context.Context, q event.Query) ([]event.Candidate, error) {
	found, err := call[Candidates](ctx, c.conn, methodComplete, q)
	return found.Candidates, err
}

// Read is as in [Session].
func (c *Client) Read(ctx context.Context, r ReadRequest) (Content, error) {
	return call[Content](ctx, c.conn, methodRead, r)
}

// notified takes a notification of the process.
func (c *Client) notified(method string, params json.RawMessage) {
	switch method {
	case methodEvent:
		var n streamed
		if json.Unmarshal(params, &n) == nil {
			c.to(n.Stream, func(s *stream) { s.queue = append(s.queue, n.Event) })
		}
	case methodEnd:
		var n streamEnd
		if json.Unmarshal(params, &n) == nil {
			c.to(n.Stream, func(s *stream) { s.close(n.Resync) })
		}
	}
}

// to changes the stream with this number; one that was replaced gets nothing more.
func (c *Client) to(number int, change func(*stream)) {
	c.mu.Lock()
	s := c.stream
	c.mu.Unlock()
	if s == nil || s.number != number {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if change(s); len(s.queue) > MostBehind {
		s.queue = nil
		s.close(true)
	}
	s.signal()
}

// stream is the events of a client.
type stream struct {
	client *Client
	number int
	wake   chan struct{}

	mu    sync.Mutex
	queue []event.Event
	end   error // after the queue; nil: more will come
}

func (s *stream) close(resync bool) {
	if s.end = io.EOF; resync {
		s.end = ErrResync
	}
}

func (s *stream) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Next is as in [Events]. Where the connection ended, the error says why.
func (s *stream) Next(ctx context.Context) (event.Event, error) {
	for {
		e, ok, err := s.take()
		if ok {
			return e, err
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return event.Event{}, ctx.Err()
		case <-s.client.Done():
			if e, ok, err := s.take(); ok { // it came before the end
				return e, err
			}
			return event.Event{}, s.client.conn.Err()
		}
	}
}

// take returns the next event, or the end; false: there is neither yet.
func (s *stream) take() (e event.Event, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		e, s.queue = s.queue[0], s.queue[1:]
		return e, true, nil
	}
	return e, s.end != nil, s.end
}

// Close stops taking events in.
func (s *stream) Close() {
	s.client.to(s.number, func(s *stream) { s.queue, s.end = nil, io.EOF })
}
