package netproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// connect decides on a target and connects to it. The connection is recorded when it is closed.
func (p *Proxy) connect(ctx context.Context, t Target, protocol, program string) (net.Conn, error) {
	start := time.Now()
	note := Connection{Host: t.Host, Port: t.Port, Protocol: protocol, Program: program}
	v := p.decide(ctx, t, program)
	if !v.Allowed {
		err := &RefusedError{t, v.Reason}
		p.refuse(note, v.Reason)
		return nil, err
	}
	note.Allowed, note.Reason = true, v.Reason
	out, addr, err := p.reach(ctx, t)
	if err != nil {
		if refused, ok := errors.AsType[*RefusedError](err); ok {
			p.refuse(note, refused.Reason)
			return nil, err
		}
		note.Reason = err.Error()
		p.record(note)
		return nil, err
	}
	note.Address = addr.String()
	c := &outConn{Conn: out, p: p, note: note, start: start}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		out.Close()
		return nil, net.ErrClosed
	}
	p.open[c] = struct{}{}
	p.wait.Add(1)
	return c, nil
}

// decide judges a target by patterns, else by asking.
func (p *Proxy) decide(ctx context.Context, t Target, program string) Verdict {
	if pattern, ok := find(p.c.Rules.Deny, t); ok {
		return Verdict{Reason: fmt.Sprintf("the settings deny it (%s)", pattern)}
	}
	if pattern, ok := find(p.c.Rules.Allow, t); ok {
		return Verdict{true, fmt.Sprintf("the settings allow it (%s)", pattern)}
	}
	if t.Addr.IsValid() { // no answer opens a private address
		if err, ok := errors.AsType[*RefusedError](p.c.Rules.mayDial(t, t.Addr)); ok {
			return Verdict{Reason: err.Reason}
		}
	}
	if p.c.Ask == nil {
		return Verdict{Reason: "the host is not among those that are allowed"}
	}
	return p.ask(ctx, t, program)
}

// ask asks once for each host, however many clients wait.
func (p *Proxy) ask(ctx context.Context, t Target, program string) Verdict {
	p.mu.Lock()
	a, open := p.asked[t.Host]
	if !open && len(p.asked) >= p.c.Limits.Questions { // a command must not wear its user out
		p.mu.Unlock()
		return Verdict{Reason: "the command asked for too many hosts"}
	}
	if !open {
		a = &answer{done: make(chan struct{})}
		p.asked[t.Host] = a
		go func() {
			defer close(a.done)
			a.verdict = p.c.Ask(p.ctx, Request{t, program})
		}()
	}
	p.mu.Unlock()
	select {
	case <-a.done:
		return a.verdict
	case <-ctx.Done():
	case <-p.ctx.Done():
	}
	return Verdict{Reason: "nobody answered in time"}
}

// reach resolves a target once and dials the first address that may be dialled and answers.
func (p *Proxy) reach(ctx context.Context, t Target) (net.Conn, netip.AddrPort, error) {
	addrs := []netip.Addr{t.Addr}
	if !t.Addr.IsValid() {
		var err error
		name := t.Host
		if strings.Contains(name, ".") { // the dot at the end keeps search domains out
			name += "."
		}
		if addrs, err = p.c.Resolve(ctx, name); err != nil {
			return nil, netip.AddrPort{}, fmt.Errorf("the name %s could not be resolved: %w", t.Host, err)
		}
	}
	err := fmt.Errorf("the name %s has no address", t.Host)
	for _, addr := range addrs {
		addr = addr.WithZone("").Unmap()
		if rerr := p.c.Rules.mayDial(t, addr); rerr != nil {
			err = rerr
			continue
		}
		at := netip.AddrPortFrom(addr, t.Port)
		c, derr := p.c.Dial(ctx, at)
		if derr == nil {
			return c, at, nil
		}
		err = fmt.Errorf("%s does not answer: %w", at, derr)
	}
	return nil, netip.AddrPort{}, err
}

// refuse records a refusal.
func (p *Proxy) refuse(note Connection, reason string) {
	note.Allowed, note.Reason = false, reason
	p.mu.Lock()
	known := false
	for _, r := range p.refused {
		known = known || r.Host == note.Host && r.Port == note.Port
	}
	if !known && len(p.refused) < 100 {
		p.refused = append(p.refused, note)
	}
	p.mu.Unlock()
	p.record(note)
}

func (p *Proxy) record(note Connection) {
	if p.c.Record != nil {
		p.c.Record(note)
	}
}

func (p *Proxy) program(client net.Addr) string {
	if p.c.Program == nil {
		return ""
	}
	at, err := netip.ParseAddrPort(client.String())
	if err != nil {
		return ""
	}
	return p.c.Program(netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
}

// outConn is a connection to a target.
type outConn struct {
	net.Conn
	p        *Proxy
	note     Connection
	start    time.Time
	sent     atomic.Int64
	received atomic.Int64
	once     sync.Once
}

func (c *outConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	return n, err
}

func (c *outConn) Write(b []byte) (int, error) {
	c.sent.Add(int64(len(b))) // before: the answer may end the connection at once
	n, err := c.Conn.Write(b)
	c.sent.Add(int64(n - len(b)))
	return n, err
}

func (c *outConn) CloseWrite() error {
	if t, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return t.CloseWrite()
	}
	return nil
}

func (c *outConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.note.Sent, c.note.Received, c.note.Duration = c.sent.Load(), c.received.Load(), time.Since(c.start)
		c.p.record(c.note)
		go c.p.closed(c) // Close holds the lock while it closes all
	})
	return err
}

func (p *Proxy) closed(c net.Conn) {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	p.wait.Done()
}

// halfConn is a connection whose halves end separately.
type halfConn interface {
	net.Conn
	CloseWrite() error
}

// pipe copies both ways until both ends are closed, or neither has sent anything for the idle limit.
func (p *Proxy) pipe(a, b halfConn) {
	var both sync.WaitGroup
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	one := func(to, from halfConn) {
		defer both.Done()
		if !p.copyHalf(to, from, &last) {
			a.Close()
			b.Close()
			return
		}
		_ = to.CloseWrite()
	}
	both.Add(2)
	go one(a, b)
	go one(b, a)
	both.Wait()
	a.Close()
	b.Close()
}

// copyHalf copies to the end of one direction; false means that the connection is over.
func (p *Proxy) copyHalf(to, from net.Conn, last *atomic.Int64) bool {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		_ = from.SetReadDeadline(time.Now().Add(p.c.Limits.Idle))
		n, err := from.Read(*buf)
		if n > 0 {
			last.Store(time.Now().UnixNano())
			_ = to.SetWriteDeadline(time.Now().Add(p.c.Limits.Idle))
			if _, werr := to.Write((*buf)[:n]); werr != nil {
				return false
			}
		}
		var timeout net.Error
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return true
		case errors.As(err, &timeout) && timeout.Timeout() && time.Since(time.Unix(0, last.Load())) < p.c.Limits.Idle:
			// the other direction is busy
		default:
			return false
		}
	}
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}
