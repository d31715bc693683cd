// Package netproxy is the way out of the sandbox's network: a proxy that connects confined commands with the hosts that
// the user allows.
//
// The words: a [Target] is the host and port that a client names; [Rules] are the patterns of the settings; a [Request]
// is a target that no pattern covers, with the program that wants it; a [Verdict] is the answer; a [Connection] is one
// line of the record.
//
// It speaks HTTP (CONNECT and plain requests) and SOCKS5 (the command connect) on the same port, and nothing else: no
// UDP.
//
// Promises:
//
//   - Nothing is allowed unless a pattern or a verdict says so; a pattern that denies wins over all.
//   - A name is checked and put into one form before it is matched. Spellings that programs read in different ways are
//     refused.
//   - A name is resolved once. Each address is checked, and a checked address is dialled. Addresses of this machine, of
//     its networks and of clouds' metadata services are refused, also behind an allowed name, unless a pattern names
//     the address.
//   - The target is what the request line (or the SOCKS request) names. The proxy does not look into encrypted
//     connections, so the name in TLS (SNI) and the Host header inside may be others: an allowed host that serves
//     others' data is a way out.
//   - Headers, handshakes, silence and the number of connections are limited.
//   - Every connection and every refusal is recorded, once.
package netproxy

import (
	"bufio"
	"cmp"
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Config configures a Proxy.
type Config struct {
	Rules Rules
	// Ask decides on a target that no pattern covers. It may wait for a person; its context ends with the proxy. It is
	// called once for each host. Nil: such targets are refused.
	Ask func(context.Context, Request) Verdict
	// Record takes each connection when it has ended, and each refusal. It is called from several goroutines. Nil: no
	// record.
	Record func(Connection)
	// Program names the program behind a client's address, "" if that is unknown. Nil: always unknown.
	Program func(client netip.AddrPort) string
	// Resolve returns the addresses of a name; one of several labels ends with a dot. Nil: the system's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to an address that was checked. Nil: TCP with a limit of 30 seconds.
	Dial func(context.Context, netip.AddrPort) (net.Conn, error)
	// Limits; zero values are the defaults.
	Limits Limits
}

// Limits bound what one command can make the proxy do.
type Limits struct {
	Handshake  time.Duration // for a request's header or a SOCKS handshake; 10 s
	Idle       time.Duration // of silence in a connection; 10 min
	Concurrent int           // connections at a time, more wait; 256
	Total      int           // connections, more are refused; 20,000
	Questions  int           // calls of Ask, other hosts are refused; 20
	Header     int           // bytes; 32 KiB
}

// Request is a target that a person may allow.
type Request struct {
	Target  Target
	Program string // the program that wants to connect, as far as known; written by the confined command, so escape it
}

// Verdict is the answer to a Request.
type Verdict struct {
	Allowed bool
	Reason  string // who allowed it, or why it is refused
}

// Connection is the record of a connection that was made or refused.
type Connection struct {
	Host     string        `json:"host"`
	Port     uint16        `json:"port"`
	Address  string        `json:"address,omitempty"` // the address that was dialled
	Protocol string        `json:"protocol"`          // connect, http or socks5
	Program  string        `json:"program,omitempty"`
	Allowed  bool          `json:"allowed"`
	Reason   string        `json:"reason,omitempty"` // who allowed it, or why it was refused or failed
	Sent     int64         `json:"sent,omitempty"`   // bytes from the command
	Received int64         `json:"received,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
}

// Proxy serves one command. Verdicts hold until its end.
type Proxy struct {
	c      Config
	ctx    context.Context
	cancel context.CancelFunc
	slots  chan struct{}
	wait   sync.WaitGroup

	mu      sync.Mutex
	asked   map[string]*answer // by host
	open    map[net.Conn]struct{}
	total   int
	refused []Connection

	web     *http.Server
	webOnce sync.Once
	clients *clientListener
	reuse   *http.Transport
}

// answer is a verdict that may still be awaited.
type answer struct {
	done    chan struct{}
	verdict Verdict
}

// New makes a proxy. Close it.
func New(c Config) *Proxy {
	c.Limits.Handshake = cmp.Or(c.Limits.Handshake, 10*time.Second)
	c.Limits.Idle = cmp.Or(c.Limits.Idle, 10*time.Minute)
	c.Limits.Concurrent = cmp.Or(c.Limits.Concurrent, 256)
	c.Limits.Total = cmp.Or(c.Limits.Total, 20_000)
	c.Limits.Questions = cmp.Or(c.Limits.Questions, 20)
	c.Limits.Header = cmp.Or(c.Limits.Header, 32<<10)
	if c.Resolve == nil {
		c.Resolve = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		}
	}
	if c.Dial == nil {
		c.Dial = func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
			return (&net.Dialer{Timeout: 30 * time.Second}).DialContext(ctx, "tcp", a.String())
		}
	}
	p := &Proxy{c: c, asked: map[string]*answer{}, open: map[net.Conn]struct{}{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Serve accepts clients until the listener or the proxy is closed.
func (p *Proxy) Serve(l net.Listener) {
	p.slots = make(chan struct{}, p.c.Limits.Concurrent)
	stop := context.AfterFunc(p.ctx, func() { l.Close() })
	defer stop()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case p.slots <- struct{}{}:
		case <-p.ctx.Done():
			c.Close()
			return
		}
		if !p.enter(c) {
			c.Close()
			<-p.slots
			continue
		}
		go p.serve(c)
	}
}

// enter counts a client in.
func (p *Proxy) enter(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil || p.total >= p.c.Limits.Total {
		return false
	}
	p.total++
	p.open[c] = struct{}{}
	p.wait.Add(1)
	return true
}

func (p *Proxy) leave(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	<-p.slots
	p.wait.Done()
}

// serve tells the protocols apart by the first byte.
func (p *Proxy) serve(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(p.c.Limits.Handshake))
	first := bufio.NewReaderSize(c, 512)
	b, err := first.Peek(1)
	if err != nil {
		p.leave(c)
		return
	}
	client := &clientConn{Conn: c, r: first, done: func() { p.leave(c) }}
	if b[0] == socksVersion {
		defer client.Close()
		p.socks(client)
		return
	}
	_ = c.SetReadDeadline(time.Time{}) // net/http sets its own
	p.startWeb()
	if !p.clients.put(client) {
		client.Close()
	}
}

// Refused returns the refusals so far, one for each host.
func (p *Proxy) Refused() []Connection {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Connection(nil), p.refused...)
}

// Close ends all connections and waits until they are recorded.
func (p *Proxy) Close() {
	p.cancel()
	p.mu.Lock()
	all, web, reuse := slices.Collect(maps.Keys(p.open)), p.web, p.reuse
	p.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
	if web != nil {
		web.Close()
		reuse.CloseIdleConnections()
	}
	p.wait.Wait()
}

// clientConn is a client whose first bytes were read already.
type clientConn struct {
	net.Conn
	r    *bufio.Reader
	once sync.Once
	done func()
}

func (c *clientConn) Read(b []byte) (int, error) { return c.r.Read(b) }

func (c *clientConn) Close() error {
	c.once.Do(c.done)
	return nil
}

// CloseWrite ends our half, so that the client sees the end of the data.
func (c *clientConn) CloseWrite() error {
	if t, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return t.CloseWrite()
	}
	return nil
}
