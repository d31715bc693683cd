package netproxy_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/netproxy"
)

func TestATargetHasOneFormAndAPort(t *testing.T) {
	for in, want := range map[string]string{
		"a-b_c.0x.example:443": "a-b_c.0x.example:443", "example": "example:80", "Example.": "example:80", "x1:1": "x1:1",
		"example:65535": "example:65535",
		"[::1]":         "[::1]:80", "[::1]:443": "[::1]:443", "[::ffff:1.2.3.4]:1": "1.2.3.4:1", "az09.-.example:1": "",
		"1.2.3.4:5": "1.2.3.4:5",
		"[::1":      "", "[::1]443": "", "[::1]x": "", "[::1]:": "", "[::1%lo]": "", "[example]": "", "example:": "", "": "",
		".": "", ":80": "",
		"example:0": "", "example:65536": "", "example:443x": "", "example:+443": "", "example:-1": "", "example: 443": "",
		"example:80:80": "",
		"a{b":           "", "a|b": "", "a~b": "", "a[b": "", "a`b": "", "a/b": "", "a b": "", "a\x7fb": "", "é": "",
		"-a": "", "a-": "", "a..b": "", "0x": "", "0xff": "", "0xfg": "0xfg:80", "1": "", "a.1": "", "1.a": "1.a:80",
		strings.Repeat("a", 63): strings.Repeat("a", 63) + ":80", strings.Repeat("a", 64): "",
		strings.Repeat("a.", 126) + "a": strings.Repeat("a.", 126) + "a:80", strings.Repeat("a.", 126) + "aa": "",
	} {
		got, err := netproxy.ParseTarget(in, 80)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	if got, err := netproxy.ParseTarget("example", 0); err == nil {
		t.Errorf("a port is required, but got %q", got)
	}
	if _, err := netproxy.ParseTarget("gööd.example", 80); err == nil || !strings.Contains(err.Error(), "xn--") {
		t.Errorf("%v does not say what to write", err)
	}
}

func TestTheNextConnectionAfterTheLastIsNotServed(t *testing.T) {
	addr, _, rec := start(t, netproxy.Config{Limits: netproxy.Limits{Concurrent: 9, Total: 2}}, nil, nil)
	for i := range 3 {
		conn := dial(t, addr)
		fmt.Fprint(conn, "GET http://x.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		b, _ := io.ReadAll(conn) // what is not served may be cut off
		if strings.Contains(string(b), " 403 ") != (i < 2) {
			t.Errorf("connection %d: %q", i, b)
		}
	}
	if n := len(rec.list()); n != 2 {
		t.Errorf("%d requests were judged", n)
	}
}

// A command gives its host to a proxy as often as it likes; the list of what was refused stays short.
func TestARefusedHostIsListedOnceForEachPort(t *testing.T) {
	addr, p, _ := start(t, netproxy.Config{}, nil, nil)
	c := client("http://" + addr)
	for _, host := range []string{"a.example", "a.example", "a.example:81", "b.example", "b.example:81", "a.example:81"} {
		get(t, c, "http://"+host+"/")
	}
	var got []string
	for _, r := range p.Refused() {
		got = append(got, fmt.Sprintf("%s:%d", r.Host, r.Port))
	}
	if want := []string{"a.example:80", "a.example:81", "b.example:80", "b.example:81"}; !slices.Equal(got, want) {
		t.Errorf("refused are %q, want %q", got, want)
	}
	for i := range 120 {
		get(t, c, fmt.Sprintf("http://h%d.example/", i))
	}
	if n := len(p.Refused()); n != 100 {
		t.Errorf("%d refused hosts are kept", n)
	}
}

func TestSocksTakesAnyOfTheOfferedMethods(t *testing.T) {
	addr, _, _ := start(t, netproxy.Config{}, nil, nil)
	for send, want := range map[string][]byte{
		"\x05\x03\x00\x01\x02\x05\x01\x00\x01\x01\x01\x01\x01\x00\x50": {5, 0, 5, 2},
		"\x05\x02\x02\x00\x05\x01\x00\x01\x01\x01\x01\x01\x00\x50":     {5, 0, 5, 2},
		"\x05\x01\x00\x04\x01\x00\x01\x01\x01\x01\x01\x00\x50":         {5, 0, 5, 7},
		"\x05\x00": {5, 0xff},
	} {
		conn := dial(t, addr)
		_, _ = io.WriteString(conn, send)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(conn, got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v %v, want %v", send, got, err, want)
		}
	}
}

func TestAHostOfAPresetBelongsToItsGroup(t *testing.T) {
	for host, want := range map[string]string{
		"registry.npmjs.org": "the npm registry",
		"REGISTRY.npmjs.org": "the npm registry", "api.github.com": "GitHub", "evil.example": "",
		"github.com.evil.example": "",
	} {
		p := netproxy.PresetOf(host)
		if p.Name != want || want == "" && (len(p.Hosts) != 1 || p.Hosts[0] != host) {
			t.Errorf("%s belongs to %+v", host, p)
		}
	}
}
