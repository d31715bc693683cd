package llm

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t *testing.T, o HTTPOptions) *http.Client {
	t.Helper()
	c, err := HTTPClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func caller(t *testing.T) *Caller {
	return &Caller{Provider: "test", KeyVar: "TEST_KEY", URLVar: "TEST_URL", HTTP: client(t, HTTPOptions{Proxy: "none"})}
}

func body(s string) *Body {
	b := &Body{}
	for len(s) > 3 {
		b.AppendString(s[:3])
		s = s[3:]
	}
	b.AppendString(s)
	return b
}

// post sends and reads all; the error is that of either.
func post(t *testing.T, c *Caller, url string, header http.Header) (string, error) {
	t.Helper()
	r, err := c.Post(t.Context(), 1, &Outgoing{
		URL: url, Header: header, Model: "claude-sonet-4-5",
		Body: body(`{"hello":"world"}`),
	}, nil)
	if err != nil {
		return "", err
	}
	defer r.Close()
	got, err := io.ReadAll(r.body)
	if err != nil {
		return string(got), r.Failed(t.Context(), err)
	}
	return string(got), nil
}

func mustFail(t *testing.T, err error, kind ErrorKind, retryable bool, texts ...string) {
	t.Helper()
	e := AsError(err)
	if e == nil {
		t.Fatalf("no *Error: %v", err)
	}
	if e.Kind != kind || e.Retryable != retryable {
		t.Errorf("kind %s retryable %v, want %s %v: %v", e.Kind, e.Retryable, kind, retryable, err)
	}
	for _, want := range texts {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %q", err, want)
		}
	}
}

func TestRequestBodyHasALengthAndArrivesWhole(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if r.ContentLength != int64(len(b)) || r.Method != http.MethodPost {
			t.Errorf("length %d, body %d", r.ContentLength, len(b))
		}
		_, _ = w.Write(append([]byte("data: "), b...))
	})
	got, err := post(t, caller(t), s.URL, nil)
	if err != nil || got != `data: {"hello":"world"}` {
		t.Fatal(got, err)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Fail") != "" {
			w.WriteHeader(529)
		}
		_, _ = io.WriteString(w, "data: 1\n\ndata: rest that nobody reads\n\n")
	}))
	s.Config.ConnState = func(_ net.Conn, st http.ConnState) {
		if st == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := caller(t)
	for i := range 6 {
		h := http.Header{}
		if i%2 == 1 {
			h.Set("Fail", "1")
		}
		r, err := c.Post(t.Context(), 1, &Outgoing{URL: s.URL, Header: h, Body: body("{}")}, nil)
		if err != nil {
			continue
		}
		if _, err := NewSSEReader(r.body).Next(); err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 6 requests", n)
	}
}

func TestStallIsNoticed(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	c := caller(t)
	c.StallTimeout = 20 * time.Millisecond
	got, err := post(t, c, s.URL, nil)
	mustFail(t, err, KindStall, true, "no bytes for 20ms")
	if got != "data: 1\n\n" {
		t.Errorf("lost what came before: %q", got)
	}
}

func TestHeadersThatCannotBeSentAreRefusedAtOnce(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"X-Api-Key", "sk-ant-1\nsk-ant-2", "set TEST_KEY to the key alone"},
		{"Authorization", "Bearer a\r", "set TEST_KEY to the key alone"},
		{"X-Team", "a\x00b", "the header X-Team has"},
	} {
		k := caller(t)
		k.KeyVar = "TEST_KEY"
		_, err := post(t, k, "http://127.0.0.1:1", http.Header{c.name: {c.value}})
		e := AsError(err)
		if e == nil || e.Retryable || !strings.Contains(e.Error(), c.want) || strings.Contains(e.Error(), "sk-ant") {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestMissingHeadersAreNoticed(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	c := caller(t)
	c.HeaderTimeout = 20 * time.Millisecond
	_, err := post(t, c, s.URL, nil)
	mustFail(t, err, KindStall, true, "no answer", "20ms")
}

// countedTimer only records whether it is running.
type countedTimer struct{ armed bool }

func (t *countedTimer) Stop() bool               { was := t.armed; t.armed = false; return was }
func (t *countedTimer) Reset(time.Duration) bool { was := t.armed; t.armed = true; return was }

func TestWatchdogRunsOnlyWhileWaitingForBytes(t *testing.T) {
	timer := &countedTimer{}
	armedInside := false
	g := &stallGuard{limit: time.Second, clock: SystemClock, timer: timer, src: readerFunc(func(p []byte) (int, error) {
		armedInside = timer.armed
		return copy(p, ": ping\n"), nil
	})}
	for range 3 {
		if _, err := g.Read(make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		if !armedInside || timer.armed {
			t.Errorf("armed while reading: %v, after: %v", armedInside, timer.armed)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestRepliesThatAreNoModelsAnswer(t *testing.T) {
	for _, c := range []struct {
		name, body string
		kind       ErrorKind
		text       string
	}{
		{"a web page", "\n <html><body>502 Bad Gateway</body></html>", KindProtocol, "web page"},
		{"nothing", "", KindNetwork, "empty"},
		{"blank", " \r\n", KindNetwork, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, c.body) })
			_, err := post(t, caller(t), s.URL, nil)
			mustFail(t, err, c.kind, true, c.text, "TEST_URL")
		})
	}
}

func TestFramingIsChosenByContentType(t *testing.T) {
	message := awsMessageOf(t, map[string]string{":message-type": "event", ":event-type": "chunk"}, `{"n":1}`)
	for _, c := range []struct {
		name, contentType, body string
		want                    Framing
		events                  []string
	}{
		{"a stream", "text/event-stream; charset=utf-8", "data: {}\n\ndata: 2\n\n", FramingSSE, []string{"{}", "2"}},
		{"a stream without a type", "", "\n\nevent: x\ndata: 1\n\n", FramingSSE, []string{"1"}},
		{"a stream called JSON", "application/json", ": ok\n\ndata: 1\n\n", FramingSSE, []string{"1"}},
		{"JSON", "application/json", ` {"a":1} `, FramingJSON, []string{`{"a":1}`}},
		{"JSON called a stream", "text/event-stream", "{\n\n}", FramingJSON, []string{"{\n\n}"}},
		{"JSON called text", "text/plain", `[1]`, FramingJSON, []string{"[1]"}},
		{"JSON called an AWS stream", awsStreamType, `{"message":"no"}`, FramingJSON, []string{`{"message":"no"}`}},
		{"an AWS stream", awsStreamType, message + message, FramingAWS, []string{`{"n":1}`, `{"n":1}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.contentType != "" {
					w.Header().Set("Content-Type", c.contentType)
				}
				_, _ = io.WriteString(w, c.body)
			})
			r, err := caller(t).Post(t.Context(), 1, &Outgoing{URL: s.URL, Body: body("{}")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var got []string
			for events := r.Events(); ; {
				ev, err := events.Next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Fatal(err)
					}
					break
				}
				got = append(got, strings.TrimSpace(string(ev.Data)))
			}
			if r.Framing != c.want || !slices.Equal(got, c.events) {
				t.Errorf("framing %d, events %q", r.Framing, got)
			}
		})
	}
}

func TestACutJSONReplyIsMarked(t *testing.T) {
	const whole = `{"a":[1,"x"],"b":{}}`
	for at := 1; at <= len(whole); at++ {
		ev, err := (&wholeReader{src: strings.NewReader(whole[:at])}).Next()
		if err != nil || ev.Cut != (at < len(whole)) {
			t.Errorf("cut at %d: %+v, %v", at, ev, err)
		}
	}
	if ev, err := (&wholeReader{src: strings.NewReader(`{"a":1]]`)}).Next(); err != nil || ev.Cut {
		t.Errorf("broken JSON is not cut JSON: %+v, %v", ev, err)
	}
}

func TestCompressedRepliesAreUnpacked(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, "data: packed\n\n")
		_ = z.Close()
	})
	if got, err := post(t, caller(t), s.URL, nil); err != nil || got != "data: packed\n\n" {
		t.Fatal(got, err)
	}
	s = serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "???")
	})
	_, err := post(t, caller(t), s.URL, nil)
	mustFail(t, err, KindProtocol, false, "compressed as br")
}

func TestCutAndResetConnectionsAreRetryable(t *testing.T) {
	hijack := func(after string, reset bool) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, after)
			if reset {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
			_ = conn.Close()
		}
	}
	head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n"
	for name, h := range map[string]http.HandlerFunc{
		"cut before the headers": hijack("", false), "cut in the body": hijack(head, false),
		"reset before the headers": hijack("", true),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := post(t, caller(t), serve(t, h).URL, nil)
			mustFail(t, err, KindNetwork, true)
		})
	}
}

func TestRefusedConnectionNamesTheBaseURL(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	_, err = post(t, caller(t), "http://"+addr+"/v1", nil)
	mustFail(t, err, KindNetwork, true, "connection refused by "+addr, "TEST_URL")
	_, err = post(t, caller(t), "ftp://x/", nil)
	mustFail(t, err, KindInvalid, false, "TEST_URL")
}

func TestCancellationIsReturnedAsItself(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	_, err := caller(t).Post(ctx, 1, &Outgoing{URL: s.URL, Body: body("{}")}, nil)
	if !errors.Is(err, context.Canceled) || AsError(err) != nil {
		t.Fatal(err)
	}
}

func TestRedirectsDoNotCarryTheKeyElsewhere(t *testing.T) {
	var reached atomic.Bool
	other := serve(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			b, _ := io.ReadAll(r.Body)
			_, _ = w.Write(append([]byte("data: "), b...))
			return
		}
		to := "/moved"
		if r.URL.Path == "/away" {
			to = strings.Replace(other.URL, "127.0.0.1", "localhost", 1) + "/x?key=secret"
		}
		http.Redirect(w, r, to, http.StatusTemporaryRedirect)
	})
	_, err := post(t, caller(t), s.URL+"/away", http.Header{"X-Api-Key": {"sk-very-secret"}})
	mustFail(t, err, KindInvalid, false, "localhost", "does not send keys on", "TEST_URL")
	if reached.Load() || strings.Contains(err.Error(), "secret") {
		t.Errorf("reached %v: %v", reached.Load(), err)
	}
	if got, err := post(t, caller(t), s.URL+"/near", nil); err != nil || got != `data: {"hello":"world"}` {
		t.Errorf("same host: %q %v", got, err)
	}
}

func TestUnknownAuthorityIsATLSErrorUntilItIsAdded(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: "+r.Proto+"\n\n")
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	c := caller(t)
	_, err := post(t, c, s.URL, nil)
	mustFail(t, err, KindTLS, false, "NODE_EXTRA_CA_CERTS")

	file := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	c.HTTP = client(t, HTTPOptions{Proxy: "none", CACerts: []string{file}})
	if got, err := post(t, c, s.URL, nil); err != nil || got != "data: HTTP/2.0\n\n" {
		t.Fatal(got, err)
	}
	_, err = post(t, c, strings.Replace(s.URL, "127.0.0.1", "localhost", 1), nil)
	mustFail(t, err, KindTLS, false, "another host")
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, err = post(t, c, strings.Replace(plain.URL, "http:", "https:", 1), nil)
	mustFail(t, err, KindTLS, false, "http://")
}

func TestWrongHTTPSettingsAreNamed(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]HTTPOptions{
		"NODE_EXTRA_CA_CERTS":  {CACerts: []string{"/does/not/exist.pem"}},
		"BEGIN CERTIFICATE":    {CACerts: []string{empty}},
		"proxy: not a URL":     {Proxy: "http://"},
		`scheme "gopher"`:      {Proxy: "gopher://x:1"},
		"both the certificate": {ClientCert: empty},
	} {
		if _, err := HTTPClient(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", o, err)
		}
	}
}

func TestProxyIsUsedButForItsExceptions(t *testing.T) {
	var asked atomic.Int32
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, "data: via proxy for "+r.Host+"\n\n")
	})
	c := caller(t)
	c.HTTP = client(t, HTTPOptions{Proxy: proxy.URL, NoProxy: "direct.example"})
	if got, err := post(t, c, "http://model.example/v1", nil); err != nil ||
		got != "data: via proxy for model.example\n\n" {
		t.Fatal(got, err)
	}
	direct := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "data: direct\n\n") })
	if got, err := post(t, c, direct.URL, nil); err != nil || got != "data: direct\n\n" || asked.Load() != 1 {
		t.Fatal(got, err, asked.Load())
	}
	for _, x := range []struct {
		url, rules string
		want       bool
	}{
		{"https://a.example.com", "example.com", true},
		{"https://example.com", ".example.com", false},
		{"https://a.example.com", "*.example.com", true},
		{"https://notexample.com", "example.com", false},
		{"https://10.1.2.3", "10.0.0.0/8", true},
		{"https://10.1.2.3", "10.1.2.4, 10.1.2.3", true},
		{"https://a.com:8443", "a.com:8443", true},
		{"https://a.com", "a.com:8443", false},
		{"https://a.com", "a.com:443", true},
		{"https://a.com", "*", true},
		{"https://a.com", "", false},
		{"http://[::1]:80", "", true},
	} {
		req := httptest.NewRequest(http.MethodPost, x.url, nil)
		if got := bypassesProxy(req.URL, x.rules); got != x.want {
			t.Errorf("%s with %q: %v", x.url, x.rules, got)
		}
	}
}

func TestErrorBodiesAreSorted(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		header map[string]string
		kind   ErrorKind
		retry  bool
		texts  []string
	}{
		{
			"key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, nil, KindAuth,
			false,
			[]string{"invalid x-api-key", "TEST_KEY", "lathe doctor"},
		},
		{
			"forbidden", 403, `{"error":{"message":"no","type":"permission_error"}}`, nil, KindPermission, false,
			[]string{"TEST_KEY"},
		},
		{
			"model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-sonet-4-5"}}`, nil,
			KindNotFound, false,
			[]string{"claude-sonnet-4-5", "TEST_URL"},
		},
		{
			"context", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, nil, KindTooLarge, false,
			[]string{"/compact"},
		},
		{
			"context of OpenAI", 400,
			`{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, nil, KindTooLarge, false, nil,
		},
		{
			"invalid", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: bad"}}`, nil,
			KindInvalid, false,
			[]string{"messages.1: bad"},
		},
		{
			"credit", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, nil,
			KindBilling, false,
			[]string{"TEST_KEY"},
		},
		{
			"size", 413, `{"type":"error","error":{"type":"request_too_large","message":"too big"}}`, nil, KindTooLarge, false,
			nil,
		},
		{
			"rate", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`,
			map[string]string{"Retry-After": "12"},
			KindRateLimit, true, nil,
		},
		{
			"quota", 429,
			`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`,
			nil, KindBilling, false, nil,
		},
		{
			"spend limit", 429,
			`{"type":"error","error":{"type":"rate_limit_error","message":"You have reached your specified API usage limits."}}`, nil, KindBilling, false, nil,
		},
		{
			"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, nil,
			KindOverloaded, true, nil,
		},
		{"gateway", 502, `<html>bad</html>`, nil, KindServer, true, []string{"Bad Gateway"}},
		{"text", 500, `boom`, nil, KindServer, true, []string{"boom"}},
		{"string", 500, `{"error":"boom"}`, nil, KindServer, true, []string{"boom"}},
		{
			"detail", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, nil, KindInvalid, false,
			[]string{"field required"},
		},
		{"told not to", 500, `{}`, map[string]string{"X-Should-Retry": "false"}, KindServer, false, nil},
		{"conflict", 409, `{}`, nil, KindInvalid, true, nil},
		{"timeout", 408, ``, nil, KindNetwork, true, nil},
		{
			"list of Gemini", 400, `[{"error":{"code":400,"message":"Function calling is off.","status":"INVALID_ARGUMENT"}}]`,
			nil, KindInvalid, false,
			[]string{"Function calling is off."},
		},
		{
			"numeric status", 400, `{"error":{"message":"no such field","status":400}}`, nil, KindInvalid, false,
			[]string{"no such field"},
		},
		{
			"quota of a minute", 429,
			`[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateContentInputTokensPerModelPerMinute"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12s"}]}}]`, nil, KindRateLimit, true,
			[]string{"12s"},
		},
		{
			"quota of a day", 429,
			`{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"},{"quotaId":"GenerateRequestsPerMinute"}]},{"retryDelay":"3s"}]}}`, nil, KindBilling, false, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Request-Id", "req_1")
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := post(t, caller(t), s.URL, nil)
			e := AsError(err)
			if slices.Contains(c.texts, "12s") {
				c.header, c.texts = map[string]string{"Retry-After": "12"}, nil // told in the body
			}
			mustFail(t, err, c.kind, c.retry, c.texts...)
			if e.Status != c.status || e.RequestID != "req_1" {
				t.Errorf("status %d, request %q", e.Status, e.RequestID)
			}
			if c.header["Retry-After"] != "" && e.RetryAfter != 12*time.Second {
				t.Errorf("retry after %s", e.RetryAfter)
			}
		})
	}
}

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	now := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second},
		{"Retry-After", "1.5", 1500 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", now.Add(time.Minute).Format(http.TimeFormat), time.Minute},
		{"Retry-After", "soon", 0},
		{"Retry-After", now.Add(-time.Minute).Format(http.TimeFormat), 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After", "1e300", 365 * 24 * time.Hour},
		{"Retry-After", "NaN", 0},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.name, c.value, got, c.want)
		}
	}
}

func TestKeysAndControlCharactersStayOutOfErrors(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		_, _ = io.WriteString(w, `{"error":{"message":"bad key `+r.Header.Get("X-Api-Key")+" "+r.Header.Get("Authorization")+
			`\u001b[31m\u009b2J\r\nnext \u202e"}}`)
	})
	_, err := post(t, caller(t), s.URL, http.Header{
		"X-Api-Key":     {"sk-ant-123456"},
		"Authorization": {"Bearer tok-abcdef"},
	})
	for _, bad := range []string{"sk-ant-123456", "tok-abcdef", "\x1b", "\u009b", "\n", "\u202e"} {
		if strings.Contains(err.Error(), bad) {
			t.Errorf("%q holds %q", err, bad)
		}
	}
	if !strings.Contains(err.Error(), `[key] Bearer [key]\u001b[31m\u009b2J next \u202e`) {
		t.Error(err)
	}
}

func TestForeignTextIsCut(t *testing.T) {
	got := Clean(strings.Repeat("é", 600))
	if n := len([]rune(got)); n != 501 || !strings.HasSuffix(got, "…") {
		t.Errorf("%d characters", n)
	}
	if got := Clean(" a \xff\t\n b "); got != `a \xff b` {
		t.Errorf("%q", got)
	}
}

func TestBodyIsReadAgainAndAgain(t *testing.T) {
	b := body(strings.Repeat("abcdefg", 100))
	for range 2 {
		got, err := io.ReadAll(b.Reader())
		if err != nil || !bytes.Equal(got, b.Bytes()) || int64(len(got)) != b.Len() {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}

// A prompt that is too long is compacted and sent again, so it must be recognized however a host words its refusal, and
// nothing else may be taken for it.
func TestAPromptThatIsTooLongIsRecognizedInAnyWording(t *testing.T) {
	long := []struct {
		status        int
		code, message string
	}{
		{400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"},
		{413, "request_too_large", "Request exceeds the maximum size"},
		{400, "context_length_exceeded", "Your input exceeds the context window of this model"},
		{400, "", "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens"},
		{400, "INVALID_ARGUMENT", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."},
		{400, "", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."},
		{400, "invalid_request_error", "Please reduce the length of the messages or completion."},
		{400, "model_max_prompt_tokens_exceeded", "prompt token count of 140000 exceeds the limit of 128000"},
		{400, "exceed_context_size_error", "the request exceeds the available context size, try increasing it"},
		{400, "", "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with " +
			"context length of only 4096 tokens"},
		{400, "", "invalid params, context window exceeds limit (2013)"},
		{
			400, "invalid_request_error",
			"Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
		},
		{400, "", "Prompt contains 130000 tokens, too large for model with 128000 maximum context length"},
		{400, "ValidationException", "Input is too long for requested model."},
		{400, "InternalError.Algo.InvalidParameter", "Range of input length should be [1, 129024]"},
		{400, "", "too many tokens: total number of tokens in the prompt cannot exceed 128000"},
		{422, "validation", "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000"},
		{422, "validation", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 9000"},
		{400, "", "Input tokens exceed the configured limit of 272000 tokens."},
		{400, "BadRequestError", "The decoder prompt (length 9000) is longer than the maximum model length of 8192."},
		{400, "", "prompt too long; exceeded max context length by 12 tokens"},
		{400, "1261", "Prompt exceeds max length"},
		{400, "context_length_exceeded", "Please reduce the length of the messages or completion. Current length is 9000 " +
			"while limit is 8192"},
		{400, "", "Your request exceeded: token limit exceeded"},
		{400, "", "prompt too long for this model"},
		// older llama.cpp
		{500, "", "the request exceeds the available context size. try increasing the context size or enable context shift"},
		{400, "", "too many tokens: size limit exceeded by 12 tokens"},
		{400, "", "there are too many input tokens"},
		{400, "BadRequestError", "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens " +
			"(8000 in the messages, 1000 in the completion)."},
		{0, "model_context_window_exceeded", "stopped"},
	}
	for _, c := range long {
		if got := kindOfStatus(c.status, c.code, c.message); got != KindTooLarge {
			t.Errorf("%d %q %q: %s", c.status, c.code, c.message, got)
		}
	}
	for _, c := range []struct {
		status        int
		code, message string
		want          ErrorKind
	}{
		{
			429, "rate_limit_error",
			"This request would exceed your organization's rate limit of 30,000 input tokens per minute", KindRateLimit,
		},
		{
			400, "invalid_request_error", "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
			KindInvalid,
		},
		{
			400, "invalid_value", "max_tokens is too large: 99999. This model supports at most 16384 completion tokens",
			KindInvalid,
		},
		{400, "invalid_request_error", "messages.3.content: field required", KindInvalid},
		{400, "", "tools.0.name: string too long", KindInvalid},
		{402, "", "This request requires more credits: you requested up to 8000 tokens, context length 4000", KindBilling},
	} {
		if got := kindOfStatus(c.status, c.code, c.message); got != c.want {
			t.Errorf("%d %q %q: %s, want %s", c.status, c.code, c.message, got, c.want)
		}
	}
}

func TestARefusedImageIsToldApart(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   ErrorKind
	}{
		{
			400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0.image.source.base64.data: Could not process image"}}`, KindImage,
		},
		{
			400, `{"error":{"message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 7 MB > 5 MB"}}`,
			KindImage,
		},
		{400, `{"error":{"message":"You uploaded an unsupported file.","code":"invalid_image_format"}}`, KindImage},
		{
			400, `{"error":{"code":400,"message":"Unable to process input image. Please retry.","status":"INVALID_ARGUMENT"}}`,
			KindImage,
		},
		{404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, KindImage},
		{404, `{"error":{"message":"The model gpt-image-1 does not exist"}}`, KindNotFound},
		{400, `{"error":{"message":"prompt is too long: 250000 tokens, images included"}}`, KindTooLarge},
		{400, `{"error":{"message":"tools.0.name: too long"}}`, KindInvalid},
		{500, `{"error":{"message":"image service down"}}`, KindServer},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := post(t, caller(t), s.URL, nil)
		mustFail(t, err, c.want, c.want == KindServer)
	}
}
