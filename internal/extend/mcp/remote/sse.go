package remote

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// sse is one server-sent event.
type sse struct {
	kind, id string
	data     []byte
	retry    time.Duration
}

// events reads server-sent events until take returns false or the stream ends.
func events(r io.Reader, take func(sse) bool) error {
	in := bufio.NewReaderSize(r, 16<<10)
	var e sse
	var line []byte
	size := 0
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if size += len(part); size > jsonrpc.MaxMessage {
			return fmt.Errorf("the server sent an event of more than %d MB", jsonrpc.MaxMessage>>20)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if text := bytes.TrimRight(line, "\r\n"); len(text) > 0 {
			e.field(text)
		} else if len(line) > 0 {
			if (len(e.data) > 0 || e.id != "" || e.retry > 0) && !take(e) {
				return nil
			}
			e, size = sse{}, 0
		}
		line = line[:0]
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (e *sse) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	case "event":
		e.kind = string(value)
	case "id":
		e.id = string(value[:min(len(value), 1024)])
	case "retry":
		if ms, err := strconv.Atoi(string(value)); err == nil && ms > 0 {
			e.retry = time.Duration(ms) * time.Millisecond
		}
	}
}

// SSE is a transport of the older kind: a stream of events, and an address for messages that its first event names.
type SSE struct {
	*queue
	o Options

	ready chan struct{} // closed when post is set
	once  sync.Once
	post  string
}

// NewSSE opens the stream.
func NewSSE(ctx context.Context, o Options) (*SSE, error) {
	if o.Client == nil {
		o.Client = NewClient()
	}
	s := &SSE{queue: newQueue(), o: o, ready: make(chan struct{})}
	opened := make(chan error, 1)
	s.spawn(func() { s.read(opened) })
	select {
	case err := <-opened:
		if err != nil {
			s.stop()
			return nil, err
		}
	case <-ctx.Done():
		s.stop()
		return nil, context.Cause(ctx)
	}
	return s, nil
}

func (s *SSE) read(opened chan<- error) {
	resp, err := checked(s.o.send(s.life, http.MethodGet, s.o.URL, nil,
		func(h http.Header) { h.Set("Accept", "text/event-stream") }))
	if err == nil {
		if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "text/event-stream" {
			resp.Body.Close()
			err = fmt.Errorf("the server answered with content of the type %q, not with a stream of events", kind)
		}
	}
	opened <- err
	if err != nil {
		return
	}
	defer resp.Body.Close()
	err = events(resp.Body, func(e sse) bool {
		switch e.kind {
		case "endpoint":
			s.once.Do(func() { err = s.endpoint(string(e.data)) })
			return err == nil
		case "", "message":
			if len(e.data) > 0 {
				s.put(e.data, nil)
			}
		}
		return true
	})
	if err == nil {
		err = io.EOF
	}
	s.end(err)
}

// endpoint takes the address for messages, which must be at the same origin: it gets the credentials.
func (s *SSE) endpoint(text string) error {
	base, err := url.Parse(s.o.URL)
	if err != nil {
		return err
	}
	at, err := base.Parse(strings.TrimSpace(text))
	if err != nil || at.Scheme != base.Scheme || at.Host != base.Host {
		err = fmt.Errorf("the server names an address for messages at another origin: %.200q", text)
		s.end(err)
		return err
	}
	s.post = at.String()
	close(s.ready)
	return nil
}

// Send posts a message.
func (s *SSE) Send(ctx context.Context, message []byte) error {
	select {
	case <-s.ready:
	case <-s.life.Done():
		return context.Cause(s.life)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	resp, err := checked(s.o.send(ctx, http.MethodPost, s.post, message, func(http.Header) {}))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// Close ends the stream.
func (s *SSE) Close() error {
	s.stop()
	s.o.Client.CloseIdleConnections()
	return nil
}
