package oauth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth"
	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth/oauthtest"
)

// shows answers with an object.
func shows(v map[string]any) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(v)
	}
}

// metadata of an issuer whose endpoints are those of the world's.
func (w world) metadata(issuer string) http.HandlerFunc {
	at := w.Issuer.URL
	return shows(map[string]any{
		"issuer": issuer, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token",
		"registration_endpoint":            at + "/register",
		"code_challenge_methods_supported": []string{"S256"},
	})
}

// Each place where metadata may be is the only one that has it.
func TestMetadataIsFoundAtEachOfItsPlaces(t *testing.T) {
	const asResource, asIssuer, asOpenID = "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	tenant := func(place string) func(w world) string {
		return func(w world) string {
			issuer := w.Issuer.URL + "/tenant"
			w.Resource = map[string]any{"authorization_servers": []string{issuer}}
			w.Handle = map[string]http.HandlerFunc{asIssuer: http.NotFound, place: w.metadata(issuer)}
			return issuer
		}
	}
	ofServer := func(w world, hosted map[string]http.Handler) string {
		w.Hosted = hosted
		w.Hosted[asResource+"/mcp"] = http.NotFoundHandler()
		return w.Server.URL
	}
	for name, set := range map[string]func(w world) (issuer string){
		"the server's path": func(w world) string { return w.Issuer.URL },
		"the server's origin": func(w world) string {
			ofServer(w, map[string]http.Handler{asResource: shows(map[string]any{
				"resource":              w.Server.URL,
				"authorization_servers": []string{w.Issuer.URL},
			})})
			return w.Issuer.URL
		},
		"OpenID Connect": func(w world) string {
			w.Handle = map[string]http.HandlerFunc{asIssuer: http.NotFound, asOpenID: w.metadata(w.Issuer.URL)}
			return w.Issuer.URL
		},
		"an issuer with a path":                    tenant(asIssuer + "/tenant"),
		"OpenID Connect, with the path at the end": tenant(asOpenID + "/tenant"),
		"OpenID Connect, below the path":           tenant("/tenant" + asOpenID),
		"the server is its issuer": func(w world) string {
			return ofServer(w, map[string]http.Handler{asIssuer: w.metadata(w.Server.URL)})
		},
		"the server has no metadata": func(w world) string {
			at, _ := url.Parse(w.Issuer.URL)
			there := httputil.NewSingleHostReverseProxy(at)
			return ofServer(w, map[string]http.Handler{"/register": there, "/authorize": there, "/token": there})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := world{oauthtest.New(t, nil)}
			w.Mute = true
			w.Answer = func(q url.Values) { q.Del("iss") }
			issuer := set(w)
			c := w.client(newFile(t), oauth.Preset{})
			login(t, c)
			w.works(t, c)
			if st, err := c.State(); err != nil || st.Issuer != issuer {
				t.Errorf("%+v, %v; want the issuer %s", st, err, issuer)
			}
		})
	}
}
