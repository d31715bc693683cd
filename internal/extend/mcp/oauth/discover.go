package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// resource is the metadata of a protected resource (RFC 9728).
type resource struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// issuer is the metadata of an authorization server (RFC 8414, OpenID Connect Discovery).
type issuer struct {
	Issuer        string   `json:"issuer"`
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Registration  string   `json:"registration_endpoint"`
	Revocation    string   `json:"revocation_endpoint"`
	Scopes        []string `json:"scopes_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
	NamesItself   bool     `json:"authorization_response_iss_parameter_supported"`

	legacy bool // of a server that has no metadata of its own
}

// discover finds the metadata of the server and of its issuer.
func (c *Client) discover(ctx context.Context) (resource, issuer, error) {
	res, found, err := c.findResource(ctx)
	if err != nil {
		return res, issuer{}, err
	}
	if c.o.Metadata != "" {
		var is issuer
		if ok, err := c.get(ctx, c.o.Metadata, &is); err != nil || !ok {
			return res, is, errors.Join(fmt.Errorf("there is no metadata at %s, which authServerMetadataUrl names",
				c.o.Metadata), err)
		}
		return res, is, c.checkIssuer(&is)
	}
	var is issuer
	if found {
		is, err = c.findIssuer(ctx, res.Issuers[0])
	} else {
		is, err = c.legacyIssuer(ctx)
	}
	if err == nil {
		err = c.checkIssuer(&is)
	}
	return res, is, err
}

// findResource reads the server's metadata: where its challenge says, else at the well-known places.
func (c *Client) findResource(ctx context.Context) (res resource, found bool, err error) {
	server, err := url.Parse(c.o.Server)
	if err != nil {
		return res, false, err
	}
	places := []string{c.challenge.metadata}
	if c.challenge.metadata == "" {
		const wellKnown = "/.well-known/oauth-protected-resource"
		places = []string{
			server.Scheme + "://" + server.Host + wellKnown + strings.TrimSuffix(server.EscapedPath(), "/"),
			server.Scheme + "://" + server.Host + wellKnown,
		}
	}
	for _, at := range slices.Compact(places) {
		res = resource{}
		if found, err = c.get(ctx, at, &res); err != nil {
			return res, false, err
		}
		if !found {
			continue
		}
		if !covers(res.Resource, server) {
			return res, false, fmt.Errorf("the server's metadata is that of another one (%.200q); a login there could be "+
				"used against you", res.Resource)
		}
		if len(res.Issuers) == 0 {
			return res, false, nil
		}
		return res, true, nil
	}
	return resource{}, false, nil
}

// covers reports whether a resource is the server, or a part of its origin that the server is in.
func covers(text string, server *url.URL) bool {
	u, err := url.Parse(text)
	if err != nil || !strings.EqualFold(u.Scheme, server.Scheme) || !strings.EqualFold(u.Host, server.Host) ||
		u.User != nil || u.Fragment != "" {
		return false
	}
	path, whole := strings.TrimSuffix(u.EscapedPath(), "/"), strings.TrimSuffix(server.EscapedPath(), "/")
	return path == whole || strings.HasPrefix(whole, path+"/")
}

// findIssuer reads the metadata of an issuer.
func (c *Client) findIssuer(ctx context.Context, name string) (issuer, error) {
	u, err := url.Parse(name)
	if err != nil {
		return issuer{}, fmt.Errorf("the address of the authorization server cannot be read: %w", err)
	}
	origin, path := u.Scheme+"://"+u.Host, strings.TrimSuffix(u.EscapedPath(), "/")
	places := []string{origin + "/.well-known/oauth-authorization-server" + path, origin +
		"/.well-known/openid-configuration" + path}
	if path != "" {
		places = append(places, origin+path+"/.well-known/openid-configuration")
	}
	for _, at := range places {
		var is issuer
		found, err := c.get(ctx, at, &is)
		if err != nil {
			return is, err
		}
		if !found {
			continue
		}
		if strings.TrimSuffix(is.Issuer, "/") != strings.TrimSuffix(name, "/") {
			return is, fmt.Errorf("the metadata of the authorization server %.200q is that of %.200q", name, is.Issuer)
		}
		return is, nil
	}
	return issuer{}, fmt.Errorf("the authorization server %.200q has no metadata", name)
}

// legacyIssuer is the issuer of a server of the protocol's version 2025-03-26: its own origin, if need be without
// metadata.
func (c *Client) legacyIssuer(ctx context.Context) (issuer, error) {
	u, err := url.Parse(c.o.Server)
	if err != nil {
		return issuer{}, err
	}
	origin := u.Scheme + "://" + u.Host
	var is issuer
	found, err := c.get(ctx, origin+"/.well-known/oauth-authorization-server", &is)
	if err != nil {
		return is, err
	}
	if !found {
		return issuer{Issuer: origin, Authorization: origin + "/authorize", Token: origin + "/token", Registration: origin +
			"/register", legacy: true}, nil
	}
	if at, err := url.Parse(is.Issuer); err != nil || at.Scheme+"://"+at.Host != origin {
		return is, fmt.Errorf("the server's own metadata is that of %.200q", is.Issuer)
	}
	return is, nil
}

// checkIssuer refuses metadata that cannot be used safely.
func (c *Client) checkIssuer(is *issuer) error {
	a := &addresses{private: func() bool { return true }} // where they lead is checked when they are reached
	if u, err := url.Parse(c.o.Server); err == nil {
		a.plain = u.Scheme == "http"
	}
	for what, text := range map[string]string{
		"token_endpoint": is.Token, "authorization_endpoint": is.Authorization,
		"registration_endpoint": is.Registration, "revocation_endpoint": is.Revocation,
	} {
		if text == "" && (what != "token_endpoint" && (what != "authorization_endpoint" || c.o.unattended())) {
			continue
		}
		u, err := url.Parse(text)
		if err == nil {
			err = a.check(u)
		}
		if err != nil {
			return fmt.Errorf("the authorization server's %s cannot be used: %w", what, err)
		}
	}
	if c.o.unattended() || is.legacy || slices.Contains(is.Challenges, "S256") {
		return nil
	}
	if len(is.Challenges) == 0 && c.o.ClientID != "" {
		return nil // some that support PKCE do not say so; the user chose this one
	}
	return errors.New("the authorization server does not support PKCE (S256), without which a login can be stolen; " +
		"where it does and only fails to say so, register a client there and give its clientId")
}
