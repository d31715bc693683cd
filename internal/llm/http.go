package llm

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// HTTPOptions configures network access. The zero value suits most machines.
type HTTPOptions struct {
	// Proxy is the URL of a proxy (http, https, socks5, socks5h). Empty means the process's variables
	// HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; "none" disables proxies regardless of them.
	Proxy string
	// NoProxy lists hosts to connect to directly although Proxy is set, in the form of the NO_PROXY variable:
	// names (with their subdomains), addresses, address ranges, each with an optional port, or "*". Loopback
	// addresses never use the proxy.
	NoProxy string
	// CACerts are PEM files of authorities trusted besides the system's (NODE_EXTRA_CA_CERTS, SSL_CERT_FILE style).
	CACerts []string
	// ClientCert and ClientKey are PEM files for servers that require client certificates; both or none.
	ClientCert, ClientKey string
	DialTimeout           time.Duration // to connect, and again for TLS; 10 s
}

// HTTPClient makes the client for requests to model providers. It has no overall timeout (streams are long;
// see Caller for the watchdogs), keeps connections alive between steps, speaks HTTP/2 with pings that detect
// a dead peer, holds no cookies, does not ask for compression (it delays streams), and follows a redirect
// only within the same scheme and host and only when the method stays, to keep keys from leaking. One client
// should serve the whole process. An error names the invalid setting.
func HTTPClient(o HTTPOptions) (*http.Client, error) {
	proxy, err := proxyFunc(o.Proxy, o.NoProxy)
	if err != nil {
		return nil, err
	}
	if err := checkTLS(o); err != nil {
		return nil, err
	}
	return &http.Client{CheckRedirect: sameHost, Transport: newTransport(o, proxy)}, nil
}

// transport sends requests. Authorities are read when the first request needs TLS: reading the system's takes
// as long as everything else before the first request.
type transport struct {
	proxy  func(*http.Request) (*url.URL, error)
	plain  *http.Transport
	secure func() (*http.Transport, error)
	made   atomic.Pointer[http.Transport] // the result of secure
}

func newTransport(o HTTPOptions, proxy func(*http.Request) (*url.URL, error)) *transport {
	if o.DialTimeout <= 0 {
		o.DialTimeout = 10 * time.Second
	}
	dial := &net.Dialer{Timeout: o.DialTimeout, KeepAlive: 15 * time.Second}
	base := func(conf *tls.Config) *http.Transport {
		return &http.Transport{
			Proxy:                 proxy,
			DialContext:           dial.DialContext,
			TLSClientConfig:       conf,
			TLSHandshakeTimeout:   o.DialTimeout,
			ForceAttemptHTTP2:     true,
			HTTP2:                 &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       5 * time.Minute,
			ExpectContinueTimeout: time.Second,
			DisableCompression:    true,
			WriteBufferSize:       64 << 10,
			ReadBufferSize:        16 << 10,
		}
	}
	t := &transport{proxy: proxy, plain: base(nil)}
	t.secure = sync.OnceValues(func() (*http.Transport, error) {
		conf, err := tlsConfig(o)
		if err != nil {
			return nil, &Error{Kind: KindTLS, Message: err.Error(), Err: err}
		}
		t.made.Store(base(conf))
		return t.made.Load(), nil
	})
	return t
}

// RoundTrip sends a request over the transport that it needs; a plain http address without a proxy needs no
// authorities.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && t.direct(req) {
		return t.plain.RoundTrip(req)
	}
	secure, err := t.secure()
	if err != nil {
		return nil, err
	}
	return secure.RoundTrip(req)
}

func (t *transport) direct(req *http.Request) bool {
	if t.proxy == nil {
		return true
	}
	via, err := t.proxy(req)
	return err == nil && via == nil
}

// CloseIdleConnections implements the method that http.Client calls.
func (t *transport) CloseIdleConnections() {
	t.plain.CloseIdleConnections()
	if made := t.made.Load(); made != nil {
		made.CloseIdleConnections()
	}
}

// Warm reads the authorities in the background when target is an https address, ahead of the first request.
// It does nothing for a client that HTTPClient did not make.
func Warm(c *http.Client, target string) {
	if t, ok := c.Transport.(*transport); ok && strings.HasPrefix(target, "https:") {
		go func() { _, _ = t.secure() }() // the first request reports an error
	}
}

// sameHost allows a redirect only within the host that the key belongs to; any other is returned as the
// response.
func sameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) < 4 && req.Method == first.Method && req.URL.Scheme == first.URL.Scheme && req.URL.Host == first.URL.Host {
		return nil
	}
	return http.ErrUseLastResponse
}

// checkTLS validates the settings without the cost of reading certificates.
func checkTLS(o HTTPOptions) error {
	for _, file := range o.CACerts {
		switch pem, err := os.ReadFile(file); {
		case err != nil:
			return fmt.Errorf("extra CA certificates: %w; correct the path in NODE_EXTRA_CA_CERTS or the settings", err)
		case !bytes.Contains(pem, []byte("-----BEGIN CERTIFICATE-----")):
			return fmt.Errorf("extra CA certificates: %s holds no PEM certificate; it must contain BEGIN CERTIFICATE blocks",
				file)
		}
	}
	if o.ClientCert == "" && o.ClientKey == "" {
		return nil
	}
	if _, err := tls.LoadX509KeyPair(o.ClientCert, o.ClientKey); err != nil {
		return fmt.Errorf("client certificate: %w; both the certificate and the key file are needed, in PEM", err)
	}
	return nil
}

func tlsConfig(o HTTPOptions) (*tls.Config, error) {
	if len(o.CACerts) == 0 && o.ClientCert == "" && o.ClientKey == "" {
		return nil, nil // the system's authorities, loaded at the first handshake
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(o.CACerts) > 0 {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		for _, file := range o.CACerts {
			pem, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("extra CA certificates: %w; correct the path in NODE_EXTRA_CA_CERTS or the settings", err)
			}
			if !pool.AppendCertsFromPEM(pem) {
				return nil, fmt.Errorf("extra CA certificates: %s holds no PEM certificate; it must contain BEGIN CERTIFICATE "+
					"blocks", file)
			}
		}
		conf.RootCAs = pool
	}
	if o.ClientCert != "" || o.ClientKey != "" {
		pair, err := tls.LoadX509KeyPair(o.ClientCert, o.ClientKey)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w; both the certificate and the key file are needed, in PEM", err)
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	return conf, nil
}

func proxyFunc(proxy, noProxy string) (func(*http.Request) (*url.URL, error), error) {
	switch proxy {
	case "":
		return fromEnvironment(os.Getenv), nil
	case "none":
		return nil, nil
	}
	if !strings.Contains(proxy, "://") {
		proxy = "http://" + proxy
	}
	u, err := url.Parse(proxy)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("proxy: not a URL; write it like http://host:port")
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
	default:
		return nil, fmt.Errorf("proxy: scheme %q is not supported; use http, https, socks5 or socks5h", u.Scheme)
	}
	return func(req *http.Request) (*url.URL, error) {
		if bypassesProxy(req.URL, noProxy) {
			return nil, nil
		}
		return u, nil
	}, nil
}

// fromEnvironment is http.ProxyFromEnvironment, with ALL_PROXY where there is no variable for the scheme.
func fromEnvironment(getenv func(string) string) func(*http.Request) (*url.URL, error) {
	either := func(name string) string { return cmp.Or(getenv(name), getenv(strings.ToLower(name))) }
	all, none := either("ALL_PROXY"), either("NO_PROXY")
	if all == "" {
		return http.ProxyFromEnvironment
	}
	via, err := proxyFunc(all, none)
	return func(req *http.Request) (*url.URL, error) {
		if either(strings.ToUpper(req.URL.Scheme)+"_PROXY") != "" {
			return http.ProxyFromEnvironment(req)
		}
		if err != nil {
			return nil, fmt.Errorf("ALL_PROXY: %w", err)
		}
		return via(req)
	}
}

// bypassesProxy reports whether u is reached directly.
func bypassesProxy(u *url.URL, noProxy string) bool {
	host := strings.ToLower(u.Hostname())
	addr, err := netip.ParseAddr(host)
	isAddr := err == nil
	if host == "localhost" || isAddr && addr.IsLoopback() {
		return true
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	for _, rule := range strings.FieldsFunc(strings.ToLower(noProxy), func(r rune) bool { return r == ',' || r == ' ' }) {
		if rule == "*" {
			return true
		}
		if h, p, err := net.SplitHostPort(rule); err == nil {
			if p != port {
				continue
			}
			rule = h
		}
		if isAddr && addrMatches(rule, addr) || !isAddr && nameMatches(rule, host) {
			return true
		}
	}
	return false
}

func addrMatches(rule string, addr netip.Addr) bool {
	if p, err := netip.ParsePrefix(rule); err == nil {
		return p.Contains(addr)
	}
	a, err := netip.ParseAddr(strings.Trim(rule, "[]"))
	return err == nil && a == addr
}

// nameMatches: "example.com" covers itself and its subdomains, ".example.com" and "*.example.com" only those.
func nameMatches(rule, host string) bool {
	rule = strings.TrimPrefix(rule, "*")
	if strings.HasPrefix(rule, ".") {
		return strings.HasSuffix(host, rule)
	}
	return host == rule || strings.HasSuffix(host, "."+rule)
}
