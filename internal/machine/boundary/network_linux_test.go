//go:build amd64 || arm64

package boundary_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/netproxy"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// outside is a server of this machine, which no command in the sandbox reaches but through the proxy.
func outside(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "reached") }))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// runWith runs a line in the sandbox with a network.
func runWith(t *testing.T, b *boundary.Boundary, dir, line string, n boundary.Network) (out, why string) {
	t.Helper()
	c, err := b.For([]string{dir}, n)
	if err != nil {
		t.Fatal(err)
	}
	r := sandbox.New()
	defer r.Close()
	var buf bytes.Buffer
	if _, err := r.Run(t.Context(), sandbox.Spec{
		Argv: []string{"bash", "-c", line}, Dir: dir, Env: sandbox.Overlay(os.Environ(), c.Environ()), Stdout: &buf,
		Stderr: &buf, Confine: c.Confinement,
	}); err != nil {
		t.Fatal(err)
	}
	c.Done()
	return buf.String(), c.Refusal(dir, buf.String())
}

func TestTheProxyIsTheOnlyWayOut(t *testing.T) {
	p := newPlace(t)
	addr := outside(t)
	for _, mode := range []string{"workspace", "read-only"} {
		b := p.open(t, `{"enabled": true, "mode": "`+mode+`", "network": {"allowedDomains": ["127.0.0.1"]}}`)
		var mu sync.Mutex
		var all []netproxy.Connection
		record := func(c netproxy.Connection) { mu.Lock(); defer mu.Unlock(); all = append(all, c) }
		// a program that ignores the variables reaches its own loopback only
		line := `
			exec 3<>/dev/tcp/` + strings.Replace(addr, ":", "/", 1) + ` && echo DIRECT
			exec 4<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://` + addr + `/ HTTP/1.0\r\n\r\n' >&4 && cat <&4
			exec 5<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://10.0.0.1/ HTTP/1.0\r\n\r\n' >&5 && cat <&5; true`
		out, why := runWith(t, b, p.dir, line, boundary.Network{Record: record})
		if !strings.Contains(out, "reached") || strings.Contains(out, "DIRECT") || !strings.Contains(out, "403") {
			t.Errorf("%s: %s", mode, out)
		}
		if !strings.Contains(why, "10.0.0.1:80 was refused") {
			t.Errorf("%s: the model is told %q", mode, why)
		}
		if len(all) != 2 {
			t.Fatalf("%s: recorded %+v", mode, all)
		}
		for _, c := range all {
			if c.Program != "bash" && c.Program != "cat" {
				t.Errorf("%s: the program of %+v", mode, c)
			}
		}
	}
}

func TestAHostIsAskedAboutWhileTheCommandRuns(t *testing.T) {
	p := newPlace(t)
	addr := outside(t)
	port := addr[strings.LastIndexByte(addr, ':')+1:]
	ask := func(_ context.Context, r netproxy.Request) netproxy.Verdict {
		return netproxy.Verdict{Allowed: r.Target.Host == "localhost", Reason: "asked"}
	}
	line := `exec 4<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://localhost:` + port +
		`/ HTTP/1.0\r\n\r\n' >&4 && cat <&4; true`
	for settings, want := range map[string]string{
		`{"enabled": true, "network": {"allowedDomains": ["127.0.0.0/8", "::1"]}}`:                          "reached",
		`{"enabled": true, "network": {"allowedDomains": ["127.0.0.0/8", "::1"], "strictAllowlist": true}}`: "not among those",
		`{"enabled": true}`: "leads to",
		`{"enabled": true, "network": {"allowedDomains": ["127.0.0.0/8", "::1"], "deniedDomains": ["localhost"]}}`: "settings deny",
	} {
		b := p.open(t, settings)
		if out, _ := runWith(t, b, p.dir, line, boundary.Network{Ask: ask}); !strings.Contains(out, want) {
			t.Errorf("%s: %s", settings, out)
		}
	}
}

func TestAHostThatIsNoneIsAnError(t *testing.T) {
	p := newPlace(t)
	_, err := boundary.Open(p.options("", `{"enabled": true, "network": {"allowedDomains": ["https://example.com/"]}}`))
	if err == nil || !strings.Contains(err.Error(), "example.com") {
		t.Errorf("got %v", err)
	}
}

// Two commands have networks of their own, with the same address of the proxy.
func TestTheProxyOfACommandIsNotReachedFromOutside(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	out, _ := runWith(t, b, p.dir, `echo ${HTTP_PROXY##*/}`, boundary.Network{})
	if c, err := net.Dial("tcp", strings.TrimSpace(out)); err == nil {
		c.Close()
		t.Errorf("the proxy %s is reached from outside", out)
	}
}

// A question that is open when the command ends is withdrawn, and nothing of the proxy goes on after Done.
func TestTheProxyOfACommandEndsWithIt(t *testing.T) {
	p := newPlace(t)
	b := p.open(t, `{"enabled": true}`)
	var withdrawn atomic.Bool
	ask := func(ctx context.Context, _ netproxy.Request) netproxy.Verdict {
		if err := os.WriteFile(p.dir+"/asked", nil, 0o600); err != nil {
			t.Error(err)
			return netproxy.Verdict{}
		}
		<-ctx.Done()
		withdrawn.Store(true)
		return netproxy.Verdict{Reason: "withdrawn"}
	}
	line := `exec 4<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:} && printf 'GET http://x.example/ HTTP/1.0\r\n\r\n' >&4 && until [ -e asked ]; do :; done`
	runWith(t, b, p.dir, line, boundary.Network{Ask: ask})
	if !withdrawn.Load() {
		t.Error("the question outlives the command")
	}
}
