package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// piped is a server whose connections are pipes, so that a test with a clock of its own can wait for it.
type piped struct {
	conns chan net.Conn
	done  chan struct{}
}

func (p *piped) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *piped) Close() error   { close(p.done); return nil }
func (p *piped) Addr() net.Addr { return &net.TCPAddr{} }

func clocked(t *testing.T, handler http.HandlerFunc) *Fetcher {
	t.Helper()
	p := &piped{make(chan net.Conn), make(chan struct{})}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: time.Hour}
	stopped := make(chan struct{})
	go func() { _ = srv.Serve(p); close(stopped) }()
	t.Cleanup(func() { _ = srv.Close(); <-stopped })
	return &Fetcher{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) {
			ours, theirs := net.Pipe()
			p.conns <- theirs
			return ours, nil
		},
	}
}

const localPage = "http://localhost/page"

func TestPagesAreKeptFor15Minutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hits := 0
		f := clocked(t, func(w http.ResponseWriter, _ *http.Request) {
			hits++
			fmt.Fprintf(w, "page %d", hits)
		})
		for _, c := range []struct {
			wait time.Duration
			want string
		}{
			{0, "page 1"}, {10 * time.Minute, "page 1"}, {5*time.Minute - time.Second, "page 1"}, // use does not make it younger
			{time.Second, "page 2"}, {15*time.Minute - time.Second, "page 2"}, {time.Second, "page 3"},
		} {
			time.Sleep(c.wait)
			if p, err := f.Fetch(t.Context(), localPage); err != nil || string(p.Body) != c.want {
				t.Fatalf("after %s: %+v, %v, want %s", c.wait, p, err, c.want)
			}
		}
		f.Keep = time.Minute
		if _, err := f.Fetch(t.Context(), localPage+"2"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if p, err := f.Fetch(t.Context(), localPage+"2"); err != nil || p.Cached {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func TestAServerIsGivenUpAfter30Seconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := clocked(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/body": // the head comes, the body does not end
				fmt.Fprint(w, "begin")
				_ = http.NewResponseController(w).Flush()
				fallthrough
			case "/head":
				<-r.Context().Done()
			case "/drip": // each byte comes in time, and there is no end
				for r.Context().Err() == nil {
					fmt.Fprint(w, "x")
					_ = http.NewResponseController(w).Flush()
					time.Sleep(time.Second)
				}
			case "/late":
				time.Sleep(29 * time.Second)
				fmt.Fprint(w, "there")
			}
		})
		for _, path := range []string{"/head", "/body", "/drip"} {
			start := time.Now()
			_, err := f.Fetch(t.Context(), "http://localhost"+path)
			if err == nil || !strings.Contains(err.Error(),
				"the server took longer than 30s; try it again later, or another page") || time.Since(start) != 30*time.Second {
				t.Errorf("%s: %v after %s", path, err, time.Since(start))
			}
		}
		if p, err := f.Fetch(t.Context(), "http://localhost/late"); err != nil || string(p.Body) != "there" {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

func TestPagesThatAreUsedStayAsLongAsThereIsRoom(t *testing.T) {
	var c cache
	for i := range cacheMax {
		c.put(fmt.Sprint(i), Page{}, time.Hour)
	}
	c.get("0")
	c.put("new", Page{}, time.Hour)
	if _, ok := c.get("1"); ok || len(c.pages) != cacheMax {
		t.Errorf("%d pages", len(c.pages))
	}
	for _, address := range []string{"0", "2", "new"} {
		if _, ok := c.get(address); !ok {
			t.Errorf("%s is gone", address)
		}
	}
	c.put("large", Page{Body: make([]byte, cacheSize-10)}, time.Hour)
	c.put("large", Page{Body: make([]byte, cacheSize-10)}, time.Hour) // in place of itself
	if len(c.pages) != cacheMax {
		t.Errorf("%d pages", len(c.pages))
	}
	c.put("more", Page{Body: make([]byte, 20)}, time.Hour)
	if _, ok := c.get("more"); !ok || len(c.pages) != 1 {
		t.Errorf("%d pages", len(c.pages))
	}
}
