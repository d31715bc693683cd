package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Ways in which a client proves its identity at the token endpoint.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authKey   = "private_key_jwt"
)

// tokens is the answer of a token endpoint.
type tokens struct {
	Access  string  `json:"access_token"`
	Type    string  `json:"token_type"`
	Refresh string  `json:"refresh_token"`
	Expires float64 `json:"expires_in"` // seconds
	Scope   string  `json:"scope"`
}

// take notes new tokens.
func (l *login) take(t tokens) {
	l.Access, l.Expiry = t.Access, time.Time{}
	if t.Refresh != "" {
		l.Refresh = t.Refresh
	}
	if t.Expires > 0 {
		l.Expiry = time.Now().Add(time.Duration(min(t.Expires, 10*365*24*3600)) * time.Second)
	}
	if t.Scope != "" {
		l.Scope = t.Scope
	}
	if contains(l.Scope, l.Wanted) {
		l.Wanted = ""
	}
}

// exchange sends a request to the token endpoint of a login.
func (c *Client) exchange(ctx context.Context, l *login, form url.Values) (tokens, error) {
	var t tokens
	status, body, err := c.post(ctx, l, l.Token, form)
	if err != nil {
		return t, err
	}
	if status != http.StatusOK {
		return t, asFault(status, body)
	}
	switch {
	case json.Unmarshal(body, &t) != nil: // its error could quote a token
		return t, errors.New("the authorization server's answer cannot be read")
	case t.Access == "" || strings.IndexFunc(t.Access, notVisible) >= 0:
		return t, errors.New("the authorization server gave no token that can be sent")
	case !strings.EqualFold(t.Type, "bearer"):
		return t, fmt.Errorf("the authorization server gave a token of the type %.60q; lathe sends bearer tokens", t.Type)
	}
	return t, nil
}

// notVisible reports characters that no bearer token has.
func notVisible(r rune) bool { return r <= ' ' || r > '~' }

// post sends a form with the client's proof of identity.
func (c *Client) post(ctx context.Context, l *login, to string, form url.Values) (int, []byte, error) {
	switch l.Auth {
	case authBasic:
	case authKey:
		assertion, err := c.sign(l)
		if err != nil {
			return 0, nil, err
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
		form.Set("client_id", l.ClientID)
	case authPost:
		form.Set("client_secret", l.Secret)
		form.Set("client_id", l.ClientID)
	default:
		form.Set("client_id", l.ClientID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if l.Auth == authBasic {
		r.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.Secret)) // as RFC 6749, 2.3.1 has it
	}
	return c.do(r)
}

// authMethod chooses how a client with or without a secret proves its identity.
func (c *Client) authMethod(is *issuer, secret string) (string, error) {
	switch {
	case c.o.PrivateKey != "":
		return authKey, nil
	case secret == "":
		return authNone, nil
	case len(is.AuthMethods) == 0 || slices.Contains(is.AuthMethods, authBasic):
		return authBasic, nil
	case slices.Contains(is.AuthMethods, authPost):
		return authPost, nil
	case slices.Contains(is.AuthMethods, authNone):
		return authNone, nil // it gave a secret that it does not want to see
	}
	return "", fmt.Errorf("the authorization server knows only ways of proving the client's identity that lathe does "+
		"not (%.200q)", is.AuthMethods)
}

// asItself gets a token without the user: by client credentials, or with the identity provider's word.
func (c *Client) asItself(ctx context.Context) error {
	res, is, err := c.discover(ctx)
	if err != nil {
		return err
	}
	l := login{
		Server: c.o.Server, Resource: c.resourceOf(res), Issuer: is.Issuer, Token: is.Token, Revoke: is.Revocation,
		ClientID: c.o.ClientID, Secret: c.o.ClientSecret,
	}
	if l.Secret == "" && c.login.ClientID == l.ClientID && c.login.Issuer == l.Issuer {
		l.Secret = c.login.Secret
	}
	proved := l.Secret != "" || c.o.PrivateKey != "" || c.o.Grant == Workload
	if l.ClientID == "" || !proved {
		return &NeedsLogin{Err: errors.New("the grant " + c.o.Grant +
			" needs a clientId, and a secret in MCP_CLIENT_SECRET or a privateKeyFile")}
	}
	if l.Auth, err = c.authMethod(&is, l.Secret); err != nil {
		return err
	}
	l.Scope = c.scopes(res, &is)
	form := url.Values{"grant_type": {ClientCredentials}, "resource": {l.Resource}}
	if c.o.Grant == CrossApp {
		if form, err = c.vouched(ctx, &l); err != nil {
			return err
		}
	}
	if c.o.Grant == Workload {
		if form, err = c.workload(&l); err != nil {
			return err
		}
	}
	if l.Scope != "" {
		form.Set("scope", l.Scope)
	}
	t, err := c.exchange(ctx, &l, form)
	if err != nil {
		return err
	}
	l.take(t)
	return c.save(l)
}

// resourceOf is the resource that tokens are asked for: the one that the server names, else the server.
func (c *Client) resourceOf(res resource) string {
	if res.Resource != "" {
		return res.Resource
	}
	return c.o.Server
}

// scopes are those to ask for: the preset's, else the challenge's and earlier ones, else all that the server has.
func (c *Client) scopes(res resource, is *issuer) string {
	if c.o.Scopes != "" {
		return union(c.o.Scopes, c.login.Wanted)
	}
	out := union(c.challenge.scope, c.login.Wanted)
	if out == "" {
		out = union(res.Scopes...)
	}
	if out != "" && slices.Contains(is.Scopes, offline) && !c.o.unattended() {
		out = union(out, offline)
	}
	return out
}

// offline is the scope of OpenID Connect for tokens that can be renewed.
const offline = "offline_access"

// revoke tells the issuer that the tokens are not needed any more (RFC 7009).
func (c *Client) revoke(ctx context.Context) error {
	l := c.login
	if l.Revoke == "" {
		return nil
	}
	for hint, t := range map[string]string{"refresh_token": l.Refresh, "access_token": l.Access} {
		if t == "" {
			continue
		}
		status, _, err := c.post(ctx, &l, l.Revoke, url.Values{"token": {t}, "token_type_hint": {hint}})
		if err == nil && status >= 400 {
			err = &fault{Status: status}
		}
		if err != nil {
			return fmt.Errorf("the tokens are deleted here, but not revoked: %w", err)
		}
	}
	return nil
}
