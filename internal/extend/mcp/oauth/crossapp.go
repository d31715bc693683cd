package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Enterprise-managed authorization (SEP-990 of MCP): the organisation's identity provider exchanges the user's ID token
// (RFC 8693) for an assertion, with which the authorization server of the MCP server gives a token (RFC 7523).

// Identity is the user at the organisation's identity provider.
type Identity struct {
	Endpoint string                 // the token endpoint of the provider
	ClientID string                 // of lathe at the provider
	Token    func() (string, error) // the user's ID token; nil: none
}

// Kinds of tokens and grants.
const (
	tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	jwtBearer     = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	idToken       = "urn:ietf:params:oauth:token-type:id_token"
	idAssertion   = "urn:ietf:params:oauth:token-type:id-jag"
)

// vouched gets the provider's assertion for the issuer of a login, as the form of a request for a token.
func (c *Client) vouched(ctx context.Context, l *login) (url.Values, error) {
	who := c.o.Identity
	if who.Endpoint == "" || who.Token == nil {
		return nil, &NeedsLogin{Err: errors.New("the grant cross_app_access needs an identity in the entry, with its " +
			"tokenEndpoint, and an ID token in MCP_ID_TOKEN or its tokenFile")}
	}
	if u, err := url.Parse(who.Endpoint); err != nil || u.Scheme != "https" && !loopback(u.Hostname()) {
		return nil, errors.New("the tokenEndpoint of the identity provider is no https address")
	}
	token, err := who.Token()
	if token = strings.TrimSpace(token); err != nil || token == "" {
		return nil, &NeedsLogin{Err: errors.Join(errors.New("there is no ID token of the identity provider"), err)}
	}
	form := url.Values{
		"grant_type": {tokenExchange}, "requested_token_type": {idAssertion}, "subject_token": {token},
		"subject_token_type": {idToken},
		"audience":           {l.Issuer}, "resource": {l.Resource}, "client_id": {cmp.Or(who.ClientID, l.ClientID)},
	}
	if l.Scope != "" {
		form.Set("scope", l.Scope)
	}
	status, body, err := c.post(ctx, &login{Auth: authNone, ClientID: form.Get("client_id")}, who.Endpoint, form)
	if err != nil {
		return nil, fmt.Errorf("the identity provider: %w", err)
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("the identity provider: %w", asFault(status, body))
	}
	var answer struct {
		Token string `json:"access_token"`
		Kind  string `json:"issued_token_type"`
	}
	// its error could quote a token
	if json.Unmarshal(body, &answer) != nil || answer.Token == "" || answer.Kind != idAssertion {
		return nil, errors.New("the identity provider gave no assertion for the authorization server")
	}
	return url.Values{"grant_type": {jwtBearer}, "assertion": {answer.Token}, "resource": {l.Resource}}, nil
}

// workload is the form of a request with the token that the platform gave to this workload (RFC 7523, SEP-1933).
func (c *Client) workload(l *login) (url.Values, error) {
	if c.o.Identity.Token == nil {
		return nil, &NeedsLogin{Err: errors.New("the grant workload_identity needs an identity in the entry, with the " +
			"token of the platform in MCP_ID_TOKEN or its tokenFile")}
	}
	token, err := c.o.Identity.Token()
	if token = strings.TrimSpace(token); err != nil || token == "" {
		return nil, &NeedsLogin{Err: errors.Join(errors.New("there is no token of the platform"), err)}
	}
	return url.Values{"grant_type": {jwtBearer}, "assertion": {token}, "resource": {l.Resource}}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
