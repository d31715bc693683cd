package llm

import (
	"context"
	"net/http"
	"strings"
)

// Outgoing is one request on its way: the same value serves all its attempts. Post changes none of its
// exported fields.
type Outgoing struct {
	URL    string
	Header http.Header
	Body   *Body
	Model  string // the id in the body, for the hints of errors

	// Refused is set for Prepare when the server refused the credentials of the attempt before.
	Refused *Refusal

	next    *Outgoing // prepared with other credentials after a refusal
	renewed bool      // which happens once
}

// Refusal is an attempt whose credentials the server refused.
type Refusal struct {
	Header http.Header // as it was sent
	Err    *Error
}

// Prepare makes one attempt ready: it may change the URL and the header, which are the attempt's own, and may
// read the body, whose bytes are final. It adds a key from a command, renews a token, signs, or chooses among
// addresses. After a refusal of the credentials it runs again, with Refused set; with new credentials the
// request is sent once more at once, and with an error (Refused.Err, where there are no others) it is not.
type Prepare func(ctx context.Context, o *Outgoing) error

// Post prepares and sends attempt n of a request and yields Sent between the two. It returns the reply once
// its first byte is there, or ErrStopped when yield returned false.
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

// ready is the request as this attempt sends it.
func (c *Caller) ready(ctx context.Context, o *Outgoing) (*Outgoing, error) {
	if next := o.next; next != nil {
		o.next = nil
		return next, nil
	}
	try := o.attempt(nil)
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
	return &Outgoing{URL: o.URL, Header: h, Body: o.Body, Model: o.Model, Refused: refused}
}

// notReady is the error of a request that could not be prepared.
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

// renew prepares the request with other credentials after a refusal, if there are any.
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

// refusesCredentials reports whether other credentials of the same user may help. Amazon answers 403 to those
// that have expired.
func (e *Error) refusesCredentials() bool {
	return e.Status == http.StatusUnauthorized ||
		e.Status == http.StatusForbidden && strings.Contains(strings.ToLower(e.Message), "expired")
}
