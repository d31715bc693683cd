package llmtest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// socket is one WebSocket connection of a client of the Responses API.
type socket struct {
	s    *Server
	r    *http.Request // the handshake
	conn net.Conn
	in   *bufio.Reader
	n    int // messages so far
	last socketState

	mu sync.Mutex // of writing
}

// DropSockets ends all WebSocket connections, with a code (1001: going away) or, with 0, without a word.
func (s *Server) DropSockets(code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sockets {
		k.end(code)
	}
}

// serveSocket answers a handshake, and then the messages on the connection, one after the other.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	if bad := s.refuseSocket(r); bad != nil {
		p := failed(responsesWire{}, bad, 0)
		if bad.status < 0 {
			p.first = -1
		}
		_, _, _ = p.play(w, r)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = conn.Close() }()
	k := &socket{s: s, r: r, conn: conn, in: rw.Reader}
	head := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Request-Id: " +
		"req_socket\r\nSec-WebSocket-Accept: " +
		socketAccept(r.Header.Get("Sec-WebSocket-Key")) + "\r\n\r\n"
	s.mu.Lock()
	s.sockets[k] = true // before the client knows of it
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.sockets, k)
		s.mu.Unlock()
	}()
	if k.write([]byte(head)) {
		k.serve()
	}
}

// refuseSocket returns why a handshake fails, or nil.
func (s *Server) refuseSocket(r *http.Request) *refusal {
	s.mu.Lock()
	s.handshakes++
	s.mu.Unlock()
	key := responsesWire{}.key(r.Header)
	switch {
	case s.opts.SocketStatus != 0:
		return &refusal{status: s.opts.SocketStatus, message: "no WebSocket here"}
	case key == "" && !s.opts.NoKey, key != "" && s.opts.Key != "" && key != s.opts.Key:
		return &refusal{status: http.StatusUnauthorized, message: "invalid API key"}
	}
	return nil
}

// SendSockets sends a message on all WebSockets, which belongs to no request.
func (s *Server) SendSockets(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sockets {
		k.write(socketFrame(opText, []byte(text)))
	}
}

// Sockets is the number of open WebSockets.
func (s *Server) Sockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// Handshakes is the number of requests for a WebSocket.
func (s *Server) Handshakes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handshakes
}

// serve reads messages in the background, so that a client that leaves is noticed, and answers them.
func (k *socket) serve() {
	ctx, leave := context.WithCancel(k.r.Context())
	stop := context.AfterFunc(ctx, func() { _ = k.conn.Close() })
	messages := make(chan []byte)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(messages)
		defer leave()
		for {
			message, err := readMessage(k.in, k.s.opts.MaxBody, k.control)
			if errors.Is(err, errSocketTooBig) {
				k.end(closeTooBig)
			}
			if err != nil {
				return
			}
			select {
			case messages <- message:
			case <-ctx.Done():
				return
			}
		}
	})
	for message := range messages {
		if !k.answer(ctx, message) {
			break
		}
	}
	leave()
	stop()
	_ = k.conn.Close()
	reading.Wait()
}

// control answers frames between messages.
func (k *socket) control(op byte, payload []byte) {
	switch op {
	case opPing:
		k.s.mu.Lock()
		k.s.pings++
		k.s.mu.Unlock()
		k.write(socketFrame(opPong, payload))
	case opPong:
		k.s.mu.Lock()
		k.s.pongs++
		k.s.mu.Unlock()
	case opClose:
		k.write(socketFrame(opClose, payload))
	}
}

// Pings is the number of pings that came over WebSockets.
func (s *Server) Pings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pings
}

// Pongs is the number of answers to the server's own pings.
func (s *Server) Pongs() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pongs
}

func (k *socket) write(b []byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, err := k.conn.Write(b)
	return err == nil
}

// Write implements io.Writer beside the frames that the reader answers with.
func (k *socket) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conn.Write(b)
}

// end says goodbye with a code, or with 0 nothing, and closes the connection.
func (k *socket) end(code int) {
	if code != 0 {
		k.write(closeFrame(code, "as the test says"))
	}
	_ = k.conn.Close()
}

// answer answers one message. It returns false when the connection is over.
func (k *socket) answer(ctx context.Context, message []byte) bool {
	k.n++
	number, _ := k.r.Context().Value(connKey{}).(int)
	rec := &Request{
		Time: time.Now(), Conn: number, Socket: k.n, Method: k.r.Method, Path: k.r.URL.RequestURI(),
		Header: withoutSecrets(k.r.Header), Message: message, Bytes: len(message), Reply: -3,
	}
	w := &socketWire{}
	var bad *refusal
	rec.Body, bad = w.expand(message, k.last)
	k.s.log.begin(rec)
	var p *performance
	if bad != nil {
		k.s.log.update(func() { rec.Refused = bad.message })
		p = failed(w, bad, rec.N)
	} else {
		p = k.s.answerBy(w, false, k.r, rec.Body, nil, rec)
	}
	p.onSocket()
	sent, gone := 0, !sleep(ctx, p.first)
	if !gone && !p.bare {
		sent, gone = p.send(ctx, k, func() error { return nil })
	}
	over := gone || p.bare || p.end != "" || p.fault == "end"
	k.last = w.state()
	if p.fault == "error" {
		k.last = socketState{}
	}
	k.s.log.end(rec, func() {
		rec.Sent, rec.Gone, rec.Fault, rec.Status = sent, gone, p.fault, p.status
		if p.bare {
			rec.Status = 0
		}
	})
	if over && !gone {
		cutSocket(k, p)
	}
	return !over
}

// cutSocket ends a connection as a fault says.
func cutSocket(k *socket, p *performance) {
	if tcp, ok := k.conn.(*net.TCPConn); ok && p.end == "reset" {
		_ = tcp.SetLinger(0)
	}
	k.end(p.code)
}
