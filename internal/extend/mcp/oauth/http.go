package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lathe-dev/lathe/internal/extend/mcp/remote"
)

const (
	patience  = 30 * time.Second // for one exchange with an issuer
	maxAnswer = 1 << 20          // bytes
)

// addresses decides which addresses lathe may be sent to on behalf of an MCP server.
type addresses struct {
	plain   bool        // http is allowed: the server itself is reached by it
	private func() bool // the server is on a private network itself
}

// newHTTP makes the client for a server's authorization.
func newHTTP(server string) *http.Client {
	a := &addresses{private: func() bool { return false }}
	if u, err := url.Parse(server); err == nil {
		a.plain, a.private = u.Scheme == "http", sync.OnceValue(func() bool { return isPrivateServer(u) })
	}
	dialer := &net.Dialer{Timeout: patience, Control: a.control}
	direct := http.DefaultTransport.(*http.Transport).Clone()
	direct.Proxy, direct.DialContext, direct.MaxResponseHeaderBytes, direct.ResponseHeaderTimeout = nil,
		dialer.DialContext, 64<<10, patience
	proxied := http.DefaultTransport.(*http.Transport).Clone()
	proxied.MaxResponseHeaderBytes, proxied.ResponseHeaderTimeout = 64<<10, patience
	return &http.Client{Timeout: patience, Transport: &guarded{a, direct, proxied}, CheckRedirect: sameHost}
}

// sameHost follows redirects of readings to the same host only; nothing else is sent twice.
func sameHost(r *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet || r.URL.Host != first.URL.Host || r.URL.Scheme != first.URL.Scheme || len(via) > 3 {
		return fmt.Errorf("%s redirects to %s, which is not followed", first.URL.Host, r.URL.Host)
	}
	return nil
}

// guarded checks the address of each request. A proxy of the user may be anywhere; it resolves the names.
type guarded struct {
	*addresses
	direct, proxied *http.Transport
}

func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.check(r.URL); err != nil {
		return nil, err
	}
	if proxy, err := http.ProxyFromEnvironment(r); err != nil {
		return nil, err
	} else if proxy != nil {
		return g.proxied.RoundTrip(r)
	}
	return g.direct.RoundTrip(r)
}

func (g *guarded) CloseIdleConnections() {
	g.direct.CloseIdleConnections()
	g.proxied.CloseIdleConnections()
}

// check refuses addresses by their text.
func (a *addresses) check(u *url.URL) error {
	switch {
	case u.Scheme != "https" && (u.Scheme != "http" || !a.plain):
		return fmt.Errorf("%s: an address of the scheme %q is not used for logging in", u.Host, u.Scheme)
	case u.User != nil || u.Host == "":
		return errors.New("an address with a user, or without a host, is not used for logging in")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		return a.checkIP(ip)
	}
	if isLocalName(u.Hostname()) && !a.private() {
		return fmt.Errorf("%s is this machine, and the MCP server is not", u.Hostname())
	}
	return nil
}

// control refuses addresses that a name represents.
func (a *addresses) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil // no address of the network
	}
	return a.checkIP(at.Addr())
}

func (a *addresses) checkIP(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	if remote.IsMetadata(ip) || ip.IsMulticast() {
		return fmt.Errorf("%s is a link-local address, where clouds have their metadata; lathe does not log in there", ip)
	}
	if isPrivate(ip) && !a.private() {
		return fmt.Errorf("%s is an address of a private network, and the MCP server is not on one", ip)
	}
	return nil
}

// shared is the range of carriers' networks (RFC 6598), which is no more public than the private ones.
var shared = netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64, 0, 0}), 10)

func isPrivate(ip netip.Addr) bool {
	return ip.IsPrivate() || ip.IsLoopback() || ip.IsUnspecified() || shared.Contains(ip)
}

func isLocalName(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// isPrivateServer reports whether the user's own server is on this machine or a private network. A name is looked up
// for https only: there a certificate proves where a connection leads, so that a server whose name changes its address
// gains nothing.
func isPrivateServer(u *url.URL) bool {
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return isPrivate(ip.Unmap())
	}
	if isLocalName(host) || !strings.Contains(host, ".") {
		return true
	}
	if u.Scheme != "https" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for _, ip := range ips {
		if !isPrivate(ip.Unmap()) {
			return false
		}
	}
	return err == nil && len(ips) > 0
}

// do sends a request and reads its answer.
func (c *Client) do(r *http.Request) (status int, body []byte, err error) {
	r.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // its text repeats the address
		}
		return 0, nil, fmt.Errorf("%s: %w", r.URL.Host, err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("%s answered with more than 1 MB", r.URL.Host)
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); err == nil && resp.StatusCode < 300 &&
		kind != "application/json" && len(body) > 0 {
		err = fmt.Errorf("%s answered with content of the type %.60q, not with JSON", r.URL.Host, kind)
	}
	return resp.StatusCode, body, err
}

// get reads a JSON document; found is false where there is none.
func (c *Client) get(ctx context.Context, address string, into any) (found bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false, err
	}
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	status, body, err := c.do(r)
	switch {
	case status >= 400 && status < 500:
		return false, nil
	case err != nil:
		return false, err
	case status != http.StatusOK:
		return false, fmt.Errorf("%s answered with HTTP status %d", r.URL.Host, status)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return false, fmt.Errorf("%s: its metadata cannot be read: %w", r.URL.Host, err)
	}
	return true, nil
}

// fault is an error answer of an issuer: foreign texts, bounded.
type fault struct {
	Status      int    `json:"-"`
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (f *fault) Error() string {
	text := fmt.Sprintf("the authorization server answered with HTTP status %d", f.Status)
	if f.Code != "" {
		text += fmt.Sprintf(" and %.60q", f.Code)
	}
	if f.Description != "" {
		text += fmt.Sprintf(" (%.200q)", f.Description)
	}
	return text
}

// final reports whether another attempt with the same token is of no use.
func (f *fault) final() bool {
	return f.Status >= 400 && f.Status < 500 && f.Status != http.StatusTooManyRequests &&
		f.Status != http.StatusRequestTimeout
}

func asFault(status int, body []byte) error {
	f := &fault{}
	_ = json.Unmarshal(body, f) // a fault without details is one too
	f.Status = status
	return f
}
