package netproxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/netproxy"
)

// record keeps what a proxy recorded.
type record struct {
	mu  sync.Mutex
	all []netproxy.Connection
}

func (r *record) add(c netproxy.Connection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, c)
}

func (r *record) list() []netproxy.Connection {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// start serves a proxy on loopback and returns its address and its record.
func start(t *testing.T, c netproxy.Config, allow, deny []string) (string, *netproxy.Proxy, *record) {
	t.Helper()
	rules, err := netproxy.ParseRules(allow, deny)
	if err != nil {
		t.Fatal(err)
	}
	rec := &record{}
	c.Rules, c.Record = rules, rec.add
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := netproxy.New(c)
	done := make(chan struct{})
	go func() { p.Serve(l); close(done) }()
	t.Cleanup(func() { p.Close(); <-done })
	return l.Addr().String(), p, rec
}

// client is an HTTP client that goes through a proxy ("http://..." or "socks5h://...").
func client(proxy string) *http.Client {
	u, _ := url.Parse(proxy)
	return &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyURL(u), TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			DisableKeepAlives: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return nil },
	}
}

func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	r, err := c.Get(address)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// resolve maps names to addresses.
func resolve(names map[string]string) func(context.Context, string) ([]netip.Addr, error) {
	return func(_ context.Context, name string) ([]netip.Addr, error) {
		var out []netip.Addr
		for _, a := range strings.Fields(names[name]) {
			out = append(out, netip.MustParseAddr(a))
		}
		if out == nil {
			return nil, fmt.Errorf("no such host %s", name)
		}
		return out, nil
	}
}

// server answers with the Host that it got.
func server(t *testing.T, secure bool) (port string) {
	t.Helper()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprintf(w, "host=%s secret=%q", r.Host, r.Header.Get("Proxy-Authorization"))
	})
	s := httptest.NewUnstartedServer(h)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return port
}

var local = resolve(map[string]string{
	"good.example.": "127.0.0.1", "sub.good.example.": "127.0.0.1",
	"other.example.": "127.0.0.1",
})

func TestAllowedHostsAreReachedByEachProtocol(t *testing.T) {
	addr, p, rec := start(t, netproxy.Config{Resolve: local}, []string{"good.example", "127.0.0.1"}, nil)
	plain, secure := server(t, false), server(t, true)
	for _, tt := range []struct{ proxy, address string }{
		{"http://" + addr, "http://good.example:" + plain},
		{"http://" + addr, "https://good.example:" + secure},
		{"socks5h://" + addr, "http://good.example:" + plain},
		{"socks5h://" + addr, "https://good.example:" + secure},
		{"socks5://" + addr, "http://127.0.0.1:" + plain},
	} {
		if code, body := get(t, client(tt.proxy), tt.address); code != 200 || !strings.Contains(body, "host=") {
			t.Errorf("%s through %s: %d %s", tt.address, tt.proxy, code, body)
		}
	}
	p.Close()
	got := map[string]int{}
	for _, c := range rec.list() {
		got[c.Protocol]++
		if !c.Allowed || c.Sent == 0 || c.Received == 0 || !strings.HasPrefix(c.Address, "127.0.0.1:") ||
			!strings.Contains(c.Reason, "settings allow") {
			t.Errorf("recorded %+v", c)
		}
	}
	if got["http"] != 1 || got["connect"] != 1 || got["socks5"] != 3 {
		t.Errorf("recorded %v", got)
	}
}

func TestHostsThatNothingAllowsAreRefusedByName(t *testing.T) {
	addr, p, rec := start(t, netproxy.Config{Resolve: local}, []string{"good.example", "127.0.0.1"},
		[]string{"sub.good.example"})
	port := server(t, false)
	for _, address := range []string{"http://other.example:" + port, "http://sub.good.example:" + port} {
		if code, body := get(t, client("http://"+addr), address); code != 403 || !strings.Contains(body, "example:"+port) {
			t.Errorf("%s: %d %s", address, code, body)
		}
		if _, body := get(t, client("socks5h://"+addr), address); !strings.Contains(body, "not allowed") {
			t.Errorf("SOCKS, %s: %s", address, body)
		}
		secure := strings.Replace(address, "http:", "https:", 1)
		if _, body := get(t, client("http://"+addr), secure); !strings.Contains(body, "Forbidden") {
			t.Errorf("CONNECT, %s: %s", address, body)
		}
	}
	if refused := p.Refused(); len(refused) != 2 || refused[0].Host != "other.example" ||
		refused[1].Host != "sub.good.example" {
		t.Errorf("refused: %+v", refused)
	}
	if len(rec.list()) != 6 {
		t.Errorf("recorded: %+v", rec.list())
	}
}

func TestAHostIsAskedAboutOnce(t *testing.T) {
	var mu sync.Mutex
	var asked []netproxy.Request
	hold := make(chan struct{})
	ask := func(_ context.Context, r netproxy.Request) netproxy.Verdict {
		mu.Lock()
		asked = append(asked, r)
		mu.Unlock()
		<-hold
		return netproxy.Verdict{Allowed: r.Target.Host == "good.example", Reason: "the user"}
	}
	addr, _, _ := start(t, netproxy.Config{
		Resolve: local, Ask: ask,
		Program: func(netip.AddrPort) string { return "npm" },
	}, []string{"127.0.0.1"}, nil)
	port := server(t, false)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if code, body := get(t, client("http://"+addr), "http://good.example:"+port); code != 200 {
				t.Errorf("allowed: %d %s", code, body)
			}
		})
		all.Go(func() {
			if code, body := get(t, client("http://"+addr), "http://other.example:"+port); code != 403 {
				t.Errorf("refused: %d %s", code, body)
			}
		})
	}
	close(hold)
	all.Wait()
	if len(asked) != 2 || asked[0].Program != "npm" {
		t.Errorf("asked: %+v", asked)
	}
}

func TestAQuestionEndsWithTheProxy(t *testing.T) {
	waits := make(chan struct{})
	ask := func(ctx context.Context, _ netproxy.Request) netproxy.Verdict {
		close(waits)
		<-ctx.Done()
		return netproxy.Verdict{}
	}
	addr, p, _ := start(t, netproxy.Config{Resolve: local, Ask: ask}, nil, nil)
	done := make(chan struct{})
	go func() { get(t, client("http://"+addr), "http://good.example"); close(done) }()
	<-waits
	p.Close()
	<-done
}

// A name that leads to a public address first and to this machine later (DNS rebinding) is resolved for each
// connection, once, and the address that was checked is dialled.
func TestANameThatChangesItsAddressReachesNothingPrivate(t *testing.T) {
	answers := []string{
		"93.184.215.14", "127.0.0.1", "169.254.169.254",
		"10.0.0.1 ::1 fe80::1 fd00:ec2::254 64:ff9b::7f00:1 2002:7f00:1::",
	}
	resolved := 0
	var dialled []string
	c := netproxy.Config{
		Resolve: func(ctx context.Context, _ string) ([]netip.Addr, error) {
			resolved++
			return resolve(map[string]string{"x": answers[resolved-1]})(ctx, "x")
		},
		Dial: func(_ context.Context, a netip.AddrPort) (net.Conn, error) {
			dialled = append(dialled, a.String())
			return nil, errors.New("nobody there")
		},
	}
	addr, _, _ := start(t, c, []string{"rebind.example"}, nil)
	codes := []int{}
	for range answers {
		code, _ := get(t, client("http://"+addr), "http://rebind.example/")
		codes = append(codes, code)
	}
	if want := []int{502, 403, 403, 403}; !slices.Equal(codes, want) || resolved != 4 || len(dialled) != 1 ||
		dialled[0] != "93.184.215.14:80" {
		t.Errorf("got %v, %d look-ups, dialled %v", codes, resolved, dialled)
	}
}

func TestAddressesOfThisMachineAndItsNetworksAreRefused(t *testing.T) {
	c := netproxy.Config{
		Ask:  func(context.Context, netproxy.Request) netproxy.Verdict { return netproxy.Verdict{Allowed: true} },
		Dial: func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errors.New("dialled") },
	}
	addr, _, _ := start(t, c, []string{"*", "10.1.0.0/16"}, []string{"10.1.2.0/24", "8.8.4.4"})
	for host, want := range map[string]int{
		"127.0.0.1": 403, "[::1]": 403, "0.0.0.0": 403, "[::]": 403, "10.0.0.1": 403, "172.16.0.1": 403, "192.168.1.1": 403,
		"169.254.169.254": 403,
		"100.100.100.200": 403, "168.63.129.16": 403, "[::ffff:127.0.0.1]": 403, "[::ffff:7f00:1]": 403,
		"[::127.0.0.1]": 403, "[fe80::1]": 403, "[fc00::1]": 403,
		"[fd00:ec2::254]": 403, "[64:ff9b::7f00:1]": 403, "[64:ff9b:1::a00:1]": 403, "[2002:7f00:1::]": 403,
		"[2001:0:1::1]": 403, "[fec0::1]": 403, "[ff02::1]": 403,
		"224.0.0.1": 403, "255.255.255.255": 403, "198.18.0.1": 403,
		"8.8.8.8": 502, "[2606:4700::1111]": 502, "10.1.0.1": 502, "[::ffff:10.1.0.1]": 502, "10.1.2.3": 403, "8.8.4.4": 403,
		"[::ffff:8.8.4.4]": 403,
	} {
		if code, body := get(t, client("http://"+addr), "http://"+host+"/"); code != want {
			t.Errorf("%s: %d, want %d: %s", host, code, want, body)
		}
	}
}

func TestHostsInOddSpellingsAreRefused(t *testing.T) {
	c := netproxy.Config{Dial: func(context.Context, netip.AddrPort) (net.Conn,
		error,
	) {
		return nil, errors.New("dialled")
	}, Resolve: local}
	addr, _, _ := start(t, c, []string{"*", "127.0.0.0/8"}, nil)
	for _, host := range []string{
		"2130706433", "0x7f000001", "0x7f.0.0.1", "127.1", "0177.0.0.1", "127.0.0.01", "127.0.0.1.", "1.2.3.4.5",
		"good.example..", ".good.example", "-good.example",
		"good.example%00.evil.example", "good.example\x00.evil.example", "good_.example-", "gööd.example",
		"good.example@evil.example", "good.example#x", "good.example/x",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "aa", "[::1%25lo]", "[127.0.0.1]", "good.example\t",
	} {
		conn := dial(t, addr)
		fmt.Fprintf(conn, "CONNECT %s:80 HTTP/1.1\r\nHost: good.example:80\r\n\r\n", host)
		if status := firstLine(conn); !strings.Contains(status, " 400 ") {
			t.Errorf("%q: %s", host, status)
		}
		if len(host) > 255 {
			continue
		}
		conn = dial(t, addr)
		_, _ = conn.Write(append(append([]byte{5, 1, 0, 5, 1, 0, 3, byte(len(host))}, host...), 0, 80))
		reply := make([]byte, 4)
		if _, err := io.ReadFull(conn, reply); err != nil || reply[3] == 0 {
			t.Errorf("SOCKS, %q: %v %v", host, reply, err)
		}
	}
	for _, host := range []string{"GOOD.example", "good.example.", "good.EXAMPLE."} {
		if code, body := get(t, client("http://"+addr), "http://"+host+":1/"); code != 502 || !strings.Contains(body,
			"127.0.0.1:1") {
			t.Errorf("%q: %d %s", host, code, body)
		}
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func firstLine(c net.Conn) string {
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

func TestTheHostHeaderDecidesNothing(t *testing.T) {
	addr, _, _ := start(t, netproxy.Config{Resolve: local}, []string{"good.example", "127.0.0.1"}, nil)
	port := server(t, false)
	for _, tt := range []struct{ request, want string }{
		{"GET http://good.example:" + port + "/ HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: x\r\nConnection: " +
			"close\r\n\r\n", "host=good.example:" + port + ` secret=""`},
		{
			"GET http://evil.example:" + port + "/ HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n",
			"refuses a connection to evil.example",
		},
		{"CONNECT evil.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n", "refuses a connection to evil.example:443"},
		{"GET / HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n", "begins with http://"},
		{"GET ftp://good.example/ HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n", "begins with http://"},
		{
			"GET http://good.example@evil.example:" + port + "/ HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n",
			"begins with http://",
		},
		{"GET http://good.example:" + port + "/ HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
		{"GET http://good.example:" + port + "/\r\nX: y HTTP/1.1\r\n\r\n", "400"},
		{"GET http://good.example:" + port + "/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked, " +
			"x\r\n\r\n", "501"},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400"},
	} {
		conn := dial(t, addr)
		if _, err := io.WriteString(conn, tt.request); err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(conn)
		if !strings.Contains(string(b), tt.want) {
			t.Errorf("%q: %s", tt.request, b)
		}
	}
}

// A second request on a connection to the proxy is judged on its own.
func TestEveryRequestOfAConnectionIsJudged(t *testing.T) {
	addr, _, _ := start(t, netproxy.Config{Resolve: local}, []string{"good.example", "127.0.0.1"}, nil)
	port := server(t, false)
	conn := dial(t, addr)
	fmt.Fprintf(conn, "GET http://good.example:%[1]s/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://evil.example:%[1]s/ "+
		"HTTP/1.1\r\nHost: x\r\n\r\n", port)
	b, _ := io.ReadAll(conn)
	if text := string(b); !strings.Contains(text, "host=good.example") || !strings.Contains(text,
		"refuses a connection to evil.example") {
		t.Errorf("got %s", text)
	}
}

func TestARedirectIsANewRequest(t *testing.T) {
	addr, p, _ := start(t, netproxy.Config{Resolve: local}, []string{"good.example", "127.0.0.1"}, nil)
	port := server(t, false)
	code, body := get(t, client("http://"+addr), "http://good.example:"+port+"/?to="+
		url.QueryEscape("http://evil.example:"+port))
	if code != 403 || !strings.Contains(body, "evil.example") || len(p.Refused()) != 1 {
		t.Errorf("got %d %s", code, body)
	}
}

func TestSlowAndLargeRequestsEnd(t *testing.T) {
	addr, _, _ := start(t, netproxy.Config{Limits: netproxy.Limits{Handshake: 50 * time.Millisecond, Header: 4096}},
		[]string{"*"}, nil)
	for name, send := range map[string]string{
		"nothing": "", "half a request": "GET http://good.example/ HT",
		"half a header":   "GET http://good.example/ HTTP/1.1\r\nHost: a\r\nX: ",
		"half a greeting": "\x05", "half a SOCKS request": "\x05\x01\x00\x05\x01\x00\x03\xff",
	} {
		conn := dial(t, addr)
		if _, err := io.WriteString(conn, send); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil { // it ends: the proxy closes it
			t.Errorf("%s: %v", name, err)
		}
	}
	conn := dial(t, addr)
	go func() {
		_, _ = io.WriteString(conn, "GET http://good.example/ HTTP/1.1\r\nX: "+strings.Repeat("a", 1<<20))
	}()
	if status := firstLine(conn); !strings.Contains(status, "431") && !strings.Contains(status, "reset") {
		t.Errorf("a large header: %s", status)
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	addr, _, _ := start(t, netproxy.Config{Limits: netproxy.Limits{Concurrent: 1, Total: 2}}, nil, nil)
	first := dial(t, addr)
	fmt.Fprint(first, "GET http://x.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if s := firstLine(first); !strings.Contains(s, "403") {
		t.Fatal(s)
	}
	first.Close()
	second := dial(t, addr)
	fmt.Fprint(second, "GET http://x.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if s := firstLine(second); !strings.Contains(s, "403") {
		t.Fatal(s)
	}
	second.Close()
	if b, err := io.ReadAll(dial(t, addr)); len(b) > 0 && err == nil {
		t.Errorf("the third connection got %q", b)
	}
}

func TestSilentConnectionsEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(io.Discard, c)
		}
	}()
	addr, _, _ := start(t, netproxy.Config{Limits: netproxy.Limits{Idle: 50 * time.Millisecond}}, []string{"127.0.0.1"},
		nil)
	conn := dial(t, addr)
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\n\r\n", l.Addr())
	if b, err := io.ReadAll(conn); err != nil || !strings.Contains(string(b), "200") {
		t.Errorf("got %q, %v", b, err)
	}
}

// Data goes both ways at once, and each side may end its half first.
func TestATunnelKeepsHalfClosedConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		b, _ := io.ReadAll(c)
		fmt.Fprintf(c, "got %d bytes", len(b))
		c.Close()
	}()
	addr, _, _ := start(t, netproxy.Config{}, []string{"127.0.0.1"}, nil)
	conn := dial(t, addr).(*net.TCPConn)
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\n\r\n%s", l.Addr(), strings.Repeat("x", 100_000))
	_ = conn.CloseWrite()
	if b, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(b), "got 100000 bytes") {
		t.Errorf("got %q, %v", b, err)
	}
}

func TestSocksServesNothingButConnect(t *testing.T) {
	addr, _, _ := start(t, netproxy.Config{}, []string{"*"}, nil)
	for name, tt := range map[string]struct {
		send string
		want []byte
	}{
		"bind":            {"\x05\x01\x00\x05\x02\x00\x01\x01\x01\x01\x01\x00\x50", []byte{5, 0, 5, 7}},
		"UDP":             {"\x05\x01\x00\x05\x03\x00\x01\x01\x01\x01\x01\x00\x50", []byte{5, 0, 5, 7}},
		"a password only": {"\x05\x01\x02", []byte{5, 0xff}},
		"an unknown kind": {"\x05\x01\x00\x05\x01\x00\x09\x01\x01\x01\x01\x00\x50", []byte{5, 0, 5, 8}},
		"port 0":          {"\x05\x01\x00\x05\x01\x00\x01\x01\x01\x01\x01\x00\x00", []byte{5, 0, 5, 1}},
		"a mapped loopback": {"\x05\x01\x00\x05\x01\x00\x04" + strings.Repeat("\x00", 10) +
			"\xff\xff\x7f\x00\x00\x01\x00\x50", []byte{5, 0, 5, 2}},
	} {
		conn := dial(t, addr)
		_, _ = io.WriteString(conn, tt.send)
		got := make([]byte, len(tt.want))
		if _, err := io.ReadFull(conn, got); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		covers  []string
		not     []string
	}{
		{"example.com", []string{"example.com:443", "EXAMPLE.com.:80"}, []string{
			"www.example.com:443",
			"example.com.evil.net:443", "notexample.com:443",
		}},
		{"*.example.com", []string{"a.example.com:1", "a.b.example.com:1"}, []string{"example.com:1", "aexample.com:1"}},
		{"example.com:8443", []string{"example.com:8443"}, []string{"example.com:443"}},
		{"*", []string{"anything.net:1", "8.8.8.8:53"}, []string{"127.0.0.1:1", "[::1]:1"}},
		{"10.0.0.0/8", []string{"10.1.2.3:1", "[::ffff:10.1.2.3]:1"}, []string{"11.0.0.1:1", "ten.example.com:1"}},
		{"::ffff:10.0.0.0/104", []string{"10.1.2.3:1", "[::ffff:10.1.2.3]:1"}, []string{"11.0.0.1:1", "[::1]:1"}},
		{"::ffff:a00:0/104", []string{"10.1.2.3:1"}, []string{"11.0.0.1:1"}},
		{"::ffff:10.1.2.3", []string{"10.1.2.3:1"}, []string{"10.1.2.4:1"}},
		{"::1", []string{"[::1]:5"}, []string{"127.0.0.1:5"}},
		{"[::1]:5432", []string{"[::1]:5432"}, []string{"[::1]:5"}},
		{"127.0.0.1:5432", []string{"127.0.0.1:5432"}, []string{"127.0.0.1:80"}},
	} {
		rules, err := netproxy.ParseRules([]string{tt.pattern}, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		for _, s := range slices.Concat(tt.covers, tt.not) {
			target, err := netproxy.ParseTarget(s, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := rules.Allows(target); got != slices.Contains(tt.covers, s) {
				t.Errorf("%s covers %s: %v", tt.pattern, s, got)
			}
		}
	}
	for _, bad := range []string{
		"", "https://example.com", "example.com/path", "*.*.com", "ex*mple.com", "10.0.0.1/8",
		"a b", "bücher.example", "127.1", "example.com:0", "example.com:x", "*.",
	} {
		if p, err := netproxy.ParsePattern(bad); err == nil {
			t.Errorf("%q is a pattern: %+v", bad, p)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{
		"example.com:443", "[::1]:80", "127.1:80", "a\x00b:1", "[::ffff:1.2.3.4]:5",
		"xn--bcher-kva.example:1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := netproxy.ParseTarget(s, 80)
		if err != nil {
			return
		}
		again, err := netproxy.ParseTarget(target.String(), 0)
		if err != nil || again != target {
			t.Errorf("%q became %v, which becomes %v, %v", s, target, again, err)
		}
		if strings.ContainsAny(target.Host, "\x00\r\n /@%\\#?") || target.Host != strings.ToLower(target.Host) {
			t.Errorf("%q became the host %q", s, target.Host)
		}
	})
}

func TestACommandCannotAskWithoutEnd(t *testing.T) {
	asked := 0
	ask := func(context.Context, netproxy.Request) netproxy.Verdict {
		asked++
		return netproxy.Verdict{Allowed: true}
	}
	addr, _, _ := start(t, netproxy.Config{Ask: ask, Resolve: resolve(nil), Limits: netproxy.Limits{Questions: 3}}, nil,
		nil)
	for i := range 6 {
		want := map[bool]int{true: 502, false: 403}[i < 3]
		if code, body := get(t, client("http://"+addr), fmt.Sprintf("http://h%d.example/", i)); code != want {
			t.Errorf("host %d: %d %s", i, code, body)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}

// source sends size bytes to each client, after it got one.
func source(b *testing.B, size int) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	block := make([]byte, 64<<10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.ReadFull(c, make([]byte, 1))
				for sent := 0; sent < size; sent += len(block) {
					if _, err := c.Write(block[:min(len(block), size-sent)]); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

// BenchmarkTunnel is one connection that brings 1 byte or 64 MB, without the proxy and through it.
func BenchmarkTunnel(b *testing.B) {
	rules, err := netproxy.ParseRules([]string{"127.0.0.1"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	p := netproxy.New(netproxy.Config{Rules: rules, Limits: netproxy.Limits{Total: 1 << 30}})
	go p.Serve(l)
	defer p.Close()
	for _, size := range []int{1, 64 << 20} {
		target := source(b, size)
		for _, through := range []bool{false, true} {
			b.Run(fmt.Sprintf("bytes=%d/proxy=%v", size, through), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					fetch(b, target, l.Addr().String(), through, size)
				}
			})
		}
	}
}

func fetch(b *testing.B, target, proxy string, through bool, size int) {
	b.Helper()
	at := target
	if through {
		at = proxy
	}
	c, err := net.Dial("tcp", at)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	const ok = "HTTP/1.1 200 Connection established\r\n\r\n"
	if through {
		fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\n\r\n", target)
		if _, err := io.ReadFull(c, make([]byte, len(ok))); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := c.Write([]byte{0}); err != nil {
		b.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, c); err != nil || n != int64(size) {
		b.Fatalf("got %d bytes, %v", n, err)
	}
}
