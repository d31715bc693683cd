package oauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth"
	"github.com/lathe-dev/lathe/internal/extend/mcp/oauth/oauthtest"
	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// world gives clients their server.
type world struct{ *oauthtest.World }

// client makes a client of the world's server whose logins are in a file.
func (w world) client(file string, preset oauth.Preset) *oauth.Client {
	return oauth.New(oauth.Options{Server: w.URL(), Preset: preset, Store: keyring.Open(file, nil)})
}

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "logins.json") }

// browser is a user who consents at once.
func browser(ctx context.Context, address string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.Body.Close()
}

func login(t *testing.T, c *oauth.Client) {
	t.Helper()
	if err := c.Login(t.Context(), oauth.Browser{Open: browser}); err != nil {
		t.Fatal(err)
	}
}

// call sends a request to the server as the transport does: with the token, and once more after a refusal.
func (w world) call(ctx context.Context, c *oauth.Client) (status int, err error) {
	return call(ctx, w.URL(), c)
}

func call(ctx context.Context, server string, c *oauth.Client) (status int, err error) {
	for again := range 2 {
		token, err := c.Token(ctx)
		if err != nil {
			return 0, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, server, http.NoBody)
		if err != nil {
			return 0, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		resp.Body.Close()
		if status = resp.StatusCode; status < 400 || again == 1 {
			return status, nil
		}
		if err := c.Refused(ctx, token, status, resp.Header.Get("WWW-Authenticate")); err != nil {
			return status, err
		}
	}
	return status, nil
}

func (w world) works(t *testing.T, c *oauth.Client) {
	t.Helper()
	if status, err := w.call(t.Context(), c); err != nil || status != 200 {
		t.Errorf("status %d, %v", status, err)
	}
}

func needsLogin(t *testing.T, err error) *oauth.NeedsLogin {
	t.Helper()
	n, ok := errors.AsType[*oauth.NeedsLogin](err)
	if !ok {
		t.Fatalf("%v does not ask to log in", err)
	}
	return n
}

func TestALoginIsDiscoveredGivenAndKept(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	c := w.client(file, oauth.Preset{})
	if _, err := w.call(t.Context(), c); needsLogin(t, err).Scopes != "" {
		t.Error(err)
	}
	login(t, c)
	w.works(t, c)
	w.works(t, w.client(file, oauth.Preset{})) // another run of lathe
	got := w.Last(t)
	if got.Get("resource") != w.URL() || got.Get("client_id") != "client-1" || got.Get("code_verifier") == "" {
		t.Errorf("%v", got)
	}
	st, err := c.State()
	if err != nil || !st.In || st.Issuer != w.Issuer.URL || st.Scope != "read" || !st.Renews {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestALoginIsOfOneAddressAndPresetOnly(t *testing.T) {
	w, other, file := world{oauthtest.New(t, nil)}, world{oauthtest.New(t, nil)}, newFile(t)
	login(t, w.client(file, oauth.Preset{}))
	for name, c := range map[string]*oauth.Client{
		"another server": other.client(file, oauth.Preset{}), "another client": w.client(file,
			oauth.Preset{ClientID: "mine"}), "another issuer": w.client(file, oauth.Preset{Metadata: other.Issuer.URL}),
	} {
		if token, err := c.Token(t.Context()); token != "" || err != nil {
			t.Errorf("%s gets the token: %v", name, err)
		}
	}
	// A file in which somebody put the login below another address.
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	all["mcp"][other.URL()] = all["mcp"][w.URL()]
	if data, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if token, err := other.client(file, oauth.Preset{}).Token(t.Context()); token != "" || err != nil {
		t.Errorf("a token for another audience is sent: %v", err)
	}
}

func TestATokenIsRenewedBeforeItsEndAndAfterARefusal(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	w.Token = func(out map[string]any) { out["expires_in"] = 10 } // less than the time it is renewed ahead of
	c := w.client(file, oauth.Preset{})
	login(t, c)
	w.Token = nil
	w.works(t, c)
	if got := w.Last(t); got.Get("grant_type") != "refresh_token" || got.Get("resource") != w.URL() {
		t.Errorf("%v", got)
	}
	w.Expire()
	w.works(t, c)
}

func TestSeveralProcessesRenewOnce(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	login(t, w.client(file, oauth.Preset{}))
	w.Expire()
	var wg sync.WaitGroup
	for range 8 {
		c := w.client(file, oauth.Preset{}) // its locks are its own those process
		wg.Go(func() { w.works(t, c) })
	}
	wg.Wait()
	// the login and one renewal; a second one would have ended the login, since tokens rotate
	if n := w.Exchanges(); n != 2 {
		t.Errorf("the token endpoint was asked %d times", n)
	}
}

func TestARenewalIsKeptThoughTheCallIsCancelled(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	c := w.client(file, oauth.Preset{})
	login(t, c)
	token, _ := c.Token(t.Context())
	w.Expire()
	ctx, cancel := context.WithCancel(t.Context())
	w.Token = func(map[string]any) { cancel() } // between the rotation and the answer
	if err := c.Refused(ctx, token, 401, ""); err != nil {
		t.Fatal(err)
	}
	w.Token = nil
	w.works(t, w.client(file, oauth.Preset{}))
}

func TestARefusedRenewalEndsTheLogin(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	c := w.client(file, oauth.Preset{})
	login(t, c)
	w.Expire()
	clear(w.Refresh)
	_, err := w.call(t.Context(), c)
	if n := needsLogin(t, err); !strings.Contains(n.Error(), "used before") {
		t.Error(err)
	}
	if st, _ := c.State(); st.In {
		t.Errorf("%+v", st)
	}
	login(t, c)
	w.works(t, c)
}

func TestAnIssuerThatIsDownEndsNoLogin(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	c := w.client(file, oauth.Preset{})
	login(t, c)
	w.Expire()
	w.Handle["/token"] = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) }
	if _, err := w.call(t.Context(), c); err == nil || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	delete(w.Handle, "/token")
	w.works(t, c)
}

func TestScopesAreSteppedUp(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	c := w.client(file, oauth.Preset{})
	login(t, c)
	w.Require("write")
	_, err := w.call(t.Context(), c)
	if needsLogin(t, err).Scopes != "write" {
		t.Error(err)
	}
	again := w.client(file, oauth.Preset{}) // lathe mcp login, another process
	if st, _ := again.State(); st.Wanted != "read write" {
		t.Errorf("%+v", st)
	}
	login(t, again)
	w.works(t, again)
	if st, _ := again.State(); st.Scope != "read write" || st.Wanted != "" {
		t.Errorf("%+v", st)
	}
}

func TestAForbiddenRequestIsNoQuestionOfScopes(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	c := w.client(file, oauth.Preset{})
	login(t, c)
	token, _ := c.Token(t.Context())
	if err := c.Refused(t.Context(), token, 403, ""); err == nil || strings.Contains(err.Error(), "scopes") {
		t.Error(err)
	}
}

func TestAPresetClientWithItsSecretIsUsed(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	w.Metadata = map[string]any{
		"registration_endpoint":                 nil,
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic"}, "code_challenge_methods_supported": nil,
	}
	c := w.client(file, oauth.Preset{ClientID: "my client", ClientSecret: "p:ss", Scopes: "special"})
	login(t, c)
	if w.Basic != "my+client:p%3Ass" {
		t.Errorf("%q", w.Basic)
	}
	if st, _ := c.State(); st.Scope != "special" {
		t.Errorf("%+v", st)
	}
	w.Expire()
	w.Basic = ""
	w.works(t, w.client(file, oauth.Preset{ClientID: "my client"})) // the secret is kept with the login
	if w.Basic != "my+client:p%3Ass" {
		t.Errorf("%q", w.Basic)
	}
}

func TestAClientMetadataDocumentIsTheClient(t *testing.T) {
	w := world{oauthtest.New(t, nil)}
	w.Metadata = map[string]any{"client_id_metadata_document_supported": true}
	login(t, w.client(newFile(t), oauth.Preset{ClientMetadata: "https://example.com/lathe.json"}))
	if got := w.Last(t).Get("client_id"); got != "https://example.com/lathe.json" {
		t.Error(got)
	}
}

func TestClientCredentialsNeedNobody(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, preset := range map[string]oauth.Preset{
		"a secret": {ClientID: "robot", ClientSecret: "s", Grant: oauth.ClientCredentials},
		"a key": {
			ClientID: "robot", PrivateKey: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
			Grant: oauth.ClientCredentials,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, file := world{oauthtest.New(t, nil)}, newFile(t)
			w.Metadata = map[string]any{"token_endpoint_auth_methods_supported": []string{
				"client_secret_post",
				"private_key_jwt",
			}, "authorization_endpoint": nil}
			c := w.client(file, preset)
			w.works(t, c)
			got := w.Last(t)
			if got.Get("grant_type") != "client_credentials" || got.Get("resource") != w.URL() || got.Get("scope") != "read" {
				t.Errorf("%v", got)
			}
			if preset.PrivateKey == "" {
				if got.Get("client_secret") != "s" {
					t.Errorf("%v", got)
				}
				return
			}
			checkAssertion(t, &key.PublicKey, got.Get("client_assertion"), w.Issuer.URL)
			w.Expire()
			w.works(t, c)
			w.Require("write")
			w.works(t, c)
			if got := w.Last(t).Get("scope"); got != "write" {
				t.Error(got)
			}
		})
	}
}

// The platform's token is the assertion, and no secret goes along.
func TestAWorkloadLogsInWithThePlatformsToken(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	w.Metadata = map[string]any{"authorization_endpoint": nil}
	given := ""
	c := w.client(file, oauth.Preset{ClientID: "robot", Grant: oauth.Workload, Identity: oauth.Identity{
		Token: func() (string, error) { return given, nil },
	}})
	if _, ok := errors.AsType[*oauth.NeedsLogin](c.Login(t.Context(), oauth.Browser{})); !ok {
		t.Error("it logs in without a token")
	}
	given = "the-platforms-token"
	w.works(t, c)
	got := w.Last(t)
	if got.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || got.Get("assertion") != given ||
		got.Get("client_id") != "robot" || got.Get("client_secret") != "" {
		t.Errorf("%v", got)
	}
}

// The identity provider exchanges the ID token for an assertion, which the authorization server takes.
func TestTheIdentityProviderVouchesForTheUser(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	w.Metadata = map[string]any{"authorization_endpoint": nil}
	var asked url.Values
	answer := `{"access_token":"the-assertion","issued_token_type":"urn:ietf:params:oauth:token-type:id-jag","token_type":"N_A"}`
	provider := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked = r.PostForm
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, answer)
	}))
	t.Cleanup(provider.Close)
	id := "id-1"
	preset := oauth.Preset{ClientID: "app", ClientSecret: "s", Grant: oauth.CrossApp, Identity: oauth.Identity{
		Endpoint: provider.URL + "/token", ClientID: "at-provider", Token: func() (string, error) { return id, nil },
	}}
	c := w.client(file, preset)
	w.works(t, c)
	got := w.Last(t)
	if got.Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" || got.Get("assertion") != "the-assertion" {
		t.Errorf("%v", got)
	}
	if asked.Get("subject_token") != "id-1" || asked.Get("audience") != w.Issuer.URL ||
		asked.Get("resource") != w.URL() || asked.Get("client_id") != "at-provider" || asked.Get("client_secret") != "" {
		t.Errorf("%v", asked)
	}
	w.Expire() // a new ID token is read
	id = "id-2"
	w.works(t, c)
	if asked.Get("subject_token") != "id-2" {
		t.Errorf("%v", asked)
	}
	for name, change := range map[string]func(*oauth.Preset){
		"no ID token":     func(p *oauth.Preset) { p.Identity.Token = func() (string, error) { return "", nil } },
		"a plain address": func(p *oauth.Preset) { p.Identity.Endpoint = "http://id.example.com/token" },
		"another token": func(*oauth.Preset) {
			answer = `{"access_token":"access-x","issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}`
		},
	} {
		p := preset
		change(&p)
		err := w.client(newFile(t), p).Refused(t.Context(), "", http.StatusUnauthorized, "")
		if err == nil || strings.Contains(err.Error(), "access-x") || strings.Contains(err.Error(), "id-2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func checkAssertion(t *testing.T, key *ecdsa.PublicKey, jwt, audience string) {
	t.Helper()
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		t.Fatalf("%q", jwt)
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(sig) != 64 {
		t.Fatal(err, len(sig))
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(sig[:32]), new(big.Int).SetBytes(sig[32:])) {
		t.Error("the signature is not the key's")
	}
	body, _ := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Iss, Sub, Aud string
		Exp           int64
	}
	if err := json.Unmarshal(body, &claims); err != nil || claims.Iss != "robot" || claims.Sub != "robot" ||
		claims.Aud != audience || time.Until(time.Unix(claims.Exp, 0)) > 2*time.Minute {
		t.Errorf("%s, %v", body, err)
	}
}

func TestAnAddressThatIsPastedLogsInWithoutABrowserHere(t *testing.T) {
	w := world{oauthtest.New(t, nil)}
	pasted := make(chan string, 1)
	c := w.client(newFile(t), oauth.Preset{})
	err := c.Login(t.Context(), oauth.Browser{Pasted: pasted, Open: func(ctx context.Context, address string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return err
		}
		// elsewhere, localhost is another machine
		resp, err := (&http.Client{CheckRedirect: func(*http.Request,
			[]*http.Request,
		) error {
			return http.ErrUseLastResponse
		}}).Do(r)
		if err != nil {
			return err
		}
		resp.Body.Close()
		pasted <- resp.Header.Get("Location")
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.works(t, c)
}

func TestAnAddressOfAnotherLoginThatIsPastedIsRefused(t *testing.T) {
	w := world{oauthtest.New(t, nil)}
	pasted := make(chan string, 1)
	c := w.client(newFile(t), oauth.Preset{})
	err := c.Login(t.Context(), oauth.Browser{Pasted: pasted, Open: func(_ context.Context, address string) error {
		u, err := url.Parse(address)
		pasted <- u.Query().Get("redirect_uri") + "?code=evil&state=guessed&iss=" + url.QueryEscape(w.Issuer.URL)
		return err
	}})
	if err == nil || !strings.Contains(err.Error(), "belongs to another login") || w.Exchanges() != 0 {
		t.Errorf("%v; %d codes were exchanged", err, w.Exchanges())
	}
}

func TestAnotherLoginsAnswerIsPassedOver(t *testing.T) {
	w := world{oauthtest.New(t, nil)}
	c := w.client(newFile(t), oauth.Preset{})
	err := c.Login(t.Context(), oauth.Browser{Open: func(ctx context.Context, address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		back := u.Query().Get("redirect_uri")
		for _, bad := range []string{"?code=evil&state=guessed", "?code=evil", "?error=access_denied&state=x"} {
			resp, err := http.Get(back + bad)
			if err != nil {
				return err
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s is answered with %d", bad, resp.StatusCode)
			}
		}
		return browser(ctx, address)
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.works(t, c)
}

func TestALogoutRevokesAndDeletes(t *testing.T) {
	w, file := world{oauthtest.New(t, nil)}, newFile(t)
	c := w.client(file, oauth.Preset{})
	login(t, c)
	if err := c.Logout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(w.Revoked) != 2 {
		t.Errorf("%v", w.Revoked)
	}
	if data, _ := os.ReadFile(file); strings.Contains(string(data), "access-") || strings.Contains(string(data),
		"refresh-") {
		t.Errorf("%s", data)
	}
	if token, err := c.Token(t.Context()); token != "" || err != nil {
		t.Error(err)
	}
}

func TestALoginThatNobodyGivesEnds(t *testing.T) {
	w := world{oauthtest.New(t, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	err := w.client(newFile(t), oauth.Preset{}).Login(ctx,
		oauth.Browser{Open: func(context.Context, string) error { cancel(); return nil }})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func (w world) store(file string) *keyring.Store { return keyring.Open(file, nil) }
