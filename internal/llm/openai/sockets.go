package openai

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// Limits of WebSockets. OpenAI closes each after 60 minutes.
const (
	mostSockets    = 16               // of a provider, busy or not; requests beyond them go over HTTP
	socketAge      = 55 * time.Minute // after which one is not used again
	socketIdle     = 10 * time.Minute // unused, after which one is closed
	socketBeat     = 25 * time.Second // between pings
	socketPong     = 15 * time.Second // wait for the answer to one
	socketDial     = 15 * time.Second // for the handshake
	socketPause    = 5 * time.Minute  // over HTTP after a refused handshake, or too many breaks
	socketBreaks   = 3                // in a row
	mostUnreadSize = 16 << 20         // bytes of events that the reader of a reply has not taken yet
)

// sockets are the WebSockets of a provider, one for each conversation that is under way. A conversation finds its own
// by its beginning: the one whose last response, and all that led to it, is what the conversation begins with. So two
// conversations, or two branches of one, never share one at the same time.
type sockets struct {
	clock llm.Clock
	most  int // breaks in a row; negative: any number

	mu     sync.Mutex
	idle   []*socketConn // least recently used first
	open   int           // busy and idle
	broken int           // connections in a row that broke off
	until  time.Time     // over HTTP until then
}

func newSockets(clock llm.Clock, breaks int) *sockets {
	if clock == nil {
		clock = llm.SystemClock
	}
	if breaks == 0 {
		breaks = socketBreaks
	}
	return &sockets{clock: clock, most: breaks}
}

// socketChain is what the server keeps of a conversation on a connection.
type socketChain struct {
	response string   // id of the latest one
	model    string   // that made it
	items    [][]byte // of the request and of the response, as the next request has them
}

// begins returns how many items of a request the server has, or 0 when the request does not go on from there.
func (c *socketChain) begins(model string, items [][]byte) int {
	n := len(c.items)
	if c.model != model || len(items) <= n {
		return 0
	}
	for i := range c.items {
		if !bytes.Equal(c.items[i], items[i]) {
			return 0
		}
	}
	return n
}

// take returns the idle connection of a conversation, with the number of items that it has; or nil, and then ok says
// whether a new one may be opened, which counts from now on.
func (s *sockets) take(url string, header http.Header, q *responsesRequest, model string, fresh bool) (
	conn *socketConn, from int, ok bool,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if now.Before(s.until) {
		return nil, 0, false
	}
	for _, c := range s.idle {
		if n := c.chain.begins(model, q.items); n > from && c.url == url {
			conn, from = c, n
		}
	}
	if conn != nil {
		s.remove(conn)
		if !fresh && now.Sub(conn.began) < socketAge && maps.EqualFunc(conn.header, header, slices.Equal) {
			return conn, from, true
		}
		s.shut(conn) // too old, or of another key: another takes its place
	}
	if s.open >= mostSockets && len(s.idle) > 0 {
		oldest := s.idle[0]
		s.remove(oldest)
		s.shut(oldest)
	}
	if s.open >= mostSockets {
		return nil, 0, false
	}
	s.open++
	return nil, 0, true
}

// remove takes a connection out of the idle ones; s.mu is held.
func (s *sockets) remove(c *socketConn) bool {
	i := slices.Index(s.idle, c)
	if i < 0 {
		return false
	}
	s.idle = slices.Delete(s.idle, i, i+1)
	return true
}

// shut closes a connection that is not idle; s.mu is held.
func (s *sockets) shut(c *socketConn) {
	s.open--
	go c.close()
}

// put gives a connection back after a complete reply.
func (s *sockets) put(c *socketConn, chain *socketChain) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = 0
	if c.gone() {
		s.shut(c)
		return
	}
	c.chain, c.since = *chain, s.clock.Now()
	s.idle = append(s.idle, c)
}

// drop closes a busy connection; broke: it did not work.
func (s *sockets) drop(c *socketConn, broke bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut(c)
	if !broke {
		return
	}
	if s.broken++; s.most > 0 && s.broken >= s.most {
		s.broken, s.until = 0, s.clock.Now().Add(socketPause)
	}
}

// refused notes that a connection could not be opened.
func (s *sockets) refused(pause bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; pause {
		s.until = s.clock.Now().Add(socketPause)
	}
}

// forget closes a connection if it is idle, and has been so for a while or is gone.
func (s *sockets) forget(c *socketConn, gone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if gone || s.clock.Now().Sub(c.since) >= socketIdle {
		if s.remove(c) {
			s.shut(c)
		}
	}
}
