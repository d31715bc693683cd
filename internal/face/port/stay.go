package port

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lathe-dev/lathe/internal/event"
)

// Stay is a session whose connection is made again when it broke, also to another process of the session. Prompts are
// sent again under their ids; its streams go on after the last cursor.
type Stay struct {
	dial func(context.Context) (*Client, error)

	mu     sync.Mutex
	client *Client // nil: not connected
}

// NewStay returns a session that dial connects to. A first connection, if there is one, is used.
func NewStay(first *Client, dial func(context.Context) (*Client, error)) *Stay {
	return &Stay{dial: dial, client: first}
}

// Waits between attempts to connect; then the session is given up.
const (
	firstRedial = 10 * time.Millisecond
	lastRedial  = 2 * time.Second
	redialFor   = 60 * time.Second
)

// now returns the connection, which is made again if it broke.
func (s *Stay) now(ctx context.Context) (*Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil && !s.client.broken() {
		return s.client, nil
	}
	wait := firstRedial
	for end := time.Now().Add(redialFor); ; wait = min(2*wait, lastRedial) {
		c, err := s.dial(ctx)
		if err == nil {
			s.client = c
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if answered(err) || time.Now().After(end) {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *Client) broken() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// Close ends the connection. The session goes on.
func (s *Stay) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return nil
	}
	return s.client.Close()
}

// again calls f, and calls it again if the connection breaks meanwhile: f has to be harmless twice.
func again[R any](ctx context.Context, s *Stay, f func(*Client) (R, error)) (R, error) {
	for {
		c, err := s.now(ctx)
		if err != nil {
			var none R
			return none, err
		}
		r, err := f(c)
		if err == nil || ctx.Err() != nil || answered(err) {
			return r, err
		}
		_ = c.Close() // its reader may not have noticed the end yet
	}
}

// answered reports an error that the process answered with: the connection is whole.
func answered(err error) bool {
	_, ok := errors.AsType[*Failure](err)
	return ok
}

// Prompt is as in [Session].
func (s *Stay) Prompt(ctx context.Context, p Prompt) (Receipt, error) {
	if p.ID == "" {
		p.ID = uuid.NewString()
	}
	return again(ctx, s, func(c *Client) (Receipt, error) { return c.Prompt(ctx, p) })
}

// Queue is as in [Session].
func (s *Stay) Queue(ctx context.Context, q QueueChange) (Queue, error) {
	c, err := s.now(ctx)
	if err != nil {
		return Queue{}, err
	}
	return c.Queue(ctx, q)
}

// Interrupt is as in [Session].
func (s *Stay) Interrupt(ctx context.Context, turn string) error {
	_, err := again(ctx, s, func(c *Client) (struct{}, error) { return nothing(c.Interrupt(ctx, turn)) })
	return err
}

// Answer is as in [Session].
func (s *Stay) Answer(ctx context.Context, a Answer) error {
	_, err := again(ctx, s, func(c *Client) (struct{}, error) { return nothing(c.Answer(ctx, a)) })
	return err
}

// Command is as in [Session].
func (s *Stay) Command(ctx context.Context, k Command) (event.Output, error) {
	c, err := s.now(ctx)
	if err != nil {
		return event.Output{}, err
	}
	out, err := c.Command(ctx, k)
	if err != nil && !answered(err) && ctx.Err() == nil {
		err = errors.New("the session process ended while the command ran; it is started again")
	}
	return out, err
}

// Call sends a request for a method beside those of a session. The result may be nil.
func (s *Stay) Call(ctx context.Context, method string, params, result any) error {
	c, err := s.now(ctx)
	if err != nil {
		return err
	}
	return c.Call(ctx, method, params, result)
}

// Ended waits until the process of the session has closed the connection.
func (s *Stay) Ended(ctx context.Context) {
	c, err := s.now(ctx)
	if err != nil {
		return
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
	}
}

// Complete is as in [Session].
func (s *Stay) Complete(ctx context.Context, q event.Query) ([]event.Candidate, error) {
	return again(ctx, s, func(c *Client) ([]event.Candidate, error) { return c.Complete(ctx, q) })
}

// Read is as in [Session].
func (s *Stay) Read(ctx context.Context, r ReadRequest) (Content, error) {
	return again(ctx, s, func(c *Client) (Content, error) { return c.Read(ctx, r) })
}

// Attach is as in [Session].
func (s *Stay) Attach(ctx context.Context, f From) (Events, error) {
	e := &stayed{s: s, from: f, open: map[string]event.Event{}}
	return e, e.attach(ctx)
}

// Later is Attach that connects when the first event is read.
func (s *Stay) Later(f From) Events { return &stayed{s: s, from: f, open: map[string]event.Event{}} }

// stayed is a stream that goes on after the connection broke.
type stayed struct {
	s     *Stay
	from  From
	inner Events
	open  map[string]event.Event // questions that the reader knows, by id
	gone  map[string]event.Event // of them, those that did not come again yet; nil: the stream did not break
	ready []event.Event
}

func (e *stayed) attach(ctx context.Context) error {
	inner, err := again(ctx, e.s, func(c *Client) (Events, error) { return c.Attach(ctx, e.from) })
	if err == nil {
		e.inner = inner
	}
	return err
}

// Next is as in [Events].
func (e *stayed) Next(ctx context.Context) (event.Event, error) {
	for {
		if len(e.ready) > 0 {
			out := e.ready[0]
			e.ready = e.ready[1:]
			return out, nil
		}
		if e.inner == nil {
			if err := e.attach(ctx); err != nil {
				return event.Event{}, err
			}
		}
		got, err := e.inner.Next(ctx)
		if err == nil {
			e.take(got)
			continue
		}
		if ctx.Err() != nil || errors.Is(err, io.EOF) {
			return event.Event{}, err
		}
		e.gone = map[string]event.Event{}
		for id, asked := range e.open {
			e.gone[id] = asked
		}
		if err := e.attach(ctx); err != nil {
			return event.Event{}, err
		}
	}
}

// take notes an event, and drops a question that the reader has. After a break, questions that did not come again were
// answered meanwhile; State follows those that did.
func (e *stayed) take(got event.Event) {
	if got.Cursor != "" {
		e.from.After = got.Cursor
	}
	switch b := got.Body.(type) {
	case event.Opened:
		e.open, e.gone = map[string]event.Event{}, nil
	case event.Asked:
		delete(e.gone, b.ID)
		if _, known := e.open[b.ID]; known {
			return
		}
		e.open[b.ID] = got
	case event.Answered:
		delete(e.open, b.ID)
	case event.State:
		for id, asked := range e.gone {
			delete(e.open, id)
			e.ready = append(e.ready, event.Event{
				Time: got.Time, Session: asked.Session, Agent: asked.Agent,
				Body: event.Answered{ID: id, Answer: event.Answer{Canceled: true}},
			})
		}
		e.gone = nil
	}
	e.ready = append(e.ready, got)
}

// Close is as in [Events].
func (e *stayed) Close() {
	if e.inner != nil {
		e.inner.Close()
	}
}
