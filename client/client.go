// Package client speaks with lathe serve: it lists and begins sessions, sends prompts, answers questions and follows
// events.
//
// A [Client] is for the Unix socket of this user ([Unix]) or for an address and a token ([New]). Its methods may be
// called from any goroutine. What a request failed with is a [*Problem], which names the next move.
//
// Writes can be repeated: a prompt and a new session carry an id that the client chose, and the same id again is the
// same prompt or session. Where the server cannot be reached, as while it is started again, requests are repeated for
// half a minute if that is harmless. [Client.Events] is a stream of many sessions that goes on after an interruption;
// each event is returned once.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Client is a server as one principal sees it.
type Client struct {
	base, token string
	http        *http.Client
}

// New returns a client for an address such as https://host:7000. A nil transport is the default one.
func New(address, token string, transport http.RoundTripper) *Client {
	return &Client{strings.TrimRight(address, "/"), token, &http.Client{Transport: transport}}
}

// Unix returns a client for the server of this user, at the path of its socket.
func Unix(path string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	return New("http://lathe", "", &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute})
}

// Problem is what a request failed with (RFC 9457).
type Problem struct {
	Type   string `json:"type"` // lathe:NAME
	Title  string `json:"title"`
	Status int    `json:"status"` // of HTTP
	Detail string `json:"detail,omitempty"`
	Next   string `json:"next"` // what to do about it
}

// Error is the problem in one line.
func (p *Problem) Error() string {
	text := p.Title
	if p.Detail != "" {
		text += ": " + p.Detail
	}
	if p.Next != "" {
		text += "; " + p.Next
	}
	return text
}

// Do sends a request for an operation that has no method of its own. In is encoded as the body unless it is nil, and
// the answer is decoded into out unless that is nil. If the server cannot be reached, only requests that read are tried
// again.
func (c *Client) Do(ctx context.Context, method, path string, in, out any) error {
	return c.do(ctx, method, path, method == http.MethodGet, in, out)
}

// Waits of requests that are harmless twice.
const (
	firstWait = 20 * time.Millisecond
	lastWait  = time.Second
	repeatFor = 30 * time.Second
)

// do sends a request, and sends one that is harmless twice again until the server answers it.
func (c *Client) do(ctx context.Context, method, path string, harmless bool, in, out any) error {
	res, err := c.send(ctx, method, path, in)
	end := time.Now().Add(repeatFor)
	for wait := firstWait; err != nil && harmless && passes(err) && time.Now().Before(end); wait = min(2*wait, lastWait) {
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
		res, err = c.send(ctx, method, path, in)
	}
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if out == nil || res.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// passes reports an error that a later attempt may not meet.
func passes(err error) bool {
	p, answered := errors.AsType[*Problem](err)
	return !answered || p.Status == http.StatusBadGateway || p.Status == http.StatusTooManyRequests
}

// mostProblem is how much of an answer that says an error is read.
const mostProblem = 64 << 10

// send returns an answer that says success.
func (c *Client) send(ctx context.Context, method, path string, in any, header ...string) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < http.StatusBadRequest {
		return res, nil
	}
	defer res.Body.Close()
	p := &Problem{Status: res.StatusCode}
	b, _ := io.ReadAll(io.LimitReader(res.Body, mostProblem))
	if json.Unmarshal(b, p) != nil || p.Title == "" {
		p.Title = res.Status
	}
	return nil, p
}

// NewPairing describes the device that a code is for.
type NewPairing struct {
	Scopes  []string `json:"scopes,omitempty"`  // read, prompt, approve, admin
	Answers string   `json:"answers,omitempty"` // which questions it may answer: all (empty), author or none
	Days    int      `json:"days,omitempty"`    // how long its token lives; 0: until it is revoked
}

// Pairing is a code with which one device gets its token.
type Pairing struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
	URLs    []string  `json:"urls,omitempty"` // pages that take the code
}

// BeginPairing makes a code.
func (c *Client) BeginPairing(ctx context.Context, n NewPairing) (p Pairing, err error) {
	err = c.Do(ctx, http.MethodPost, "/v1/pairings", n, &p)
	return p, err
}
