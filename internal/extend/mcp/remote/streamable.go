package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// envelope is what a transport needs of a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// Streamable is a transport of the Streamable HTTP kind. A request that is sent with its own headers
// ([rpc.WithHeaders]) is independent: it has no session, its stream is not resumed, and who cancels it leaves the
// stream.
type Streamable struct {
	*queue
	o Options

	mu      sync.Mutex
	session string
	version string
	streams map[string]running // requests, by id
}

// running is a request without its answer.
type running struct {
	stop    context.CancelFunc
	headers map[string]string // of its own
}

// NewStreamable makes the transport; nothing is sent.
func NewStreamable(o Options) *Streamable {
	if o.Client == nil {
		o.Client = NewClient()
	}
	return &Streamable{queue: newQueue(), o: o, streams: map[string]running{}}
}

// SetVersion sets the protocol's version of all further requests, and begins to listen to what the server says by
// itself.
func (s *Streamable) SetVersion(v string) {
	s.mu.Lock()
	s.version = v
	s.mu.Unlock()
	s.spawn(s.listen)
}

// Send sends a message. The answer to a request, or its failure, comes by Receive.
func (s *Streamable) Send(ctx context.Context, message []byte) error {
	var e envelope
	if err := json.Unmarshal(message, &e); err != nil {
		return err
	}
	if len(e.ID) > 0 && e.Method != "" {
		body, own := bytes.Clone(message), jsonrpc.Headers(ctx)
		s.spawn(func() { s.request(string(e.ID), body, own) })
		return nil
	}
	if e.Method == "notifications/cancelled" {
		r := s.running(string(e.Params.ID))
		defer r.stop()
		if r.headers != nil {
			return nil
		}
	}
	resp, err := s.do(ctx, http.MethodPost, message, "", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *Streamable) running(id string) running {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.streams[id]
	if !ok {
		r.stop = func() {}
	}
	return r
}

// request sends a request and reads its answer.
func (s *Streamable) request(id string, body []byte, own map[string]string) {
	ctx, stop := context.WithCancel(s.life)
	defer stop()
	s.mu.Lock()
	s.streams[id] = running{stop, own}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.streams, id)
		s.mu.Unlock()
	}()
	if err := s.exchange(ctx, id, body, own); err != nil && ctx.Err() == nil {
		s.put(nil, &jsonrpc.Lost{ID: json.RawMessage(id), Why: err.Error(), Err: err})
	}
}

func (s *Streamable) exchange(ctx context.Context, id string, body []byte, own map[string]string) error {
	resp, err := s.do(ctx, http.MethodPost, body, "", own)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if own == nil {
		s.remember(resp)
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "application/json":
		data, err := readMessage(resp.Body)
		if err != nil {
			return err
		}
		if data = bytes.TrimSpace(data); len(data) == 0 {
			return errors.New("the server answered with nothing")
		}
		s.put(data, nil)
		return unanswered(resp, data, id)
	case "text/event-stream":
		return s.follow(ctx, id, resp.Body, own == nil)
	default:
		return fmt.Errorf("the server answered with content of the type %q", kind)
	}
}

// unanswered is why a body is not the answer to the request that it came for; nil if it may be.
func unanswered(resp *http.Response, data []byte, id string) error {
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error *jsonrpc.Error  `json:"error"`
	}
	if data[0] == '[' {
		return nil
	}
	switch err := json.Unmarshal(data, &m); {
	case err != nil:
		return errors.New("the server's answer is no JSON")
	case string(bytes.Trim(m.ID, `"`)) == id:
		return nil
	case m.Error != nil:
		return fmt.Errorf("the server answered with HTTP status %d: %w", resp.StatusCode, m.Error)
	}
	return errors.New("the server answered to another request")
}

func (s *Streamable) remember(resp *http.Response) {
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && len(id) <= 1024 {
		s.mu.Lock()
		s.session = id
		s.mu.Unlock()
	}
}

func readMessage(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, jsonrpc.MaxMessage+1))
	if err == nil && len(data) > jsonrpc.MaxMessage {
		err = fmt.Errorf("the server sent a message of more than %d MB", jsonrpc.MaxMessage>>20)
	}
	return data, err
}

const maxResumes = 5 // of one stream without a message between

// follow reads a stream until the answer to a request has come, and resumes one that breaks off.
func (s *Streamable) follow(ctx context.Context, id string, body io.Reader, resumes bool) error {
	last, wait := "", time.Second
	for try := 0; ; try++ {
		answered := false
		err := events(body, func(e sse) bool {
			if e.id != "" {
				last = e.id
			}
			if e.retry > 0 {
				wait = e.retry
			}
			if len(e.data) == 0 {
				return true
			}
			try = 0
			s.put(e.data, nil)
			var m envelope
			answered = json.Unmarshal(e.data, &m) == nil && m.Method == "" && string(m.ID) == id
			return !answered
		})
		switch {
		case answered:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case last == "" || try >= maxResumes || !resumes:
			return errors.Join(errors.New("the server's stream ended before the answer"), err)
		}
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
		resp, err := s.do(ctx, http.MethodGet, nil, last, nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body = resp.Body
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(min(d, time.Minute))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// listen reads the stream of what the server says by itself, if it has one.
func (s *Streamable) listen() {
	last, wait := "", time.Second
	for s.life.Err() == nil {
		resp, err := s.do(s.life, http.MethodGet, nil, last, nil)
		if err != nil {
			return // most servers have none
		}
		if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
			resp.Body.Close()
			return
		}
		got := false
		_ = events(resp.Body, func(e sse) bool {
			if e.id != "" {
				last = e.id
			}
			if len(e.data) > 0 {
				got = true
				s.put(e.data, nil)
			}
			return true
		}) // a stream that breaks off is opened again
		resp.Body.Close()
		if wait *= 2; got {
			wait = time.Second
		}
		if wait > time.Minute || !sleep(s.life, wait) {
			return
		}
	}
}

// do sends one HTTP request, with fresh headers where the server refuses the first ones. own are headers of a request
// that is by itself.
func (s *Streamable) do(ctx context.Context, method string, body []byte, last string, own map[string]string) (
	*http.Response, error,
) {
	s.mu.Lock()
	session, version := s.session, s.version
	s.mu.Unlock()
	if own != nil {
		session, version = "", ""
	}
	resp, err := s.o.send(ctx, method, s.o.URL, body, func(h http.Header) {
		h.Set("Accept", "application/json, text/event-stream")
		if method == http.MethodGet {
			h.Set("Accept", "text/event-stream")
		}
		for name, value := range map[string]string{
			"Mcp-Session-Id": session, "MCP-Protocol-Version": version,
			"Last-Event-ID": last,
		} {
			if value != "" {
				h.Set(name, value)
			}
		}
		for name, value := range own {
			h.Set(name, value)
		}
	})
	if own != nil && err == nil && answersError(resp) {
		return resp, nil
	}
	if err == nil && resp.StatusCode == http.StatusNotFound && session != "" {
		resp.Body.Close()
		err = errors.New("the server ended the session; the next call begins another")
		s.end(err)
		return nil, err
	}
	return checked(resp, err)
}

// Close ends the session at the server.
func (s *Streamable) Close() error {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	s.stop()
	if session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if resp, err := s.do(ctx, http.MethodDelete, nil, "", nil); err == nil { // a server need not offer it
			resp.Body.Close()
		}
	}
	s.o.Client.CloseIdleConnections()
	return nil
}
