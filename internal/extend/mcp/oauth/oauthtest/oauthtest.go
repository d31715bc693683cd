// Package oauthtest is an MCP server that wants tokens, and the authorization server that gives them, over real HTTP,
// for tests.
package oauthtest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// World is an MCP server that wants tokens and the authorization server that gives them, each on its own address.
// The fields change their ways.
type World struct {
	Server, Issuer *httptest.Server

	Resource map[string]any              // instead of the server's metadata; nil values are left out
	Metadata map[string]any              // instead of the issuer's
	Answer   func(q url.Values)          // changes what the browser brings back
	Token    func(out map[string]any)    // changes the answer of the token endpoint
	Status   int                         // of the token endpoint; 0: as it should be
	Handle   map[string]http.HandlerFunc // instead of a path of the issuer
	Hosted   map[string]http.Handler     // instead of a path of the server
	Mute     bool                        // the server does not say where its metadata is

	inner    http.Handler
	mu       sync.Mutex
	scope    string       // that calls need; others are answered with 403
	Asked    []string     // the paths that were asked for
	posts    []url.Values // what the token endpoint was sent
	Basic    string       // the identity that the token endpoint saw
	codes    map[string]url.Values
	valid    map[string]string // scopes by access token
	Refresh  map[string]string // scopes by refresh token
	count    int
	Revoked  []string
	Received []string // tokens that the server got
}

// New starts both; calls with a good token get to inner, or, where that is nil, an answer.
func New(t testing.TB, inner http.Handler) *World {
	t.Helper()
	w := &World{
		inner: inner, codes: map[string]url.Values{}, valid: map[string]string{}, Refresh: map[string]string{},
		Handle: map[string]http.HandlerFunc{},
	}
	w.mu.Lock() // a client of an earlier server on the same port may ask at once
	w.Server = httptest.NewServer(http.HandlerFunc(w.serve))
	w.Issuer = httptest.NewServer(http.HandlerFunc(w.issue))
	w.mu.Unlock()
	t.Cleanup(func() {
		w.Server.CloseClientConnections()
		w.Server.Close()
		w.Issuer.Close()
	})
	return w
}

// URL is the address of the MCP server.
func (w *World) URL() string { return w.Server.URL + "/mcp" }

func reply(rw http.ResponseWriter, status int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(status)
	_ = json.NewEncoder(rw).Encode(v)
}

// changed returns an object with other values; nil removes one.
func changed(v, by map[string]any) map[string]any {
	maps.Copy(v, by)
	maps.DeleteFunc(v, func(_ string, x any) bool { return x == nil })
	return v
}

func (w *World) serve(rw http.ResponseWriter, r *http.Request) {
	if h := w.Hosted[r.URL.Path]; h != nil {
		h.ServeHTTP(rw, r)
	} else if w.admit(rw, r) {
		w.inner.ServeHTTP(rw, r)
	}
}

// admit answers a request, or reports that it is for the inner handler.
func (w *World) admit(rw http.ResponseWriter, r *http.Request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.URL.Path == "/.well-known/oauth-protected-resource/mcp" {
		reply(rw, 200, changed(map[string]any{
			"resource": w.URL(), "authorization_servers": []string{w.Issuer.URL},
			"scopes_supported": []string{"read"},
		}, w.Resource))
		return false
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	w.Received = append(w.Received, token)
	have, ok := w.valid[token]
	switch {
	case r.URL.Path != "/mcp":
		http.NotFound(rw, r)
	case !ok:
		if w.Mute {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			rw.WriteHeader(http.StatusUnauthorized)
			return false
		}
		rw.Header().Set("WWW-Authenticate", `Bearer realm="x", resource_metadata="`+w.Server.URL+
			`/.well-known/oauth-protected-resource/mcp", scope="read"`)
		rw.WriteHeader(http.StatusUnauthorized)
	case w.scope != "" && !slices.Contains(strings.Fields(have), w.scope):
		rw.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+w.scope+`"`)
		rw.WriteHeader(http.StatusForbidden)
	case w.inner != nil:
		return true
	default:
		reply(rw, 200, map[string]any{"ok": true})
	}
	return false
}

func (w *World) issue(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Asked = append(w.Asked, r.URL.Path)
	_ = r.ParseForm()
	if h := w.Handle[r.URL.Path]; h != nil {
		h(rw, r)
		return
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		reply(rw, 200, changed(map[string]any{
			"issuer": w.Issuer.URL, "authorization_endpoint": w.Issuer.URL + "/authorize", "token_endpoint": w.Issuer.URL +
				"/token", "registration_endpoint": w.Issuer.URL + "/register",
			"revocation_endpoint": w.Issuer.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"},
		}, w.Metadata))
	case "/register":
		w.count++
		reply(rw, 201, map[string]any{"client_id": fmt.Sprint("client-", w.count), "token_endpoint_auth_method": "none"})
	case "/authorize":
		w.authorize(rw, r)
	case "/token":
		w.exchange(rw, r)
	case "/revoke":
		w.Revoked = append(w.Revoked, r.PostForm.Get("token"))
	default:
		http.NotFound(rw, r)
	}
}

func (w *World) authorize(rw http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	w.count++
	code := fmt.Sprint("code-", w.count)
	w.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {w.Issuer.URL}}
	if w.Answer != nil {
		w.Answer(back)
	}
	http.Redirect(rw, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (w *World) exchange(rw http.ResponseWriter, r *http.Request) {
	f := r.PostForm
	w.posts = append(w.posts, f)
	if user, secret, ok := r.BasicAuth(); ok {
		w.Basic = user + ":" + secret
	}
	scope := f.Get("scope")
	switch f.Get("grant_type") {
	case "authorization_code":
		q, ok := w.codes[f.Get("code")]
		delete(w.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if !ok || q.Get("code_challenge_method") != "S256" || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get(
			"code_challenge") || f.Get("redirect_uri") != q.Get("redirect_uri") || f.Get("resource") != q.Get("resource") {
			reply(rw, 400, map[string]any{"error": "invalid_grant"})
			return
		}
		scope = q.Get("scope")
	case "refresh_token":
		var ok bool
		if scope, ok = w.Refresh[f.Get("refresh_token")]; !ok {
			reply(rw, 400, map[string]any{"error": "invalid_grant", "error_description": "used before"})
			return
		}
		delete(w.Refresh, f.Get("refresh_token")) // it rotates
	}
	w.count++
	access, refresh := fmt.Sprint("access-", w.count), fmt.Sprint("refresh-", w.count)
	w.valid[access], w.Refresh[refresh] = scope, scope
	out := map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": refresh,
		"scope": scope,
	}
	if w.Token != nil {
		w.Token(out)
	}
	status := 200
	if w.Status != 0 {
		status = w.Status
	}
	reply(rw, status, out)
}

// Expire makes the server refuse all tokens so far.
func (w *World) Expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.valid)
}

// Require has calls need a scope.
func (w *World) Require(scope string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scope = scope
}

// Exchanges is how often the token endpoint was asked.
func (w *World) Exchanges() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.posts)
}

// Last is the last form that the token endpoint got.
func (w *World) Last(t testing.TB) url.Values {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.posts) == 0 {
		t.Fatal("the token endpoint was not asked")
	}
	return w.posts[len(w.posts)-1]
}
