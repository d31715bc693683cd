package boundary

import (
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// ownProxy passes the connections of commands to proxies of the user's on this machine, by protocol; 0: there is none.
type ownProxy struct{ http, socks int }

// serve ends when the listener is closed, with its connections.
func (o ownProxy) serve(l net.Listener) {
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	defer func() {
		mu.Lock()
		defer mu.Unlock()
		for c := range open {
			c.Close()
		}
	}()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		mu.Lock()
		open[c] = true
		mu.Unlock()
		go func() {
			o.pass(c)
			mu.Lock()
			defer mu.Unlock()
			delete(open, c)
		}()
	}
}

// pass joins one connection with the proxy of its protocol: SOCKS 5 begins with the byte 5, SOCKS 4 with 4, HTTP with a
// letter.
func (o ownProxy) pass(c net.Conn) {
	defer c.Close()
	first := make([]byte, 1)
	const patience, drain = 30 * time.Second, time.Second
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(c, first); err != nil {
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	port := o.http
	if first[0] < ' ' {
		port = o.socks
	}
	if port == 0 {
		return
	}
	to, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), patience)
	if err != nil {
		if port == o.http {
			_, _ = io.WriteString(c, "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\nConnection: "+
				"close\r\n\r\nlathe: the proxy of sandbox.network.httpProxyPort does not answer\n")
		}
		return
	}
	defer to.Close()
	if _, err := to.Write(first); err != nil {
		return
	}
	pass := func(dst, src net.Conn) {
		if join(dst, src) != nil { // the other way ends too, when what is under way has arrived
			end := time.Now().Add(drain)
			_ = errors.Join(c.SetDeadline(end), to.SetDeadline(end)) // one that is closed needs none
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass(to, c)
	}()
	pass(c, to)
	<-done
}

// join copies until the end, and passes the end on.
func join(to, from net.Conn) error {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		err = errors.Join(err, half.CloseWrite())
	}
	return err
}
