package oauth

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Browser is how the user gives the consent.
type Browser struct {
	Open func(ctx context.Context, address string) error // shows the address, and may open it: foreign text
	// addresses that the user copied out of a browser elsewhere; nil: none
	Pasted <-chan string
}

// Login logs in again, also where there is a login, with the scopes that the server asked for meanwhile. It waits for
// the user until ctx ends.
func (c *Client) Login(ctx context.Context, b Browser) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(true); err != nil {
		return err
	}
	if c.challenge == (challenge{}) {
		if err := c.probe(ctx); err != nil {
			return err
		}
	}
	if c.o.unattended() {
		return c.asItself(ctx)
	}
	res, is, err := c.discover(ctx)
	if err != nil {
		return err
	}
	at, err := listen(ctx, c.o.CallbackPort, c.login.Redirect)
	if err != nil {
		return err
	}
	defer at.close()
	l, err := c.register(ctx, &is, at.redirect)
	if err != nil {
		return err
	}
	l.Resource, l.Scope, l.Wanted = c.resourceOf(res), c.scopes(res, &is), ""
	code, verifier, err := c.consent(ctx, b, at, &is, &l)
	if err != nil {
		return err
	}
	t, err := c.exchange(ctx, &l, url.Values{
		"grant_type": {AuthorizationCode}, "code": {code}, "redirect_uri": {l.Redirect}, "code_verifier": {verifier},
		"resource": {l.Resource},
	})
	if err != nil {
		return err
	}
	l.take(t)
	return c.save(l)
}

// probe asks the server for its challenge, as a client without a token.
func (c *Client) probe(ctx context.Context) error {
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"lathe","version":"0"}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.Server, strings.NewReader(hello))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("the server cannot be reached: %w", err)
	}
	resp.Body.Close()
	c.challenge = parseChallenge(resp.Header.Get("WWW-Authenticate"))
	return nil
}

// register returns a login without tokens: of the preset client, of a metadata document, of an earlier registration or
// of a new one.
func (c *Client) register(ctx context.Context, is *issuer, redirect string) (login, error) {
	l := login{Server: c.o.Server, Issuer: is.Issuer, Token: is.Token, Revoke: is.Revocation, Redirect: redirect}
	var err error
	switch old := c.login; {
	case c.o.ClientID != "":
		l.ClientID, l.Secret = c.o.ClientID, c.o.ClientSecret
		if l.Secret == "" && old.Issuer == is.Issuer && old.ClientID == l.ClientID {
			l.Secret = old.Secret
		}
		l.Auth, err = c.authMethod(is, l.Secret)
	case is.Documents && c.o.ClientMetadata != "":
		l.ClientID, l.Auth = c.o.ClientMetadata, authNone
	case old.ClientID != "" && old.Issuer == is.Issuer && old.Redirect == redirect && old.ClientID != c.o.ClientMetadata:
		l.ClientID, l.Secret, l.Auth = old.ClientID, old.Secret, old.Auth
	case is.Registration != "":
		err = c.registerNew(ctx, is, &l)
	default:
		err = errors.New("the authorization server registers no clients by itself: register one there, and give its " +
			"clientId in the entry's oauth")
	}
	return l, err
}

// registerNew registers lathe as a client (RFC 7591).
func (c *Client) registerNew(ctx context.Context, is *issuer, l *login) error {
	method := authNone
	if len(is.AuthMethods) > 0 && !slices.Contains(is.AuthMethods, authNone) {
		method = authBasic
		if !slices.Contains(is.AuthMethods, authBasic) {
			method = authPost
		}
	}
	body, err := json.Marshal(map[string]any{
		"client_name": "lathe", "redirect_uris": []string{l.Redirect}, "grant_types": []string{
			AuthorizationCode,
			"refresh_token",
		},
		"response_types": []string{"code"}, "token_endpoint_auth_method": method, "application_type": "native",
	})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, is.Registration, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	status, answer, err := c.do(r)
	if err != nil {
		return err
	}
	if status != http.StatusCreated && status != http.StatusOK {
		return fmt.Errorf("lathe cannot be registered: %w; register a client there, and give its clientId in the entry's "+
			"oauth", asFault(status, answer))
	}
	var got struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Auth   string `json:"token_endpoint_auth_method"`
	}
	if json.Unmarshal(answer, &got) != nil || got.ID == "" {
		return errors.New("the authorization server's answer to the registration cannot be read")
	}
	l.ClientID, l.Secret, l.Auth = got.ID, got.Secret, got.Auth
	if !slices.Contains([]string{authNone, authBasic, authPost}, l.Auth) {
		l.Auth, err = c.authMethod(is, l.Secret)
	}
	return err
}

// consent sends the user to the issuer and returns the code that comes back.
func (c *Client) consent(ctx context.Context, b Browser, at *callback, is *issuer, l *login) (code, verifier string,
	err error,
) {
	state, verifier := rand.Text(), rand.Text()+rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	to, err := url.Parse(is.Authorization)
	if err != nil {
		return "", "", err
	}
	q := to.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": l.ClientID, "redirect_uri": l.Redirect, "state": state, "scope": l.Scope,
		"resource":       l.Resource,
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256",
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if slices.Contains(strings.Fields(l.Scope), offline) {
		q.Set("prompt", "consent") // OpenID Connect Core 1.0, section 11
	}
	to.RawQuery = q.Encode()
	at.state = state
	go at.serve()
	if err := b.Open(ctx, to.String()); err != nil {
		return "", "", err
	}
	answer, err := at.wait(ctx, b.Pasted)
	if err != nil {
		return "", "", err
	}
	code, err = checkAnswer(answer, state, is)
	return code, verifier, err
}

// checkAnswer returns the code of an answer that belongs to this login and comes from the right issuer (RFC 9207).
func checkAnswer(q url.Values, state string, is *issuer) (string, error) {
	if !sameText(q.Get("state"), state) {
		return "", errors.New("the answer belongs to another login (its state differs)")
	}
	iss := q.Get("iss")
	switch {
	case iss != "" && iss != is.Issuer:
		return "", fmt.Errorf("the answer comes from %.200q, not from %.200q; the login was not used", iss, is.Issuer)
	case iss == "" && is.NamesItself:
		return "", fmt.Errorf("the answer does not say that it comes from %.200q, as it must; the login was not used",
			is.Issuer)
	case q.Get("error") != "":
		return "", fmt.Errorf("the authorization server refuses: %.60q %.200q", q.Get("error"), q.Get("error_description"))
	case q.Get("code") == "":
		return "", errors.New("the answer has no code")
	}
	return q.Get("code"), nil
}

func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// callback waits on this machine for the browser to come back.
type callback struct {
	listeners []net.Listener
	server    *http.Server
	redirect  string
	state     string
	answer    chan url.Values
}

// listen takes the port, that of an earlier login if it is free, or any.
func listen(ctx context.Context, port int, before string) (*callback, error) {
	var lc net.ListenConfig
	open := func(port int) (net.Listener, error) {
		return lc.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	want := port
	if u, err := url.Parse(before); port == 0 && err == nil {
		want, _ = strconv.Atoi(u.Port()) // none: 0
	}
	l, err := open(want)
	if err != nil && port == 0 {
		l, err = open(0)
	}
	if err != nil {
		return nil, fmt.Errorf("the port for the answer of the browser: %w", err)
	}
	at := &callback{listeners: []net.Listener{l}, answer: make(chan url.Values, 1)}
	number := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if six, err := lc.Listen(ctx, "tcp6", net.JoinHostPort("::1", number)); err == nil { // "localhost" may mean either
		at.listeners = append(at.listeners, six)
	}
	at.redirect = "http://localhost:" + number + "/callback"
	at.server = &http.Server{
		Handler: http.HandlerFunc(at.handle), ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes: 64 << 10,
	}
	return at, nil
}

func (at *callback) serve() {
	for _, l := range at.listeners[1:] {
		go func() { _ = at.server.Serve(l) }() // it ends with close
	}
	_ = at.server.Serve(at.listeners[0])
}

// handle takes the answer. One with another state is somebody else's: it neither counts nor ends the waiting.
func (at *callback) handle(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != "/callback" || !sameText(q.Get("state"), at.state) {
		http.Error(w, "This address waits for another login.", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	// a browser that left misses nothing
	_, _ = io.WriteString(w, "lathe has the answer. Go back to the terminal; this window can be closed.\n")
	select {
	case at.answer <- q:
	default: // the first one counts
	}
}

func (at *callback) wait(ctx context.Context, pasted <-chan string) (url.Values, error) {
	for {
		select {
		case q := <-at.answer:
			return q, nil
		case text, ok := <-pasted:
			if !ok {
				pasted = nil
				continue
			}
			u, err := url.Parse(strings.TrimSpace(text))
			if err != nil || !u.Query().Has("state") {
				return nil, errors.New("paste the whole address that the browser shows after the login; it begins with " +
					at.redirect)
			}
			return u.Query(), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// close ends the waiting, once the browser has its page.
func (at *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = at.server.Shutdown(ctx) // the rest is ended below
	_ = at.server.Close()
	for _, l := range at.listeners {
		_ = l.Close() // one that was never served
	}
}
