package llm

import (
	"context"
	"net/http"
	"strings"
)

// Outgoing is one request and serves all its attempts. Post changes none of its exported fields.
type Outgoing struct {
	URL    string
	Header http.Header
	Body   *Body
	Model  string // the id in the body, for the hints of errors

	// Over sends the request another way than by the client; it may use the client all the same, and the request's body is
	// unread then. Its response is one of HTTP: a status, headers, and a body that ends with the reply. Nil: the client
	// sends.
	Over func(client *http.Client, req *http.Request) (*http.Response, error)

	// Refused is set for Prepare when the server refused the credentials of the previous attempt.
	Refused *Refusal

	next    *Outgoing // prepared with new credentials after a refusal
	renewed bool      // credentials were renewed, which happens once
}

// Refusal is an attempt whose credentials the server refused.
type Refusal struct {
	Header http.Header // as it was sent
	Err    *Error
}

// Prepare completes one attempt: it may change the URL and the header, which belong to the attempt, and may
// read the body, whose bytes are final. It adds a key from a command, renews a token, signs, or chooses an
// address. When the credentials are refused it runs again, with Refused set; if it returns new credentials
// the request is sent once more immediately, and if it returns an error (Refused.Err, when there are no
// others) it is not.
type Prepare func(ctx context.Context, o *Outgoing) error

// Post prepares and sends attempt n of a request and yields Sent in between. It returns the reply after its
// first byte, or ErrStopped when yield returned false.
func (c *Caller) Post(ctx context.Context, n int, o *Outgoing, yield func(Delta) bool) (*Reply, error) {
	try, err := c.ready(ctx, o)
	if err != nil {
		return nil, err
	}
	if yield != nil && !yield(Sent{Attempt: n, URL: try.URL, Body: o.Body.Bytes}) {
		return nil, ErrStopped
	}
	reply, err := c.send(ctx, try)
	if e := AsError(err); e != nil && c.Prepare != nil && e.refusesCredentials() {
		c.renew(ctx, o, try, e)
	}
	return reply, err
}

// ready returns the request for this attempt.
func (c *Caller) ready(ctx context.Context, o *Outgoing) (*Outgoing, error) {
	if next := o.next; next != nil {
		o.next = nil
		return next, nil
	}
	try := o.attempt(nil)
	addHeaders(ctx, try.Header)
	if c.Prepare == nil {
		return try, nil
	}
	if err := c.Prepare(ctx, try); err != nil {
		return nil, c.notReady(ctx, err)
	}
	return try, nil
}

func (o *Outgoing) attempt(refused *Refusal) *Outgoing {
	h := o.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	return &Outgoing{URL: o.URL, Header: h, Body: o.Body, Model: o.Model, Over: o.Over, Refused: refused}
}

// notReady wraps an error of Prepare.
func (c *Caller) notReady(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e := AsError(err)
	if e == nil {
		e = &Error{Kind: KindAuth, Message: Clean(err.Error()), Hint: "check " + c.KeyVar, Err: err}
	}
	if e.Provider == "" {
		e.Provider = c.Provider
	}
	return e
}

// renew prepares the request with new credentials after a refusal, if there are any.
func (c *Caller) renew(ctx context.Context, o, refused *Outgoing, e *Error) {
	if o.renewed {
		return
	}
	o.renewed = true
	next := o.attempt(&Refusal{Header: refused.Header, Err: e})
	if c.Prepare(ctx, next) == nil {
		o.next, e.renewed = next, true
	}
}

// refusesCredentials reports whether new credentials of the same user may help. Amazon answers 403 to expired
// ones.
func (e *Error) refusesCredentials() bool {
	return e.Status == http.StatusUnauthorized ||
		e.Status == http.StatusForbidden && strings.Contains(strings.ToLower(e.Message), "expired")
}
