//go:build linux || darwin

package server

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheOwnCertificateIsForTheNamesOfTheMachine(t *testing.T) {
	dir := t.TempDir()
	c, authority, err := OwnCertificate(dir, []string{"box.local", "192.0.2.7"})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	for name, good := range map[string]bool{"box.local": true, "192.0.2.7": true, "bank.example": false} {
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, _, err := OwnCertificate(dir, []string{"box.local"})
	if err != nil || again.Leaf.SerialNumber.Cmp(c.Leaf.SerialNumber) != 0 {
		t.Errorf("it is made again: %v", err)
	}
	more, _, err := OwnCertificate(dir, []string{"box.local", "other.local"})
	if err != nil || more.Leaf.VerifyHostname("other.local") != nil {
		t.Errorf("a name that was added is not in it: %v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		st, err := os.Stat(filepath.Join(dir, f.Name()))
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f.Name(), st.Mode(), err)
		}
	}
}

func TestTheCookieIsBoundToTheHostWithTLS(t *testing.T) {
	p := newPlace(t)
	c, authority, err := OwnCertificate(p.Folder, []string{"localhost"})
	if err != nil {
		t.Fatal(err)
	}
	p.Authority = authority
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := Entry{
		Listener: tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*c}}), TLS: true, Hosts: HostsOf(l.Addr()),
	}
	h := &http.Server{Handler: p.guard(e)}
	go func() { _ = h.Serve(e) }()
	defer h.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	base := "https://localhost:" + port
	code := p.pairings.begin(Device{Scopes: []Scope{Read}}).Code
	res, err := client.Post(base+pairPath, "application/json",
		strings.NewReader(`{"code":"`+code+`","name":"phone","cookie":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if c := res.Header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-lathe=") || !strings.Contains(c, "Secure") {
		t.Errorf("%d %s", res.StatusCode, c)
	}
	ca, err := client.Get(base + authorityPath)
	if err != nil || ca.StatusCode != http.StatusOK {
		t.Errorf("%v %v", ca, err)
	}
	if err == nil {
		_ = ca.Body.Close()
	}
}
