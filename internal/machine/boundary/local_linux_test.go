//go:build amd64 || arm64

package boundary_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// freePort is a port on which nothing listens now.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// serveInside runs a server of files on a port inside, until the test's end.
func serveInside(t *testing.T, b *boundary.Boundary, dir string, port int) *sandbox.Proc {
	t.Helper()
	c, err := b.For([]string{dir}, boundary.Network{})
	if err != nil {
		t.Fatal(err)
	}
	r := sandbox.New()
	t.Cleanup(func() { r.Close(); c.Done() })
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	line := fmt.Sprintf(`
import http.server, functools
s = http.server.ThreadingHTTPServer(("127.0.0.1", %d), functools.partial(http.server.SimpleHTTPRequestHandler))
print("ready", flush=True)
s.serve_forever()`, port)
	p, err := r.Start(t.Context(), sandbox.Spec{
		Argv: []string{"python3", "-c", line}, Dir: dir, Env: sandbox.Overlay(os.Environ(), c.Environ()), Stdout: in,
		Confine: c.Confinement,
	})
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	if word, err := bufio.NewReader(out).ReadString('\n'); word != "ready\n" {
		t.Skipf("python3 has no server here: %v", err)
	}
	return p
}

func get(port int) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get("http://127.0.0.1:" + strconv.Itoa(port) + "/file")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	return string(body), err
}

func TestAServerInsideIsReachedOnThisMachinesLoopbackWhereThatIsAllowed(t *testing.T) {
	p := newPlace(t)
	text := strings.Repeat("a large file ", 100_000)
	if err := os.WriteFile(filepath.Join(p.dir, "file"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	port := freePort(t)
	b := p.open(t, `{"enabled": true, "network": {"allowLocalBinding": true}}`)
	server := serveInside(t, b, p.dir, port)
	// the port opens some time after the server
	if !await.Until(func() bool { got, err := get(port); return err == nil && got == text }) {
		t.Fatal("it is not reached")
	}
	for range 200 { // more than there are sockets
		if got, err := get(port); err != nil || got != text {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	server.End()
	if !await.Until(func() bool { _, err := get(port); return err != nil }) {
		t.Error("the port outlives the command")
	}
}

func TestAServerInsideIsNotReachedOtherwise(t *testing.T) {
	p := newPlace(t)
	port, other := freePort(t), freePort(t)
	serveInside(t, p.open(t, `{"enabled": true}`), p.dir, port)
	serveInside(t, p.open(t, `{"enabled": true, "network": {"allowLocalBinding": true}}`), p.dir, other)
	if !await.Until(func() bool { _, err := get(other); return err == nil }) { // a port opens some time after the server
		t.Fatal("the server that may be reached is not")
	}
	if got, err := get(port); err == nil {
		t.Errorf("it is reached: %q", got)
	}
}

func TestAPortOfAnotherProgramStaysThat(t *testing.T) {
	p := newPlace(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "outside") }))
	}()
	port := l.Addr().(*net.TCPAddr).Port
	other := freePort(t)
	b := p.open(t, `{"enabled": true, "network": {"allowLocalBinding": true}}`)
	serveInside(t, b, p.dir, port)
	serveInside(t, b, p.dir, other)
	if !await.Until(func() bool { _, err := get(other); return err == nil }) { // lathe has looked at both
		t.Fatal("the second server is not reached")
	}
	if got, err := get(port); got != "outside" {
		t.Errorf("got %q, %v", got, err)
	}
}
