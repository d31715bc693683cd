//go:build linux || darwin

package server

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/event"
	"github.com/lathe-dev/lathe/internal/face/supervisor"
	"github.com/lathe-dev/lathe/internal/store/session"
)

// place is a server of a test's own, without sessions that live.
type place struct {
	*Server
	t    *testing.T
	tcp  string // host:port
	dir  string // the folder of its one session
	id   string // of that session
	logs *bytes.Buffer
}

func newPlace(t *testing.T, change ...func(*Options)) *place {
	t.Helper()
	home, err := os.MkdirTemp("", "ls") // short, for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	p := &place{t: t, dir: filepath.Join(home, "p"), logs: &bytes.Buffer{}}
	o := Options{
		Place: supervisor.At(filepath.Join(home, "state"), ""), Store: session.NewStore(filepath.Join(home, "data")),
		Folder: filepath.Join(home, "serve"), Lathe: "1", Modes: []string{"default", "plan", "bypassPermissions"},
		Log: slog.New(slog.NewTextHandler(p.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		History: func(log *session.Session, _ event.Cursor, _ int) (*event.Opened, error) {
			return &event.Opened{Session: log.ID()}, nil
		},
		Metrics: true,
	}
	for _, f := range change {
		f(&o)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := o.Store.Create(t.Context(), session.Meta{Dir: p.dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.SetTitle(t.Context(), "a title"); err != nil {
		t.Fatal(err)
	}
	if p.id = log.ID(); log.Close() != nil {
		t.Fatal("it is not closed")
	}
	if p.Server, err = New(o); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.tcp = l.Addr().String()
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, Entry{Listener: l, Hosts: HostsOf(l.Addr())}) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return p
}

// token makes a device.
func (p *place) token(scopes ...Scope) string {
	p.t.Helper()
	_, token, err := p.devices.Add(Device{Name: "test", Scopes: scopes})
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

// do sends a request. Header is names and values; a Host is the request's.
func (p *place) do(method, path, token, body string, header ...string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.tcp+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	p.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// want sends a request and holds its answer to a status. A refusal has to name the next move.
func (p *place) want(status int, method, path, token, body string, header ...string) []byte {
	p.t.Helper()
	res := p.do(method, path, token, body, header...)
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		p.t.Errorf("%s %s %v: %d, not %d: %s %v", method, path, header, res.StatusCode, status, b, err)
	}
	if status >= 400 && res.Header.Get("Content-Type") == "application/problem+json" {
		var problem Problem
		if json.Unmarshal(b, &problem) != nil || problem.Next == "" || problem.Title == "" || problem.Status != status {
			p.t.Errorf("%s %s: no next move: %s", method, path, b)
		}
	}
	return b
}

func (p *place) path(o operation) string {
	return strings.NewReplacer("{id}", p.id).Replace(o.path)
}

func TestNothingIsServedWithoutAToken(t *testing.T) {
	p := newPlace(t, func(o *Options) {
		o.Pages = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") })
		o.Open = func(path string) bool { return path == "/login" }
	})
	for _, o := range operations() {
		if o.path == pairPath {
			continue
		}
		p.rates = rates{}
		p.want(http.StatusUnauthorized, o.method, p.path(o), "", "")
		p.want(http.StatusUnauthorized, o.method, p.path(o)+"?token="+p.token(Scopes...), "", "")
		p.want(http.StatusUnauthorized, o.method, p.path(o), "lathe_00000000_wrong", "")
	}
	for _, path := range []string{"/openapi.json", "/metrics", "/", "/page", "/v1/nothing", "/login/../page", "//login"} {
		p.rates = rates{}
		p.want(http.StatusUnauthorized, http.MethodGet, path, "", "")
	}
	if got := p.want(http.StatusOK, http.MethodGet, "/login", "", ""); string(got) != "a page" {
		t.Errorf("%s", got)
	}
	p.want(http.StatusUnauthorized, http.MethodPost, "/login", "", "{}")
	p.want(http.StatusOK, http.MethodGet, "/page", p.token(Read), "")
}

func TestEachOperationNeedsItsScope(t *testing.T) {
	p := newPlace(t)
	for _, scope := range Scopes {
		var others []Scope
		for _, s := range Scopes {
			if s != scope {
				others = append(others, s)
			}
		}
		token := p.token(others...)
		for _, o := range operations() {
			if o.scope == scope {
				p.want(http.StatusForbidden, o.method, p.path(o), token, "")
			}
		}
	}
	for _, c := range []struct {
		name, args string
		needs      Scope
	}{
		{"!", "id", Admin},
		{"permissions", "allow Bash(*)", Admin},
		{"config", "model x", Admin},
		{"login", "", Admin},
		{"undo", "--stash all", Admin},
		{"mode", "bypassPermissions", Admin},
		{"mode", "acceptEdits", Approve},
		{"mcp", "approve x", Admin},
		{"plugin", "install x", Admin},
		{"add-dir", "/", Admin},
		{"quit", "", Admin},
		{"compact", "", Prompt},
		{"unknown", "", Admin},
		{"#", "remember", Admin},
	} {
		for _, s := range Scopes {
			allowed := mayCommand(Principal{Device: Device{Scopes: []Scope{s}}}, c.name, c.args) == nil
			if allowed != (s == c.needs) {
				t.Errorf("/%s %s with %s: %v", c.name, c.args, s, allowed)
			}
		}
	}
	p.want(http.StatusForbidden, http.MethodPost, "/v1/sessions", p.token(Prompt), `{"dir":"/"}`)
	p.want(http.StatusForbidden, http.MethodPost, "/v1/sessions", p.token(Prompt),
		`{"dir":"`+p.dir+`","mode":"bypassPermissions"}`)
}

func TestOtherHostsAndSitesAreRefused(t *testing.T) {
	p := newPlace(t)
	token := p.token(Scopes...)
	_, port, _ := net.SplitHostPort(p.tcp)
	for _, host := range []string{
		"evil.example", "evil.example:" + port, "127.0.0.1", "localhost", "localhost:1", "127.0.0.1:80", "[::1]",
	} {
		p.want(http.StatusMisdirectedRequest, http.MethodGet, "/v1/me", token, "", "Host", host)
	}
	p.want(http.StatusOK, http.MethodGet, "/v1/me", token, "", "Host", "localhost:"+port)
	for _, origin := range []string{
		"https://evil.example", "null", "http://localhost:1", "https://" + p.tcp, "http://" + p.tcp + ".evil.example",
		"http://evil.example#" + p.tcp, "http://localhost:" + port, "file://",
	} {
		p.want(http.StatusForbidden, http.MethodGet, "/v1/me", token, "", "Origin", origin)
		p.want(http.StatusForbidden, http.MethodPost, pairPath, "", "{}", "Origin", origin)
	}
	p.want(http.StatusOK, http.MethodGet, "/v1/me", token, "", "Origin", "http://"+p.tcp)
	for _, site := range []string{"cross-site", "same-site", "anything"} {
		p.want(http.StatusForbidden, http.MethodGet, "/v1/me", token, "", "Sec-Fetch-Site", site)
		p.want(http.StatusForbidden, http.MethodGet, "/v1/me", token, "", "Sec-Fetch-Site", site, "Sec-Fetch-Mode", "navigate",
			"Sec-Fetch-Dest", "document")
	}
	res := p.do(http.MethodOptions, "/v1/me", token, "", "Origin", "http://"+p.tcp, "Access-Control-Request-Method", "POST")
	for name := range res.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s is set: there is no CORS", name)
		}
	}
}

func TestABrowserHasToComeFromThePage(t *testing.T) {
	p := newPlace(t)
	cookie := "lathe=" + p.token(Scopes...)
	own := "http://" + p.tcp
	p.want(http.StatusOK, http.MethodGet, "/v1/me", "", "", "Cookie", cookie)
	p.want(http.StatusCreated, http.MethodPost, "/v1/pairings", "", "{}", "Cookie", cookie, "Origin", own)
	p.want(http.StatusForbidden, http.MethodPost, "/v1/pairings", "", "{}", "Cookie", cookie)
	p.want(http.StatusForbidden, http.MethodDelete, "/v1/sessions/"+p.id, "", "", "Cookie", cookie)
	p.want(http.StatusForbidden, http.MethodPost, "/v1/pairings", "", "{}", "Cookie", cookie, "Origin", "http://evil.example")
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		p.want(http.StatusUnsupportedMediaType, http.MethodPost, "/v1/pairings", "", "{}", "Cookie", cookie, "Origin", own,
			"Content-Type", kind)
	}
	p.want(http.StatusUnauthorized, http.MethodGet, "/v1/me", "", "", "Cookie", "__Host-"+cookie)
}

func TestACodeWorksOnceAndNotForLong(t *testing.T) {
	p := newPlace(t)
	admin := p.token(Admin)
	begin := func() (out Pairing) {
		if err := json.Unmarshal(p.want(http.StatusCreated, http.MethodPost, "/v1/pairings", admin, "{}"), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	code := begin().Code
	take := func(status int, code string) *http.Response {
		p.rates = rates{}
		res := p.do(http.MethodPost, pairPath, "", `{"code":"`+code+`","name":"phone","cookie":true,"scopes":["admin"]}`)
		if res.StatusCode != status {
			t.Errorf("%s: %d", code, res.StatusCode)
		}
		return res
	}
	res := take(http.StatusCreated, strings.ToLower(code[:5]+"-"+code[5:]))
	b, _ := io.ReadAll(res.Body)
	if c := res.Header.Get("Set-Cookie"); !strings.Contains(c, "HttpOnly") || !strings.Contains(c, "SameSite=Strict") ||
		bytes.Contains(b, []byte("lathe_")) || bytes.Contains(b, []byte("admin")) {
		t.Errorf("%s %s", c, b)
	}
	take(http.StatusForbidden, code)
	take(http.StatusCreated, begin().Code) // the name is another device's
	if all, err := p.devices.List(); err != nil || all[len(all)-1].Name != "phone 2" {
		t.Errorf("%+v %v", all, err)
	}
	old := begin().Code
	p.pairings.open[0].Expires = time.Now().Add(-time.Second)
	take(http.StatusForbidden, old)
	if left := time.Until(begin().Expires); left > pairingLives {
		t.Errorf("it lives %v", left)
	}
	good := begin().Code
	for range mostWrong {
		take(http.StatusForbidden, "AAAAAAAAAA")
	}
	take(http.StatusForbidden, good)
	for i := range strangerBurst + 1 { // guessing is slow
		if res := p.do(http.MethodPost, pairPath, "", `{"code":"x","name":"y"}`); res.StatusCode == http.StatusTooManyRequests {
			break
		} else if i == strangerBurst {
			t.Error("it takes any number of guesses")
		}
	}
}

func TestARevokedDeviceIsOutAtOnce(t *testing.T) {
	p := newPlace(t)
	d, token, err := p.devices.Add(Device{Name: "phone", Scopes: []Scope{Read}})
	if err != nil {
		t.Fatal(err)
	}
	res := p.do(http.MethodGet, "/v1/events", token, "")
	first, err := bufio.NewReader(res.Body).ReadString('\n')
	if err != nil || !strings.Contains(first, `"hello"`) {
		t.Fatalf("%s %v", first, err)
	}
	if _, err := DevicesIn(p.Folder).Revoke(d.ID); err != nil { // by another process
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil && !strings.Contains(err.Error(), "EOF") {
		t.Error(err)
	}
	p.want(http.StatusUnauthorized, http.MethodGet, "/v1/me", token, "")
	_, short, err := p.devices.Add(Device{Name: "guest", Scopes: []Scope{Read}, Expires: time.Now().Add(-time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	p.want(http.StatusUnauthorized, http.MethodGet, "/v1/me", short, "")
}

func TestSecretsAreInNoFileAndNoLog(t *testing.T) {
	p := newPlace(t)
	token := p.token(Scopes...)
	var made Pairing
	if err := json.Unmarshal(p.want(http.StatusCreated, http.MethodPost, "/v1/pairings", token, "{}"), &made); err != nil {
		t.Fatal(err)
	}
	var paired Paired
	b := p.want(http.StatusCreated, http.MethodPost, pairPath, "", `{"code":"`+made.Code+`","name":"script"}`)
	if err := json.Unmarshal(b, &paired); err != nil || paired.Token == "" {
		t.Fatalf("%s %v", b, err)
	}
	p.want(http.StatusOK, http.MethodGet, "/v1/sessions?text=secret-words", paired.Token, "")
	p.want(http.StatusUnauthorized, http.MethodGet, "/v1/me?token="+token, "", "")
	err := filepath.WalkDir(p.Folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		p.logs.Write(b)
		if st, statErr := os.Stat(path); statErr == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, st.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{token, paired.Token, made.Code, "secret-words"} {
		if strings.Contains(p.logs.String(), secret) {
			t.Errorf("%s is written down", secret)
		}
	}
	for _, want := range []string{`"do":"pair"`, `"do":"beginPairing"`, `"name":"test"`, `"status":401`} {
		if !strings.Contains(p.logs.String(), want) {
			t.Errorf("the audit log has no %s", want)
		}
	}
}

func TestFilesAreThoseOfTheSession(t *testing.T) {
	p := newPlace(t)
	token := p.token(Read)
	outside := filepath.Join(filepath.Dir(p.dir), "outside.txt")
	for path, text := range map[string]string{
		outside: "hidden", filepath.Join(p.dir, "in.txt"): "inside", filepath.Join(p.dir, "page.html"): "<script>",
		filepath.Join(p.dir, "sub.go"): "package sub // Needle", filepath.Join(p.dir, ".env"): "KEY=hidden needle",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link.txt": outside, "up": "..", "abs": "/etc", "in2": "in.txt", "plain.txt": ".env"} {
		if err := os.Symlink(to, filepath.Join(p.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := "/v1/sessions/" + p.id
	for _, path := range []string{
		"../outside.txt", "..%2foutside.txt", "%2e%2e/outside.txt", outside, "/etc/passwd", "link.txt", "up/outside.txt",
		"abs/passwd", "pipe", "in.txt%00", "in.txt/..", "..", "up", "nothing", "sub/../../outside.txt", "%2fetc%2fpasswd", ".env", "plain.txt",
	} {
		for _, op := range []string{"/file", "/raw"} {
			res := p.do(http.MethodGet, base+op+"?path="+path, token, "")
			b, _ := io.ReadAll(res.Body)
			if res.StatusCode < 400 || res.StatusCode >= 500 || bytes.Contains(b, []byte("hidden")) {
				t.Errorf("%s %s: %d %s", op, path, res.StatusCode, b)
			}
		}
	}
	for _, dir := range []string{"..", "up", "abs", "/etc", "/"} {
		b := p.do(http.MethodGet, base+"/files?path="+dir, token, "")
		body, _ := io.ReadAll(b.Body)
		if bytes.Contains(body, []byte("outside.txt")) || bytes.Contains(body, []byte("passwd")) {
			t.Errorf("%s: %s", dir, body)
		}
	}
	for _, id := range []string{"..", "%2e%2e", "..%2f..", "nothing", strings.Repeat("a", 5000)} {
		if res := p.do(http.MethodGet, "/v1/sessions/"+id+"/files", token, ""); res.StatusCode < 300 {
			t.Errorf("%s: %d", id, res.StatusCode)
		}
	}
	for _, path := range []string{"in.txt", "in2"} {
		if b := p.want(http.StatusOK, http.MethodGet, base+"/file?path="+path, token, ""); !bytes.Contains(b, []byte("inside")) {
			t.Errorf("%s: %s", path, b)
		}
	}
	res := p.do(http.MethodGet, base+"/raw?path=page.html", token, "")
	if res.Header.Get("Content-Type") != "application/octet-stream" || res.Header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment") ||
		!strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("a browser would run it: %v", res.Header)
	}
	b := p.want(http.StatusOK, http.MethodGet, base+"/search?in=content&text=needle", token, "")
	if !bytes.Contains(b, []byte("sub.go")) || bytes.Contains(b, []byte("hidden")) {
		t.Errorf("%s", b)
	}
	p.want(http.StatusOK, http.MethodGet, base+"/file?path=.env", p.token(Scopes...), "")
	p.want(http.StatusForbidden, http.MethodGet, base+"/completions?kind=file&text=/etc/", token, "")
	p.want(http.StatusForbidden, http.MethodGet, "/v1/settings?dir=/etc", token, "")
	if b := p.want(http.StatusOK, http.MethodGet, base+"/search?text=sub", token, ""); !bytes.Contains(b, []byte("sub.go")) {
		t.Errorf("%s", b)
	}
	p.want(http.StatusForbidden, http.MethodGet, base+"/search?text=../out", token, "")
}

func TestBodiesHaveALimit(t *testing.T) {
	p := newPlace(t)
	token := p.token(Scopes...)
	huge := `{"dir":"` + strings.Repeat("a", mostBody) + `"}`
	p.want(http.StatusRequestEntityTooLarge, http.MethodPost, "/v1/sessions", token, huge)
	p.want(http.StatusBadRequest, http.MethodPost, "/v1/sessions", token, strings.Repeat("[", 100_000))
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(make([]byte, 10<<20))
	_ = z.Close()
	p.want(http.StatusUnsupportedMediaType, http.MethodPost, "/v1/sessions", token, bomb.String(), "Content-Encoding", "gzip")
	res := p.do(http.MethodGet, "/v1/me", token, "", "X-Long", strings.Repeat("a", 64<<10))
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", res.StatusCode)
	}
	// without a token the body is not even read
	conn, err := net.Dial("tcp", p.tcp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "POST /v1/sessions HTTP/1.1\r\nHost: "+p.tcp+"\r\nContent-Length: 1000000000\r\n\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "401") {
		t.Errorf("%s %v", line, err)
	}
}

func TestASlowPeerIsLetGo(t *testing.T) {
	p := newPlace(t)
	for _, slow := range []string{"", "GET /v1/me HTTP/1.1\r\nHost: " + p.tcp + "\r\nX-Slow: "} {
		t.Run(slow, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", p.tcp)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, slow)
			_ = conn.SetReadDeadline(time.Now().Add(4 * headerWait))
			if _, err := io.ReadAll(conn); err != nil {
				t.Errorf("it is kept: %v", err)
			}
		})
	}
}

func TestConnectionsHaveALimit(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := newLimited(inner)
	for range mostConns {
		l.count("203.0.113.7", 1, mostConns)
	}
	if l.count("203.0.113.8", 1, mostConns) {
		t.Error("there is no limit in all")
	}
	l = newLimited(inner)
	for range mostConnsIP {
		l.count("203.0.113.7", 1, mostConnsIP)
	}
	if l.count("203.0.113.7", 1, mostConnsIP) || !l.count("203.0.113.8", 1, mostConnsIP) {
		t.Error("there is no limit for an address")
	}
	l.count("203.0.113.7", -1, mostConnsIP)
	if !l.count("203.0.113.7", 1, mostConnsIP) {
		t.Error("what ended still counts")
	}
}

func TestRatesAreToldAndHold(t *testing.T) {
	p := newPlace(t)
	token := p.token(Read)
	res := p.do(http.MethodGet, "/v1/me", token, "")
	if res.Header.Get("RateLimit-Limit") != "2000" || res.Header.Get("RateLimit-Remaining") == "" {
		t.Errorf("%v", res.Header)
	}
	refused := false
	for i := range 2 * strangerBurst { // what a proxy claims is not another address
		res := p.do(http.MethodGet, "/v1/me", "lathe_00000000_wrong", "", "X-Forwarded-For", fmt.Sprint("203.0.113.", i))
		if res.StatusCode == http.StatusTooManyRequests {
			refused = res.Header.Get("Retry-After") != ""
		}
	}
	if !refused {
		t.Error("guessing tokens is not slowed down")
	}
	p.want(http.StatusOK, http.MethodGet, "/v1/me", token, "")
	if left := p.rates.take("x", 2, 0); left != 1 {
		t.Errorf("%v", left)
	}
	p.rates.take("x", 2, 0)
	if left := p.rates.take("x", 2, 0); left >= 0 {
		t.Errorf("%v", left)
	}
}

func TestARequestThatAProxyForwardsIsRemote(t *testing.T) {
	p := newPlace(t)
	token := p.token(Scopes...)
	for header, want := range map[string]bool{
		"X-Other": false, "X-Forwarded-For": true, "Forwarded": true, "Via": true, "X-Real-Ip": true,
	} {
		var who Me
		b := p.want(http.StatusOK, http.MethodGet, "/v1/me", token, "", header, "127.0.0.1")
		if err := json.Unmarshal(b, &who); err != nil || who.Remote != want {
			t.Errorf("%s: %+v %v", header, who, err)
		}
	}
}
