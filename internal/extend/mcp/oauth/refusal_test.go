package oauth_test

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth"
	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth/oauthtest"
)

func TestLoginsThatCannotBeTrustedAreRefused(t *testing.T) {
	answer := func(name, value string) func(world) {
		return func(w world) {
			w.Answer = func(q url.Values) {
				if q.Del(name); value != "" {
					q.Set(name, value)
				}
			}
		}
	}
	metadata := func(name string, value any) func(world) {
		return func(w world) { w.Metadata = map[string]any{name: value} }
	}
	token := func(name string, value any) func(world) {
		return func(w world) { w.Token = func(out map[string]any) { out[name] = value } }
	}
	page := func(path string, h http.HandlerFunc) func(world) {
		return func(w world) { w.Handle[path] = h }
	}
	const wellKnown = "/.well-known/oauth-authorization-server"
	for name, c := range map[string]struct {
		change func(world)
		want   string
	}{
		"metadata of another resource": {func(w world) {
			w.Resource = map[string]any{"resource": "https://other.example.com/mcp"}
		}, "that of another one"},
		"metadata of a sibling": {
			func(w world) { w.Resource = map[string]any{"resource": w.URL() + "2"} },
			"that of another one",
		},
		"another issuer's metadata":    {metadata("issuer", "https://other.example.com"), "is that of"},
		"no PKCE":                      {metadata("code_challenge_methods_supported", nil), "PKCE"},
		"only plain PKCE":              {metadata("code_challenge_methods_supported", []string{"plain"}), "PKCE"},
		"a link-local token endpoint":  {metadata("token_endpoint", "http://169.254.169.254/latest/meta-data"), "link-local"},
		"a mapped link-local endpoint": {metadata("token_endpoint", "http://[::ffff:169.254.169.254]/"), "link-local"},
		"a script for the browser":     {metadata("authorization_endpoint", "javascript:alert(1)"), "scheme"},
		"a file for the browser":       {metadata("authorization_endpoint", "file:///etc/passwd"), "scheme"},
		"an endpoint with a user":      {metadata("token_endpoint", "http://user@127.0.0.1/"), "user"},
		"no way to register":           {metadata("registration_endpoint", nil), "clientId"},
		"another issuer's answer":      {answer("iss", "https://other.example.com"), "comes from"},
		"a refusal by the user": {func(w world) {
			w.Answer = func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }
		}, "access_denied"},
		"no code":       {answer("code", ""), "no code"},
		"a forged code": {answer("code", "forged"), "invalid_grant"},
		"a missing issuer": {func(w world) {
			answer("iss", "")(w)
			metadata("authorization_response_iss_parameter_supported", true)(w)
		}, "does not say"},
		"another token":     {token("token_type", "DPoP"), "bearer tokens"},
		"no token":          {token("access_token", ""), "no token"},
		"a header in it":    {token("access_token", "x\r\nX-Evil: 1"), "no token"},
		"a broken endpoint": {func(w world) { w.Status = 500 }, "500"},
		"a redirect of the metadata": {page(wellKnown, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/iam", http.StatusFound)
		}), "redirects"},
		"a redirect of the token endpoint": {page("/token", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}), "redirects"},
		"endless metadata": {page(wellKnown, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				fmt.Fprint(w, strings.Repeat(" ", 1<<16))
			}
		}), "more than 1 MB"},
		"a gzip bomb": {page(wellKnown, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1024 {
				fmt.Fprint(z, strings.Repeat(" ", 1<<16))
			}
			_ = z.Close()
		}), "more than 1 MB"},
		"huge headers": {page(wellKnown, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Big", strings.Repeat("x", 1<<20))
		}), "header"},
		"a page instead of metadata": {page(wellKnown,
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }), "not with JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			w, file := world{oauthtest.New(t, nil)}, newFile(t)
			c.change(w)
			cl := w.client(file, oauth.Preset{})
			err := cl.Login(t.Context(), oauth.Browser{Open: browser})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v; want %q", err, c.want)
			}
			if st, _ := cl.State(); st.In {
				t.Error("and yet there is a login")
			}
			for _, secret := range []string{"access-", "refresh-", "code-"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error has a secret: %v", err)
				}
			}
		})
	}
}

// The tests run on this machine, which is a private network. Whether a public server can send lathe here is shown with
// one that is public by its name.
func TestAPublicServerDoesNotSendLatheToPrivateAddresses(t *testing.T) {
	w := world{oauthtest.New(t, nil)}
	for _, at := range []string{
		w.Issuer.URL, strings.Replace(w.Issuer.URL, "127.0.0.1", "localhost", 1),
		"http://10.0.0.1", "http://[::1]:1", "http://192.168.1.1", "http://100.64.0.1", "http://0.0.0.0:1",
		"http://[fd00::1]",
	} {
		c := oauth.New(oauth.Options{
			Server: "http://203.0.113.1/mcp",
			Preset: oauth.Preset{Metadata: at + "/.well-known/oauth-authorization-server"}, Store: w.store(newFile(t)),
		})
		err := c.Refused(t.Context(), "", 401, `Bearer resource_metadata="`+at+`/x"`)
		_ = needsLogin(t, err) // and notes the challenge
		if err := c.Login(t.Context(), oauth.Browser{Open: browser}); err == nil || !strings.Contains(err.Error(),
			"private network") && !strings.Contains(err.Error(), "this machine") {
			t.Errorf("%s: %v", at, err)
		}
	}
	c := oauth.New(oauth.Options{Server: "https://203.0.113.1/mcp", Store: w.store(newFile(t))})
	_ = needsLogin(t, c.Refused(t.Context(), "", 401, `Bearer resource_metadata="http://203.0.113.2/x"`))
	if err := c.Login(t.Context(), oauth.Browser{Open: browser}); err == nil || !strings.Contains(err.Error(), "scheme") {
		t.Errorf("a server over https sends lathe to http: %v", err)
	}
	if len(w.Asked) > 0 {
		t.Errorf("%v was asked", w.Asked)
	}
}
