package netproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// startWeb starts the HTTP side, with the first client that speaks HTTP.
func (p *Proxy) startWeb() {
	p.webOnce.Do(func() {
		clients := &clientListener{conns: make(chan net.Conn), closed: p.ctx.Done()}
		reuse := &http.Transport{
			DialContext:            p.dialPlain,
			MaxIdleConnsPerHost:    4,
			IdleConnTimeout:        30 * time.Second,
			ResponseHeaderTimeout:  p.c.Limits.Idle,
			MaxResponseHeaderBytes: 1 << 20,
			DisableCompression:     true,
		}
		web := &http.Server{
			Handler:           http.HandlerFunc(p.handle),
			ReadHeaderTimeout: p.c.Limits.Handshake,
			IdleTimeout:       p.c.Limits.Idle,
			MaxHeaderBytes:    p.c.Limits.Header,
			ErrorLog:          log.New(io.Discard, "", 0),
			ConnContext: func(ctx context.Context, c net.Conn) context.Context {
				return context.WithValue(ctx, clientKey{}, &clientInfo{addr: c.RemoteAddr()})
			},
		}
		p.mu.Lock()
		p.clients, p.reuse, p.web = clients, reuse, web
		p.mu.Unlock()
		go func() { _ = web.Serve(clients) }()
	})
}

type clientKey struct{}

// clientInfo is the client of a request.
type clientInfo struct{ addr net.Addr }

// handle serves one request: a tunnel, or a plain request with an absolute address.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" || r.URL.Host == "" || r.URL.User != nil {
		http.Error(w, "lathe: this is the sandbox's proxy: it takes CONNECT, and requests with an address that begins "+
			"with http://", http.StatusBadRequest)
		return
	}
	t, err := ParseTarget(r.URL.Host, 80)
	if err != nil {
		p.failed(w, r, t, err)
		return
	}
	plain := &httputil.ReverseProxy{
		Transport: p.reuse,
		ErrorLog:  log.New(io.Discard, "", 0),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.Out.URL.Host = t.String()
			out.Out.Host = out.In.URL.Host // never the client's Host header
			out.Out.Header.Del("Proxy-Authorization")
			out.Out.Header.Del("Proxy-Connection")
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) { p.failed(w, r, t, err) },
	}
	plain.ServeHTTP(w, r)
}

// dialPlain connects for plain requests. The address is host:port as handle wrote it.
func (p *Proxy) dialPlain(ctx context.Context, _, address string) (net.Conn, error) {
	t, err := ParseTarget(address, 0)
	if err != nil {
		return nil, err
	}
	program := ""
	if info, ok := ctx.Value(clientKey{}).(*clientInfo); ok {
		program = p.program(info.addr)
	}
	return p.connect(ctx, t, "http", program)
}

// tunnel serves CONNECT.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	t, err := ParseTarget(r.RequestURI, 0)
	if err != nil {
		p.failed(w, r, t, err)
		return
	}
	info, _ := r.Context().Value(clientKey{}).(*clientInfo)
	out, err := p.connect(r.Context(), t, "connect", p.program(info.addr))
	if err != nil {
		p.failed(w, r, t, err)
		return
	}
	defer out.Close()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "lathe: "+err.Error(), http.StatusInternalServerError)
		return
	}
	defer client.Close()
	if _, err := client.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
		return
	}
	if n := buffered.Reader.Buffered(); n > 0 { // sent before the answer
		early, _ := buffered.Reader.Peek(n)
		if _, err := out.Write(early); err != nil {
			return
		}
	}
	inner, ok := client.(halfConn)
	outer, both := out.(halfConn)
	if ok && both {
		p.pipe(inner, outer)
	}
}

// failed answers a request that was refused or could not be connected.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, t Target, err error) {
	status := http.StatusBadGateway
	if _, refused := errors.AsType[*RefusedError](err); refused {
		status = http.StatusForbidden
		w.Header().Set("X-Proxy-Error", "blocked-by-allowlist")
	} else if t.Host == "" {
		status = http.StatusBadRequest
		p.refuse(Connection{Host: clip(r.Host), Protocol: "http"}, err.Error())
	}
	w.Header().Set("Connection", "close")
	http.Error(w, fmt.Sprintf("lathe: %v", err), status)
}

// clip shortens a host that could not be read.
func clip(s string) string { return s[:min(len(s), 253)] }

// clientListener hands HTTP clients to net/http.
type clientListener struct {
	conns  chan net.Conn
	closed <-chan struct{}
}

func (l *clientListener) put(c net.Conn) bool {
	select {
	case l.conns <- c:
		return true
	case <-l.closed:
		return false
	}
}

func (l *clientListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (*clientListener) Close() error   { return nil }
func (*clientListener) Addr() net.Addr { return &net.TCPAddr{} }
