// Package remote reaches MCP servers over HTTP: by the Streamable HTTP transport, and by the older one of server-sent
// events with two addresses.
//
// Promises: redirects are followed to the same origin only, so that credentials and requests go nowhere else; no
// connection leads to a link-local address, where clouds have their metadata; messages are bounded as in package rpc; a
// stream that breaks is resumed where the server numbers its events.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lathe-dev/lathe/internal/base/jsonrpc"
)

// Options configure a transport.
type Options struct {
	URL string
	// Headers returns the headers of a request; refused is how the server refused the ones before, nil at first. Nil:
	// none.
	Headers func(ctx context.Context, refused *AuthError) (http.Header, error)
	Note    func(line string) // for a log; foreign text. Nil: none
	Client  *http.Client      // nil: NewClient
}

// AuthError is a server's refusal of the credentials, or their absence.
type AuthError struct {
	Status    int
	Challenge string // the header WWW-Authenticate: foreign text
	Err       error  // what the user can do; nil: only the entry can help
}

func (e *AuthError) Unwrap() error { return e.Err }

// Is makes it an rpc.ErrRefused.
func (e *AuthError) Is(target error) bool { return target == jsonrpc.ErrRefused }

func (e *AuthError) Error() string {
	if e.Err != nil {
		return e.Err.Error()
	}
	return fmt.Sprintf("the server refuses the credentials (HTTP status %d); give them in headers or headersHelper of "+
		"its entry", e.Status)
}

// NewClient makes a client that keeps the promises about addresses.
func NewClient() *http.Client {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: refuseLinkLocal}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = dialer.DialContext
	t.MaxResponseHeaderBytes = 256 << 10
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		first := via[0].URL
		if r.URL.Scheme != first.Scheme || r.URL.Host != first.Host {
			return fmt.Errorf("the server redirects to another one, %s; its entry must name that if it is meant", r.URL.Host)
		}
		if len(via) > 3 {
			return errors.New("the server redirects in a circle")
		}
		return nil
	}}
}

// refuseLinkLocal refuses connections to addresses where clouds have their metadata.
func refuseLinkLocal(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err == nil && IsMetadata(at.Addr()) {
		return fmt.Errorf("%s is a link-local address or one where clouds have their metadata; no MCP server has such",
			at.Addr())
	}
	return nil
}

// IsMetadata reports whether clouds have their metadata at an address: all link-local ones, also behind a translation
// to IPv4 (RFC 6052), and the three that others have: of Amazon for IPv6, of Alibaba and of Azure.
func IsMetadata(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if b := ip.As16(); ip.Is6() && bytes.HasPrefix(b[:], []byte{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}) {
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	return ip.IsLinkLocalUnicast() || slices.Contains([]string{"fd00:ec2::254", "100.100.100.200", "168.63.129.16"},
		ip.String())
}

// answersError reports whether a status of 400 and above comes with an error of JSON-RPC.
func answersError(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return resp.StatusCode >= 400 && resp.StatusCode != http.StatusUnauthorized &&
		resp.StatusCode != http.StatusForbidden && kind == "application/json"
}

// checked turns a refusal into an error.
func checked(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		return nil, refusal(resp)
	case resp.StatusCode >= 300:
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 300)) // an excerpt for the error
		resp.Body.Close()
		return nil, fmt.Errorf("the server answered with HTTP status %d: %s", resp.StatusCode,
			strings.TrimSpace(string(text)))
	}
	return resp, nil
}

// refusal ends an answer that refuses the credentials.
func refusal(resp *http.Response) *AuthError {
	resp.Body.Close()
	return &AuthError{Status: resp.StatusCode, Challenge: strings.Join(resp.Header.Values("WWW-Authenticate"), ", ")}
}

// send sends a request, and once more with renewed headers where the first are refused.
func (o *Options) send(ctx context.Context, method, to string, body []byte, set func(http.Header)) (*http.Response,
	error,
) {
	var refused *AuthError
	for {
		req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		if o.Headers != nil {
			more, err := o.Headers(ctx, refused)
			if err != nil {
				return nil, err
			}
			for name, values := range more {
				req.Header[name] = values
			}
		}
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		set(req.Header)
		resp, err := o.Client.Do(req)
		if err != nil {
			if u, ok := errors.AsType[*url.Error](err); ok {
				err = u.Err // its text repeats the address, which may have a secret
			}
			return nil, err
		}
		if resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || refused != nil ||
			o.Headers == nil {
			return resp, nil
		}
		refused = refusal(resp)
	}
}
