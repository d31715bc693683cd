// Package oauth logs in to MCP servers over HTTP, as the authorization chapter of the protocol describes: OAuth 2.1
// with PKCE, discovery of the authorization server (RFC 9728, RFC 8414, OpenID Connect), registration of the client
// (RFC 7591, or a client ID metadata document) and resource indicators (RFC 8707).
//
// The words: a [Client] is lathe as the OAuth client of one MCP server; a login is the tokens and the registered client
// together, one secret of the keyring; the issuer is the authorization server.
//
// Promises:
//
//   - A login belongs to the address of its MCP server and the preset of its entry, and is used for no other. A refresh
//     token goes only to the
//     token endpoint that issued it.
//   - A server names whatever addresses it likes: those on private networks are refused unless the server is on one
//     itself, link-local ones always; a server over https cannot send lathe to http; redirects stay on their host.
//     Answers are bounded.
//   - A refresh happens once, also with several processes, and is not given up halfway: tokens that rotate are not
//     lost.
//   - No error, and nothing that is logged, has a token, a code or a secret in it.
package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// Grants that a preset can ask for.
const (
	AuthorizationCode = "authorization_code" // the default: the user logs in with a browser
	ClientCredentials = "client_credentials" // lathe logs in as itself
	CrossApp          = "cross_app_access"   // the organisation's identity provider vouches for the user
	Workload          = "workload_identity"  // the platform that lathe runs on vouches for it
)

// Preset is an entry's part of the authorization. All may be empty.
type Preset struct {
	ClientID       string // of a client that is registered already
	ClientSecret   string
	ClientMetadata string // the https address of a client ID metadata document
	PrivateKey     string // PEM: the client proves its identity with a signature (private_key_jwt)
	CallbackPort   int    // 0: any free port
	Metadata       string // the address of the issuer's metadata; empty: discovered
	Scopes         string // separated by spaces; empty: those that the server names
	Grant          string // empty: AuthorizationCode
	Identity       Identity
}

// unattended reports whether lathe gets tokens without the user.
func (p *Preset) unattended() bool {
	return p.Grant == ClientCredentials || p.Grant == CrossApp || p.Grant == Workload
}

// Options configure New.
type Options struct {
	Server string // the address of the MCP server
	Preset
	Store *keyring.Store
	HTTP  *http.Client // nil: one that keeps the promises about addresses
}

// Client logs in to one MCP server. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client

	mu        sync.Mutex
	loaded    bool
	login     login
	challenge challenge // the last one of the server
}

// service of the logins in the keyring.
const service = "mcp"

// New makes the client; nothing is read or sent.
func New(o Options) *Client {
	c := &Client{o: o, http: o.HTTP}
	if c.http == nil {
		c.http = newHTTP(o.Server)
	}
	return c
}

// login is one secret of the keyring.
type login struct {
	Server   string    `json:"server"`
	Resource string    `json:"resource,omitempty"`
	Issuer   string    `json:"issuer"`
	Token    string    `json:"tokenEndpoint"`
	Revoke   string    `json:"revocationEndpoint,omitempty"`
	Auth     string    `json:"authMethod,omitempty"` // of the client at the token endpoint
	ClientID string    `json:"clientId"`
	Secret   string    `json:"clientSecret,omitempty"`
	Redirect string    `json:"redirectUri,omitempty"`
	Access   string    `json:"accessToken,omitempty"`
	Refresh  string    `json:"refreshToken,omitempty"`
	Expiry   time.Time `json:"expiry,omitzero"`
	Scope    string    `json:"scope,omitempty"`  // granted
	Wanted   string    `json:"wanted,omitempty"` // that the server asked for later
}

// NeedsLogin says that only the user can go on, by logging in.
type NeedsLogin struct {
	Scopes string // that the server asks for beyond those that were granted: foreign text
	Err    error  // why an earlier login counts no more; nil: there was none
}

func (e *NeedsLogin) Error() string {
	switch {
	case e.Scopes != "":
		return fmt.Sprintf("the server wants more rights than you gave (scopes %.200q)", e.Scopes)
	case e.Err != nil:
		return "the login ended: " + e.Err.Error()
	}
	return "the server wants you to log in"
}

func (e *NeedsLogin) Unwrap() error { return e.Err }

// account of the login in the keyring. An entry with another preset has another login.
func (c *Client) account() string {
	p := c.o.Preset
	if p.ClientID == "" && p.Metadata == "" && p.ClientMetadata == "" {
		return c.o.Server
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{p.ClientID, p.Metadata, p.ClientMetadata}, "\n")))
	return c.o.Server + "#" + hex.EncodeToString(sum[:8])
}

// load reads the login of the keyring; with again, also one that was read before.
func (c *Client) load(again bool) error {
	if c.loaded && !again {
		return nil
	}
	text, err := c.o.Store.Get(service, c.account())
	if errors.Is(err, keyring.ErrNotFound) {
		c.login, c.loaded = login{}, true
		return nil
	}
	if err != nil {
		return err
	}
	var l login
	if json.Unmarshal([]byte(text), &l) != nil || l.Server != c.o.Server {
		l = login{} // damaged, or of another server: as good as none
	}
	c.login, c.loaded = l, true
	return nil
}

func (c *Client) save(l login) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if _, err := c.o.Store.Set(service, c.account(), string(text)); err != nil {
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	c.login, c.loaded = l, true
	return nil
}

// early is how long before its end a token is renewed.
const early = 30 * time.Second

// Token returns the access token for a request, renewed where it is about to end; empty: there is no login.
func (c *Client) Token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(false); err != nil {
		return "", err
	}
	l := &c.login
	if l.Access != "" && !l.Expiry.IsZero() && time.Until(l.Expiry) < early && (l.Refresh != "" || c.o.unattended()) {
		if err := c.renew(ctx, l.Access); err != nil {
			return "", err
		}
	}
	return c.login.Access, nil
}

// Refused takes a server's refusal of a request that had the token, with the status and the header WWW-Authenticate.
// Nil: try again, once. The error is [NeedsLogin] where the user can help.
func (c *Client) Refused(ctx context.Context, token string, status int, header string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(true); err != nil { // another process may have logged in
		return err
	}
	c.challenge = parseChallenge(header)
	if status == http.StatusForbidden {
		return c.stepUp(ctx)
	}
	if token != c.login.Access && c.login.Access != "" {
		return nil // renewed meanwhile
	}
	if c.o.unattended() {
		return c.asItself(ctx)
	}
	return c.renew(ctx, token)
}

// stepUp notes the scopes that a refusal names.
func (c *Client) stepUp(ctx context.Context) error {
	if c.challenge.fault != "insufficient_scope" || c.login.Access == "" {
		return errors.New("the server forbids it")
	}
	wanted := union(c.login.Scope, c.login.Wanted, c.challenge.scope)
	if c.o.unattended() && !contains(c.login.Scope, c.challenge.scope) {
		return c.asItself(ctx)
	}
	if wanted != c.login.Wanted {
		l := c.login
		l.Wanted = wanted
		if err := c.save(l); err != nil {
			return err
		}
	}
	return &NeedsLogin{Scopes: c.challenge.scope}
}

// renew replaces the token by another process's or by the issuer's.
func (c *Client) renew(ctx context.Context, token string) error {
	if token == "" {
		return &NeedsLogin{}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // a token that rotated must be kept
	defer cancel()
	sum := sha256.Sum256([]byte(c.account()))
	unlock, err := c.o.Store.Lock(ctx, "mcp-"+hex.EncodeToString(sum[:8]))
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.load(true); err != nil {
		return err
	}
	if c.login.Access != "" && c.login.Access != token {
		return nil
	}
	if c.o.unattended() {
		return c.asItself(ctx)
	}
	if c.login.Refresh == "" {
		return c.forget(errors.New("the server refuses the token, and it cannot be renewed"))
	}
	return c.refresh(ctx)
}

func (c *Client) refresh(ctx context.Context) error {
	l := c.login
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}}
	if l.Resource != "" {
		form.Set("resource", l.Resource)
	}
	answer, err := c.exchange(ctx, &l, form)
	if f, ok := errors.AsType[*fault](err); ok && f.final() {
		return c.forget(err)
	}
	if err != nil {
		return fmt.Errorf("the token cannot be renewed: %w", err)
	}
	l.take(answer)
	return c.save(l)
}

// forget drops the tokens and keeps the registered client.
func (c *Client) forget(why error) error {
	l := c.login
	l.Access, l.Refresh, l.Expiry = "", "", time.Time{}
	if err := c.save(l); err != nil {
		return err
	}
	return &NeedsLogin{Err: why}
}

// Logout revokes the tokens where the issuer offers that, and deletes the login. The error of a revocation is returned
// after the deletion.
func (c *Client) Logout(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(true); err != nil {
		return err
	}
	revoked := c.revoke(ctx)
	if err := c.o.Store.Delete(service, c.account()); err != nil {
		return err
	}
	c.login = login{}
	return revoked
}

// State is a login as people see it.
type State struct {
	In     bool // there is a token
	Issuer string
	Scope  string
	Wanted string    // scopes that the server asked for and that are not granted
	Expiry time.Time // of the token; zero: not known
	Renews bool      // by itself
}

// State returns the state of the login: foreign texts.
func (c *Client) State() (State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(false); err != nil {
		return State{}, err
	}
	l := &c.login
	return State{
		In: l.Access != "", Issuer: l.Issuer, Scope: l.Scope, Wanted: l.Wanted, Expiry: l.Expiry,
		Renews: l.Refresh != "" || l.Access != "" && c.o.unattended(),
	}, nil
}

// union joins lists of scopes.
func union(lists ...string) string {
	var all []string
	for _, list := range lists {
		for _, scope := range strings.Fields(list) {
			if !slices.Contains(all, scope) {
				all = append(all, scope)
			}
		}
	}
	return strings.Join(all, " ")
}

// contains reports whether a list of scopes has all of another.
func contains(list, of string) bool { return union(list, of) == union(list) }
