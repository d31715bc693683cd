package netproxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/netproxy"
)

// echo serves connections that send back each line, and after a line "down" as many zeros as fit.
func echo(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					line, err := r.ReadString('\n')
					if err != nil {
						return
					}
					if line != "down\n" {
						if _, err := io.WriteString(c, line); err != nil {
							return
						}
						continue
					}
					zeros := make([]byte, 64<<10)
					for {
						if _, err := c.Write(zeros); err != nil {
							return
						}
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// dialers connect to an address: plainly, and through a proxy that allows it.
func dialers(b *testing.B) map[string]func(string) (net.Conn, *bufio.Reader) {
	b.Helper()
	rules, err := netproxy.ParseRules([]string{"127.0.0.1"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	p := netproxy.New(netproxy.Config{Rules: rules})
	go p.Serve(l)
	b.Cleanup(func() { p.Close(); l.Close() })
	plain := func(address string) (net.Conn, *bufio.Reader) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		return c, bufio.NewReader(c)
	}
	return map[string]func(string) (net.Conn, *bufio.Reader){"plain": plain, "proxy": func(address string) (net.Conn,
		*bufio.Reader,
	) {
		c, r := plain(l.Addr().String())
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", address, address)
		answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(answer, err)
		}
		return c, r
	}}
}

// BenchmarkConnection is the time of a new connection with one line there and back, of a line on one that is open, and
// of 1 MiB.
func BenchmarkConnection(b *testing.B) {
	for _, name := range []string{"plain", "proxy"} {
		line := func(b *testing.B, c net.Conn, r *bufio.Reader) {
			b.Helper()
			if _, err := io.WriteString(c, "x\n"); err != nil {
				b.Fatal(err)
			}
			if _, err := r.ReadString('\n'); err != nil {
				b.Fatal(err)
			}
		}
		b.Run("new/"+name, func(b *testing.B) {
			address, dial := echo(b), dialers(b)[name]
			for b.Loop() {
				c, r := dial(address)
				line(b, c, r)
				c.Close()
			}
		})
		b.Run("open/"+name, func(b *testing.B) {
			c, r := dialers(b)[name](echo(b))
			defer c.Close()
			for b.Loop() {
				line(b, c, r)
			}
		})
		b.Run("down/"+name, func(b *testing.B) {
			c, r := dialers(b)[name](echo(b))
			defer c.Close()
			if _, err := io.WriteString(c, "down\n"); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(1 << 20)
			for b.Loop() {
				if _, err := io.CopyN(io.Discard, r, 1<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
