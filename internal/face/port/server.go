package port

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
	"github.com/lathe-dev/lathe/internal/event"
)

// Server serves one session to any number of faces.
type Server struct {
	Session Session // nil: only Other's methods are served
	Lathe   string  // the version of lathe, for people
	// Other answers methods beside those of a session; nil: there are none.
	Other func(ctx context.Context, f Face, method string, params json.RawMessage) (any, error)

	// Peer answers the methods that the process of another session may call; nil: it is turned away.
	Peer func(ctx context.Context, f Face, method string, params json.RawMessage) (any, error)

	mu      sync.Mutex
	authors map[string]string // the principals of prompts, by id
	faces   int
	editors []*served // faces with Buffers, the newest last
}

// Editor reports whether a face with Buffers is connected.
func (s *Server) Editor() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.editors) > 0
}

// Ask asks the newest face with Buffers. ErrNoFace: none is there.
func (s *Server) Ask(ctx context.Context, method string, params, result any) error {
	s.mu.Lock()
	var c *served
	if n := len(s.editors); n > 0 {
		c = s.editors[n-1]
	}
	s.mu.Unlock()
	if c == nil {
		return ErrNoFace
	}
	return received(c.conn.Call(ctx, method, params, result, nil))
}

// Faces is how many faces are connected, without the supervisor.
func (s *Server) Faces() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faces
}

// served is a connection to a face.
type served struct {
	*Server
	ctx  context.Context
	conn *jsonrpc.Conn

	mu   sync.Mutex
	face *Face  // nil before initialize
	stop func() // ends the stream; nil: none
}

// Serve speaks with one face until its connection or ctx ends.
func (s *Server) Serve(ctx context.Context, t jsonrpc.Transport) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c := &served{Server: s, ctx: ctx}
	ready := make(chan struct{})
	c.conn = jsonrpc.New(t, jsonrpc.Handler{
		Patient: true,
		Request: func(ctx context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error) {
			<-ready
			return c.request(ctx, method, params)
		},
		Cancel: cancelled,
	})
	close(ready)
	defer c.uncount()
	defer s.editorGone(c)
	select {
	case <-c.conn.Done():
	case <-ctx.Done():
	}
	_ = c.attach(ctx, nil) // it only ends the stream
	_ = c.conn.Close()
}

// counts reports a face that Faces counts.
func (f *Face) counts() bool { return f != nil && f.Kind != "supervisor" }

func (c *served) uncount() {
	c.mu.Lock()
	counted := c.face.counts()
	c.mu.Unlock()
	if counted {
		c.count(-1)
	}
}

func (s *Server) editorGone(c *served) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.editors = slices.DeleteFunc(s.editors, func(o *served) bool { return o == c })
}

func (s *Server) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faces += n
}

func (c *served) request(ctx context.Context, method string, params json.RawMessage) (any, *jsonrpc.Error) {
	c.mu.Lock()
	face := c.face
	c.mu.Unlock()
	if method == methodInitialize {
		return decoded(params, c.initialize)
	}
	if face == nil {
		return nil, &jsonrpc.Error{Code: codeFirst, Message: "initialize comes first"}
	}
	if c.Session == nil {
		return c.other(ctx, *face, method, params)
	}
	s := c.For(*face)
	switch method {
	case methodAttach:
		return decoded(params, func(a attach) (struct{}, error) { return nothing(c.attach(ctx, &a)) })
	case methodPrompt:
		return decoded(params, func(p Prompt) (Receipt, error) {
			return s.Prompt(ctx, p)
		})
	case methodQueue:
		return decoded(params, func(q QueueChange) (Queue, error) { return s.Queue(ctx, q) })
	case methodInterrupt:
		return decoded(params, func(t Turn) (struct{}, error) { return nothing(s.Interrupt(ctx, t.Turn)) })
	case methodAnswer:
		return decoded(params, func(a Answer) (struct{}, error) {
			return nothing(s.Answer(ctx, a))
		})
	case methodCommand:
		return decoded(params, func(k Command) (event.Output, error) {
			return s.Command(ctx, k)
		})
	case methodComplete:
		return decoded(params, func(q event.Query) (Candidates, error) {
			found, err := s.Complete(ctx, q)
			return Candidates{found}, err
		})
	case methodRead:
		return decoded(params, func(r ReadRequest) (Content, error) { return s.Read(ctx, r) })
	}
	return c.other(ctx, *face, method, params)
}

// other answers a method beside those of a session.
func (c *served) other(ctx context.Context, f Face, method string, params json.RawMessage) (any, *jsonrpc.Error) {
	if c.Other == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.NoMethod, Message: fmt.Sprintf("no %q is served here", method)}
	}
	out, err := c.Other(ctx, f, method, params)
	if err != nil {
		return nil, wireError(err)
	}
	return out, nil
}

func (c *served) initialize(h Hello) (Welcome, error) {
	if h.Version != Version {
		return Welcome{}, versionError(h.Version)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.face != nil {
		return Welcome{}, errors.New("the face is known already")
	}
	if c.face = &h.Face; c.face.counts() {
		c.count(1)
	}
	if h.Face.Buffers {
		c.Server.mu.Lock()
		c.editors = append(c.editors, c)
		c.Server.mu.Unlock()
	}
	return Welcome{Version: Version, Lathe: c.Lathe, PID: os.Getpid()}, nil
}

// mostHistory is how many events of the history one Opened brings. Read has the earlier ones.
const mostHistory = 1000

// attach begins a stream in the place of the one before; nil only ends that.
func (c *served) attach(ctx context.Context, a *attach) error {
	var events Events
	if a != nil {
		var err error
		if a.History <= 0 || a.History > mostHistory {
			a.History = mostHistory
		}
		if events, err = c.Session.Attach(c.ctx, a.From); err != nil {
			return err
		}
	}
	c.mu.Lock()
	before := c.stop
	c.stop = nil
	if a != nil {
		streaming, stop := context.WithCancel(c.ctx)
		done := make(chan struct{})
		c.stop = func() { stop(); <-done }
		go func() {
			defer close(done)
			defer events.Close()
			c.stream(streaming, *a, events)
		}()
	}
	c.mu.Unlock()
	if before != nil {
		before()
	}
	return ctx.Err()
}

// stream sends events until ctx or the stream ends.
func (c *served) stream(ctx context.Context, a attach, events Events) {
	for {
		e, err := events.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = c.sendEvent(ctx, a, e)
		}
		if err != nil {
			_ = c.conn.Notify(ctx, methodEnd, streamEnd{a.Stream, errors.Is(err, ErrResync)})
			return
		}
	}
}

// room is what a message has beside an event.
const room = 1 << 10

// sendEvent sends an event, or says that it is too large.
func (c *served) sendEvent(ctx context.Context, a attach, e event.Event) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	for len(raw) > MaxMessage-room {
		size := len(raw) >> 20
		if opened, ok := e.Body.(event.Opened); ok && len(opened.History) > 0 {
			opened.History, opened.More = nil, e.Cursor // the face reads it by pages
			e.Body = opened
		} else {
			e.Body = event.Notice{Level: "warning", Text: fmt.Sprintf(
				"an event of %d MB (%s) is too large to be sent; the session's log has it", size, e.Body.Kind())}
		}
		if raw, err = json.Marshal(e); err != nil {
			return err
		}
	}
	return c.conn.Notify(ctx, methodEvent, rawStreamed{a.Stream, raw})
}

// rawStreamed is streamed with an event that is encoded already.
type rawStreamed struct {
	Stream int             `json:"stream"`
	Event  json.RawMessage `json:"event"`
}
