package mcp_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/lathe-dev/lathe/internal/extend/mcp"
)

// serve runs a handler of the official SDK behind a wall that wants a header.
func serve(t *testing.T, h http.Handler, check func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if check == nil || check(w, r) {
			h.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}

func streamable(o *sdk.StreamableHTTPOptions) http.Handler {
	s := newOfficial()
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, o)
}

func legacy() http.Handler {
	s := newOfficial()
	return sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

func TestServersOverHTTPAreUsed(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		h    http.Handler
	}{
		"streamable":            {"http", streamable(nil)},
		"streamable, as JSON":   {"http", streamable(&sdk.StreamableHTTPOptions{JSONResponse: true})},
		"streamable, stateless": {"http", streamable(&sdk.StreamableHTTPOptions{Stateless: true})},
		"resumable":             {"http", streamable(&sdk.StreamableHTTPOptions{EventStore: sdk.NewMemoryEventStore(nil)})},
		"legacy":                {"sse", legacy()},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]any{"off": map[string]any{"type": c.kind, "url": serve(t, c.h, nil)}})
			b.start(t)
			if got := b.text(t, "mcp__off__echo", `{"text":"over HTTP"}`); got != "echo: over HTTP" {
				t.Errorf("%q", got)
			}
			if s := b.set.Status()[0]; s.State != mcp.Connected {
				t.Errorf("%+v", s)
			}
			if err := b.set.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestListChangesArriveOverHTTP(t *testing.T) {
	b := newBench(t, map[string]any{"off": map[string]any{"type": "http", "url": serve(t, streamable(nil), nil)}})
	b.start(t)
	b.text(t, "mcp__off__grow", `{"text":""}`)
	waitFor(t, func() bool { return b.tools(t)["mcp__off__grown"] != nil })
}

func TestHeadersComeFromTheEntryAndItsHelper(t *testing.T) {
	t.Setenv("TOKEN", "t0k")
	var refused atomic.Int32
	url := serve(t, streamable(nil), func(w http.ResponseWriter, r *http.Request) bool {
		ok := r.Header.Get("X-Fixed") == "t0k" && r.Header.Get("Authorization") == "Bearer 2"
		if !ok {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
		}
		return ok
	})
	count := filepath.Join(t.TempDir(), "count")
	helper := `echo x >>` + count + `; echo "{\"Authorization\": \"Bearer $(wc -l <` + count + ` | tr -d ' ')\"}"`
	b := newBench(t, map[string]any{"off": map[string]any{
		"type": "http", "url": url,
		"headers": map[string]string{"X-Fixed": "${TOKEN}"}, "headersHelper": helper,
	}})
	b.start(t)
	if got := b.text(t, "mcp__off__echo", `{"text":"x"}`); got != "echo: x" || refused.Load() != 1 {
		t.Errorf("%q after %d refusals", got, refused.Load())
	}
}

func TestAServerThatWantsCredentialsSaysSo(t *testing.T) {
	url := serve(t, streamable(nil), func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		return false
	})
	b := newBench(t, map[string]any{"off": map[string]any{"type": "http", "url": url}})
	b.start(t)
	if s := b.set.Status()[0]; s.State != mcp.NeedsAuth {
		t.Errorf("%+v", s)
	}
}

func TestRedirectsLeadNowhereElse(t *testing.T) {
	secret := false
	other := serve(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { secret = true }), nil)
	for name, to := range map[string]string{
		"another server":      other,
		"metadata of a cloud": "http://169.254.169.254/latest/meta-data/",
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, http.HandlerFunc(func(w http.ResponseWriter,
				r *http.Request,
			) {
				http.Redirect(w, r, to, http.StatusTemporaryRedirect)
			}), nil)
			b := newBench(t, map[string]any{
				"off": map[string]any{"type": "http", "url": url},
				"old": map[string]any{"type": "sse", "url": url},
			})
			b.start(t)
			for _, s := range b.set.Status() {
				if s.State != mcp.Failed || !strings.Contains(s.Err, "redirects to another one") {
					t.Errorf("%+v", s)
				}
			}
		})
	}
	if secret {
		t.Error("the other server was reached")
	}
	b := newBench(t, map[string]any{"direct": map[string]any{"type": "http", "url": "http://169.254.169.254/mcp"}})
	b.start(t)
	if s := b.set.Status()[0]; s.State != mcp.Failed || !strings.Contains(s.Err, "link-local") {
		t.Errorf("%+v", s)
	}
}

func TestTheOlderTransportPostsToItsOwnOriginOnly(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("event: endpoint\ndata: http://127.0.0.1:1/steal\n\n"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}), nil)
	b := newBench(t, map[string]any{"off": map[string]any{"type": "sse", "url": url}})
	b.start(t)
	if s := b.set.Status()[0]; s.State != mcp.Failed || !strings.Contains(s.Err, "another origin") {
		t.Errorf("%+v", s)
	}
}

func TestNoServerIsAtAnAddressOfMetadata(t *testing.T) {
	for _, host := range []string{
		"169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]",
		"[fd00:ec2::254]", "100.100.100.200", "168.63.129.16",
	} {
		b := newBench(t, map[string]any{"direct": map[string]any{"type": "http", "url": "http://" + host + "/mcp"}})
		b.start(t)
		if s := b.set.Status()[0]; s.State != mcp.Failed || !strings.Contains(s.Err, "where clouds have their metadata") {
			t.Errorf("%s: %+v", host, s)
		}
	}
}

// Old servers refuse what they do not know with an error that names no request.
func TestAnErrorWithoutAnIDEndsItsRequest(t *testing.T) {
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no such luck"}}`: "no such luck",
		`{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"m"}}`:  "m (-32600)",
		`{"jsonrpc":"2.0","id":4711,"result":{}}`:                                      "answered to another request",
	} {
		url := serve(t, mad(func(w http.ResponseWriter, _ *http.Request, _ string) { _, _ = w.Write([]byte(body)) }), nil)
		b := newBench(t, map[string]any{"h": map[string]any{"type": "http", "url": url}})
		b.start(t)
		if _, err := b.call(t.Context(), t, "mcp__h__act", `{}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
