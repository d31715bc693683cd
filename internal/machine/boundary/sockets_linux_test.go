//go:build amd64 || arm64

package boundary_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/boundary"
)

// listen answers each connection with a greeting.
func listen(t *testing.T, network, addr string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Skipf("no socket at %s: %v", addr, err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, "GREETING "+addr)
			c.Close()
		}
	}()
	return l
}

func TestOnlyTheAllowedUnixSocketsAreReached(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	p := newPlace(t)
	open, shut, daemon := p.home+"/open.sock", p.home+"/shut.sock", fmt.Sprintf("/run/lathe-test-%d.sock", os.Getpid())
	listen(t, "unix", open)
	listen(t, "unix", shut)
	abstract := fmt.Sprintf("lathe-test-%d", os.Getpid())
	listen(t, "unix", "@"+abstract)
	allowed := []string{open}
	if os.Geteuid() == 0 {
		listen(t, "unix", daemon)
		allowed = append(allowed, fmt.Sprintf("/run/lathe-test-open-%d.sock", os.Getpid()))
		listen(t, "unix", allowed[1])
	}
	b := p.open(t, `{"enabled": true, "network": {"allowUnixSockets": ["`+strings.Join(allowed, `", "`)+`"]}}`)
	try := func(addr string) string {
		_, out, _, _ := run(t, b, p.dir, `python3 -c 'import socket,sys
s = socket.socket(socket.AF_UNIX); s.connect("`+addr+`"); print(s.recv(99).decode())'`)
		return out
	}
	for _, addr := range allowed {
		if out := try(addr); !strings.Contains(out, "GREETING") {
			t.Errorf("the allowed socket %s: %s", addr, out)
		}
	}
	for _, addr := range []string{shut, daemon, `\0` + abstract, "/var/run/docker.sock"} {
		if out := try(addr); strings.Contains(out, "GREETING") || !strings.Contains(out, "Error") {
			t.Errorf("%s: %s", addr, out)
		}
	}
	if code, out, _, _ := run(t, b, p.dir, `python3 -c 'import socket
s = socket.socket(socket.AF_UNIX); s.bind("own.sock"); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect("own.sock")'; ls /run; echo x >/run/x`); code == 0 || !strings.Contains(out, "Read-only") || strings.Contains(out, "Error") {
		t.Errorf("a socket of its own, or the folder of daemons: %s", out)
	}
}

// The proxy of the user decides, so lathe's rules do not count.
func TestAProxyOfTheUsersIsUsedInstead(t *testing.T) {
	p := newPlace(t)
	httpProxy, socks := listen(t, "tcp", "127.0.0.1:0"), listen(t, "tcp", "127.0.0.1:0")
	port := func(l net.Listener) string { return fmt.Sprint(l.Addr().(*net.TCPAddr).Port) }
	b := p.open(t, `{"enabled": true, "network": {"httpProxyPort": `+port(httpProxy)+`, "socksProxyPort": `+port(socks)+
		`}}`)
	dial := `exec 4<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; `
	out, _ := runWith(t, b, p.dir, dial+`echo GET >&4; cat <&4; `+dial+`printf '\005' >&4; cat <&4; true`,
		boundary.Network{})
	if strings.Count(out, "GREETING 127.0.0.1:0") != 2 {
		t.Errorf("got %q", out)
	}
	httpProxy.Close()
	if out, _ := runWith(t, b, p.dir, dial+`echo GET >&4; cat <&4; true`, boundary.Network{}); !strings.Contains(out,
		"502") || !strings.Contains(out, "httpProxyPort") {
		t.Errorf("without the proxy: %q", out)
	}
}
