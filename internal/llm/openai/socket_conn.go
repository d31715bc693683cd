package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/lathe-dev/lathe/internal/llm"
)

// socketConn is one WebSocket. It reads all the time, so that pings are answered and an end is noticed also between two
// requests.
type socketConn struct {
	pool   *sockets
	ws     *websocket.Conn
	url    string
	header http.Header // of the handshake
	id     string      // of the handshake, for errors
	began  time.Time
	used   bool // a reply came over it

	chain socketChain // while it is idle; pool.mu
	since time.Time   // it is idle; pool.mu

	mu     sync.Mutex
	unread [][]byte // events; an empty one stands for a sign of life
	size   int
	full   bool  // reading waits for room
	err    error // after the last event
	news   chan struct{}
	room   chan struct{}
	beat   llm.Timer
}

// errNoSocket says that a request has to go over HTTP.
var errNoSocket = errors.New("no WebSocket can be opened")

// dial opens a connection over the client for HTTP, with its proxies and authorities.
func (s *sockets) dial(ctx context.Context, client *http.Client, url string, header http.Header) (*socketConn, error) {
	c := &socketConn{
		pool: s, url: url, header: header, began: s.clock.Now(), news: make(chan struct{}, 1),
		room: make(chan struct{}, 1),
	}
	try, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := s.clock.AfterFunc(socketDial, cancel)
	defer limit.Stop()
	whole := *client
	whole.Transport = noticesCuts{orDefault(client.Transport)}
	ws, resp, err := websocket.Dial(try, url, &websocket.DialOptions{
		HTTPClient: &whole, HTTPHeader: header,
		OnPingReceived: func(context.Context, []byte) bool { c.alive(); return true },
	})
	if err != nil {
		// Keys that were refused may be renewed by the same request over HTTP.
		s.refused(ctx.Err() == nil && (resp == nil || resp.StatusCode != http.StatusUnauthorized))
		return nil, fmt.Errorf("%w: %w", errNoSocket, err)
	}
	ws.SetReadLimit(llm.MaxEvent)
	c.ws, c.id = ws, resp.Header.Get("X-Request-Id")
	go c.read()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beat = s.clock.AfterFunc(socketBeat, c.ping)
	return c, nil
}

// noticesCuts has the end of a connection without a frame that closes it be an error. The library takes an end between
// two of its reads of a message for the end of that message.
type noticesCuts struct{ http.RoundTripper }

func orDefault(t http.RoundTripper) http.RoundTripper {
	if t == nil {
		return http.DefaultTransport
	}
	return t
}

// RoundTrip implements http.RoundTripper.
func (n noticesCuts) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if conn, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = cutConn{conn}
	}
	return resp, nil
}

type cutConn struct{ io.ReadWriteCloser }

// Read implements io.Reader.
func (c cutConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *socketConn) read() {
	for {
		_, event, err := c.ws.Read(context.Background()) // until close
		if errors.Is(err, websocket.ErrMessageTooBig) {
			err = &llm.EventTooLargeError{Limit: llm.MaxEvent}
		}
		c.mu.Lock()
		for err == nil && c.size > mostUnreadSize && c.err == nil {
			c.full = true
			c.mu.Unlock()
			<-c.room
			c.mu.Lock()
		}
		if c.err == nil {
			c.err = err
		}
		if err == nil {
			c.unread = append(c.unread, event)
			c.size += len(event)
		}
		gone := c.err != nil
		c.mu.Unlock()
		c.tell()
		if gone {
			_ = c.ws.CloseNow()
			c.pool.forget(c, true)
			return
		}
	}
}

// makeRoom lets reading go on, which looks for itself whether there is room; c.mu is held.
func (c *socketConn) makeRoom() {
	if c.full {
		c.full = false
		c.room <- struct{}{}
	}
}

func (c *socketConn) tell() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// alive notes a sign of life of the server.
func (c *socketConn) alive() {
	c.mu.Lock()
	if n := len(c.unread); n == 0 || c.unread[n-1] != nil {
		c.unread = append(c.unread, nil)
	}
	c.mu.Unlock()
	c.tell()
}

// receive returns the next event, or nil for a sign of life.
func (c *socketConn) receive(ctx context.Context) ([]byte, error) {
	for {
		c.mu.Lock()
		if len(c.unread) > 0 {
			event := c.unread[0]
			c.unread = c.unread[1:]
			c.size -= len(event)
			c.makeRoom()
			c.mu.Unlock()
			return event, nil
		}
		err := c.err
		c.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-c.news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// send sends a message, after which events belong to its reply.
func (c *socketConn) send(ctx context.Context, message []byte) error {
	c.mu.Lock()
	c.unread, c.size = nil, 0
	c.makeRoom()
	c.mu.Unlock()
	return c.ws.Write(ctx, websocket.MessageText, message)
}

func (c *socketConn) gone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err != nil
}

// ping notices a dead peer, and closes a connection that nobody used for long.
func (c *socketConn) ping() {
	c.pool.forget(c, false)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	limit := c.pool.clock.AfterFunc(socketPong, cancel)
	defer limit.Stop()
	if c.gone() || c.ws.Ping(ctx) != nil {
		_ = c.ws.CloseNow() // the reader notices
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.beat.Reset(socketBeat)
	}
}

// close ends the connection at once, which also ends a reply that is being made.
func (c *socketConn) close() {
	c.mu.Lock()
	if c.err == nil {
		c.err = io.ErrClosedPipe
	}
	c.beat.Stop()
	c.makeRoom()
	c.mu.Unlock()
	_ = c.ws.CloseNow()
}
