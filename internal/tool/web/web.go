// Package web fetches pages for a model.
//
// The words: an address is the URL that a call names; a [Page] is what its server answered; a redirect to another host
// is not followed but returned, because permission was given for one host.
//
// Promises:
//
//   - http is upgraded to https, except for hosts of this machine.
//   - A name is resolved once, each of its addresses is checked, and a checked address is dialled: a name that leads to
//     this machine, its networks or its cloud is refused, also after a redirect and when the name changes its mind
//     (DNS rebinding). Only an address that itself names such a host reaches it: permissions ask a person about those.
//   - No cookies, no credentials of the environment, no proxy.
//   - Bodies, redirects and time are limited. A compressed body counts unpacked.
//   - Pages are kept for 15 minutes, the last 50 of at most 32 MB together.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lathe-dev/lathe/internal/machine/netproxy"
)

// The limits.
const (
	BodyMax   = 10 << 20 // bytes of a body
	timeMax   = 30 * time.Second
	hopsMax   = 5
	cacheTime = 15 * time.Minute
	cacheMax  = 50       // pages
	cacheSize = 32 << 20 // bytes of all pages that are kept
	urlMax    = 4000
)

// Page is an answer.
type Page struct {
	URL      string // the last one, after redirects
	Status   int
	Type     string // the media type, in lower case, without parameters
	Body     []byte
	Cut      bool   // the body was longer than BodyMax
	Redirect string // the address on another host to which the server sent us; then there is no body
	Cached   bool
}

// overviewTime is how long a site may take to answer whether it has an overview.
const overviewTime = 3 * time.Second

// Overview is the address of the overview for models (llms.txt) of the site whose first page p is; empty where there is
// none. It is looked for on the host that was asked, under the rules of Fetch, and kept for a while like a page.
func (f *Fetcher) Overview(ctx context.Context, p *Page) string {
	u, err := url.Parse(p.URL)
	if err != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, overviewTime)
	defer cancel()
	at := u.JoinPath("/llms.txt").String()
	there, err := f.Fetch(ctx, at)
	if err != nil || there.Status != http.StatusOK || there.Redirect != "" || !strings.HasPrefix(there.Type, "text/") ||
		there.Type == "text/html" {
		return ""
	}
	return at // and not where the site sent us: that text is the site's
}

// Fetcher fetches pages. It is safe for concurrent use; the zero value is ready.
type Fetcher struct {
	// Resolve returns the addresses of a name. Nil: the system's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to an address that was checked. Nil: TCP.
	Dial func(ctx context.Context, at netip.AddrPort) (net.Conn, error)
	// Transport changes the transport before its first use. Nil: unchanged.
	Transport func(*http.Transport)
	// Limit is how long a page may take, Keep how long it is kept. 0: 30 seconds, 15 minutes.
	Limit, Keep time.Duration

	once  sync.Once
	wire  http.RoundTripper // and no client, which would read redirects by itself
	pages cache
}

// ErrPrivate is returned for names that lead to this machine or its networks.
var ErrPrivate = errors.New("it leads to an address of this machine, its network or its cloud, which is refused; a " +
	"server of this machine is reached as localhost or by its number")

// Parse checks an address, and upgrades http to https.
func Parse(address string) (*url.URL, error) {
	if len(address) > urlMax {
		return nil, fmt.Errorf("the address has %d characters, more than %d; leave out its parameters", len(address), urlMax)
	}
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("the address cannot be read: %w; give one such as https://example.com/page", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the address begins with %s://; only http and https are fetched", u.Scheme)
	case u.User != nil:
		return nil, errors.New("the address has a user name or password in it; leave them out")
	case u.Hostname() == "":
		return nil, errors.New("the address names no host; give one such as https://example.com/page")
	}
	if _, err := netproxy.ParseTarget(u.Host, 443); err != nil {
		return nil, fmt.Errorf("the host of the address cannot be used: %w", err)
	}
	if u.Scheme == "http" && !local(u.Hostname()) {
		if u.Scheme = "https"; u.Port() == "80" {
			u.Host = u.Hostname()
		}
	}
	u.Fragment = ""
	return u, nil
}

// local reports a host that by its own name is this machine or its network.
func local(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return netproxy.Private(a)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Fetch fetches a page, or returns it as it was fetched less than 15 minutes ago.
func (f *Fetcher) Fetch(ctx context.Context, address string) (*Page, error) {
	u, err := Parse(address)
	if err != nil {
		return nil, err
	}
	f.once.Do(f.init)
	if p, ok := f.pages.get(u.String()); ok {
		p.Cached = true
		return &p, nil
	}
	limit := cmp.Or(f.Limit, timeMax)
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("the server took longer than %s; try it again later, or another page", limit))
	defer cancel()
	p, err := f.follow(ctx, u)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, fmt.Errorf("cannot fetch %s: %w%s", u.Redacted(), err, advice(err))
	}
	if p.Status == http.StatusOK && !p.Cut {
		f.pages.put(u.String(), *p, cmp.Or(f.Keep, cacheTime))
	}
	return p, nil
}

// advice is what to do after an error of the network, which says what went wrong only.
func advice(err error) string {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return "; there is no such host: check the address, or search for the page"
	case errors.As(err, &name):
		return "; names cannot be resolved now: try it again later, or work without the web"
	case errors.As(err, &certificate):
		return "; its certificate does not prove whose server it is: use another source, or ask the user"
	case errors.As(err, &record):
		return "; it does not speak https: use another address"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "; nothing listens there: check the port, or start the server first if it is one of this machine"
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET):
		return "; the server broke the connection off: try it once more, or use another source"
	case errors.As(err, new(*net.OpError)):
		return "; there may be no way to it from here: try another address, or ask the user"
	}
	return ""
}

func (f *Fetcher) init() {
	t := &http.Transport{
		DialContext: f.dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		DisableKeepAlives:      true, // a connection is checked for the host that it was made for
	}
	if f.Transport != nil {
		f.Transport(t)
	}
	f.wire = t
}

// follow follows redirects that stay on the host.
func (f *Fetcher) follow(ctx context.Context, u *url.URL) (*Page, error) {
	for range hopsMax + 1 {
		p, next, err := f.get(ctx, u)
		if err != nil || next == nil {
			return p, err
		}
		if !sameHost(u, next) {
			return &Page{URL: u.String(), Status: p.Status, Redirect: next.String()}, nil
		}
		u = next
	}
	return nil, fmt.Errorf("it redirects more than %d times, the last time to %s; try another address", hopsMax,
		u.Redacted())
}

// sameHost compares hosts and ports, taking www. as nothing. From https it does not go back to http.
func sameHost(a, b *url.URL) bool {
	bare := func(u *url.URL) string { return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") }
	return bare(a) == bare(b) && a.Port() == b.Port() && a.Scheme == b.Scheme
}

// get makes one request. next is where it redirects to.
func (f *Fetcher) get(ctx context.Context, u *url.URL) (p *Page, next *url.URL, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("User-Agent", "lathe (+https://github.com/lathe-dev/lathe)")
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5")
	res, err := f.wire.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	p = &Page{URL: u.String(), Status: res.StatusCode}
	if to := res.Header.Get("Location"); to != "" && res.StatusCode >= 300 && res.StatusCode < 400 {
		there, err := u.Parse(to)
		if err != nil {
			return nil, nil, fmt.Errorf("it redirects to an address that cannot be read (%w); try another address", err)
		}
		there.Fragment, there.User = "", nil
		if there.Scheme == "http" && !local(there.Hostname()) {
			there.Scheme = "https"
		}
		return p, there, nil
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	p.Type = strings.ToLower(strings.TrimSpace(kind))
	p.Body, err = io.ReadAll(io.LimitReader(res.Body, BodyMax+1))
	if err = cmp.Or(err, ctx.Err()); err != nil { // a server that sees us leave may end the body as if it were whole
		return nil, nil, err
	}
	if len(p.Body) > BodyMax {
		p.Body, p.Cut = p.Body[:BodyMax], true
	}
	if p.Body = inUTF8(p.Body, res.Header.Get("Content-Type")); len(p.Body) > BodyMax {
		p.Body, p.Cut = p.Body[:BodyMax], true
	}
	return p, nil, nil
}

// dial resolves a host once and connects to the first of its addresses that may be dialled and answers.
func (f *Fetcher) dial(ctx context.Context, _, address string) (net.Conn, error) {
	t, err := netproxy.ParseTarget(address, 0)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{t.Addr}
	if !t.Addr.IsValid() {
		if addrs, err = f.resolve(ctx, t.Host); err != nil {
			return nil, err
		}
	}
	err = fmt.Errorf("the name %s has no address", t.Host)
	for _, a := range addrs {
		a = a.WithZone("").Unmap()
		if netproxy.Private(a) && !local(t.Host) {
			return nil, ErrPrivate // also when another address of the name is public: it is not an honest name
		}
	}
	for _, a := range addrs {
		var c net.Conn
		if c, err = f.connect(ctx, netip.AddrPortFrom(a.WithZone("").Unmap(), t.Port)); err == nil {
			return c, nil
		}
	}
	return nil, err
}

func (f *Fetcher) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if f.Resolve != nil {
		return f.Resolve(ctx, name)
	}
	if strings.Contains(name, ".") && !local(name) { // the dot at the end keeps search domains out
		name += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

func (f *Fetcher) connect(ctx context.Context, at netip.AddrPort) (net.Conn, error) {
	if f.Dial != nil {
		return f.Dial(ctx, at)
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	return d.DialContext(ctx, "tcp", at.String())
}
