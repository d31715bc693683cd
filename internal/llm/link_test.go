package llm_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/llm"
)

// link is a way to a server with a round trip of 50 ms. With slow set it sends at first, and again after 300 ms without
// data, ten segments for each round trip, and twice as many after each, as Linux does.
type link struct {
	slow bool
	rate float64 // bytes a second to the server; 0: any number
}

const oneWay = 25 * time.Millisecond

// serve passes connections on to an address, and returns its own.
func (l link) serve(b *testing.B, to string) string {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				return
			}
			go l.pass(s, c)
			go link{}.pass(c, s)
		}
	}()
	return ln.Addr().String()
}

type segment struct {
	arrives time.Time
	data    []byte
}

func (l link) pass(to, from net.Conn) {
	way := make(chan segment, 100_000)
	go func() {
		for s := range way {
			time.Sleep(time.Until(s.arrives))
			if _, err := to.Write(s.data); err != nil {
				break
			}
		}
		_ = to.Close()
	}()
	defer close(way)
	w, buf := window{size: 14_600}, make([]byte, 1460)
	var free time.Time
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if l.slow {
			w.wait(n)
		}
		at := time.Now()
		if l.rate > 0 {
			if free.Before(at) {
				free = at
			}
			free = free.Add(time.Duration(float64(n) / l.rate * 1e9))
			at = free
		}
		w.sent(at.Add(2*oneWay), n)
		way <- segment{at.Add(oneWay), bytes.Clone(buf[:n])}
	}
}

// window is how much may be on its way.
type window struct {
	size, used int
	acks       []struct {
		at time.Time
		n  int
	}
	last time.Time
}

func (w *window) wait(n int) {
	if time.Since(w.last) > 300*time.Millisecond {
		w.size = 14_600
	}
	for {
		for now := time.Now(); len(w.acks) > 0 && !w.acks[0].at.After(now); w.acks = w.acks[1:] {
			w.used -= w.acks[0].n
			w.size += w.acks[0].n
		}
		if w.used+n <= w.size {
			return
		}
		time.Sleep(time.Until(w.acks[0].at))
	}
}

func (w *window) sent(ack time.Time, n int) {
	w.used += n
	w.last = time.Now()
	w.acks = append(w.acks, struct {
		at time.Time
		n  int
	}{ack, n})
}

// BenchmarkLink measures what 100 steps, whose input grows by 5 kB to 500 kB, cost on the way to a server, with pauses
// of 400 ms for tools: sent whole over HTTP/2 as lathe does, and only what is new over one connection, as a WebSocket
// could.
func BenchmarkLink(b *testing.B) {
	if os.Getenv("LATHE_BENCH_LINK") == "" {
		b.Skip("it takes seven minutes: set LATHE_BENCH_LINK=1")
	}
	const steps, grow = 100, 5000
	for name, l := range map[string]link{"delay": {}, "slow-start": {slow: true}, "slow-start-20-Mbit": {
		slow: true,
		rate: 2.5e6,
	}, "slow-start-5-Mbit": {slow: true, rate: 0.625e6}} {
		for way, open := range map[string]func(*testing.B, link) func(int){"whole": wholeInput, "new": newInput} {
			b.Run(fmt.Sprintf("%s/%s", name, way), func(b *testing.B) {
				send := open(b, l)
				var all time.Duration
				for range b.N {
					for i := range steps {
						size := grow
						if way == "whole" {
							size *= i + 1
						}
						start := time.Now()
						send(size)
						all += time.Since(start)
						time.Sleep(400 * time.Millisecond)
					}
				}
				b.ReportMetric(float64(all.Milliseconds())/float64(b.N*steps), "ms/step")
			})
		}
	}
}

func wholeInput(b *testing.B, l link) func(int) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(make([]byte, 1000))
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	b.Cleanup(s.Close)
	ca := filepath.Join(b.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
		0o600); err != nil {
		b.Fatal(err)
	}
	c, err := llm.HTTPClient(llm.HTTPOptions{Proxy: "none", CACerts: []string{ca}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.CloseIdleConnections)
	address := "https://" + l.serve(b, s.Listener.Addr().String())
	return func(n int) {
		r, err := c.Post(address, "application/json", bytes.NewReader(make([]byte, n)))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Body.Close(); r.ProtoMajor != 2 {
			b.Fatal(r.Proto)
		}
	}
}

func newInput(b *testing.B, l link) func(int) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates})
	if err != nil {
		b.Fatal(err)
	}
	s.Close()
	b.Cleanup(func() { _ = ln.Close() })
	go func() {
		c, err := ln.Accept()
		for n := uint32(0); err == nil; {
			if err = binary.Read(c, binary.BigEndian, &n); err == nil {
				_, _ = io.CopyN(io.Discard, c, int64(n))
				_, err = c.Write(make([]byte, 1000))
			}
		}
	}()
	c, err := tls.Dial("tcp", l.serve(b, ln.Addr().String()), &tls.Config{RootCAs: roots, ServerName: "example.com"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return func(n int) {
		if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...)); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1000)); err != nil {
			b.Fatal(err)
		}
	}
}
