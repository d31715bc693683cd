package permission

import "testing"

func TestHostsInEverySpelling(t *testing.T) {
	for _, tc := range []struct {
		rule, address string
		allow, deny   bool
	}{
		{"example.com", "https://example.com/a", true, true},
		{"example.com", "https://EXAMPLE.com./a", true, true},
		{"EXAMPLE.com.", "example.com:8443", true, true},
		{"example.com", "https://sub.example.com/", false, false},
		{"example.com", "https://example.com@example.test/", false, true},
		{"example.test", "https://example.com@example.test/", false, true},
		{"example.com", `https://example.test\@example.com/`, false, true},
		{"example.com", "https://example.com.evil.test/", false, false},
		{"*.example.com", "https://a.b.example.com/", true, true},
		{"*.example.com", "https://example.com/", false, false},
		{"*.example.com", "https://notexample.com/", false, false},
		{"api.*.example.com", "https://api.eu.example.com/", true, true},
		{"api.*.example.com", "https://api.a.b.example.com/", false, false},
		{"*", "https://example.com/", true, true},
		{"bücher.de", "https://xn--bcher-kva.de/", true, true},
		{"xn--bcher-kva.de", "https://BÜCHER.de/", true, true},
		{"example.com", "https://example。com/", true, true},
		{"example.com", "https://exam\u200bple.com/", false, false},
		{"example.com", "ftp://example.com/", false, true},
		{"127.0.0.1", "http://2130706433/", true, true},
		{"127.0.0.1", "http://0x7f.1/", true, true},
		{"127.0.0.1", "http://0177.0.0.1:80/", true, true},
		{"*", "http://127.0.0.1/", false, true},
		{"*.0.0.1", "http://127.0.0.1/", false, true},
	} {
		a := NetAccess(tc.address)
		allow := decide(policy(t, Allow, "WebFetch(domain:"+tc.rule+")"), Default, "WebFetch", a) == Allow
		deny := decide(policy(t, Deny, "WebFetch(domain:"+tc.rule+")"), Bypass, "Bash", a) == Deny
		if allow != tc.allow || deny != tc.deny {
			t.Errorf("%s on %s: allow %v, deny %v (%+v)", tc.rule, tc.address, allow, deny, a)
		}
	}
}

func TestPrivateAddressesAsk(t *testing.T) {
	p := policy(t, Allow, "WebFetch", "WebFetch(domain:*)")
	for _, address := range []string{
		"http://127.0.0.1:8080/", "http://2130706433/", "http://127.1/", "http://0.0.0.0:4096/", "http://[::1]/",
		"http://[::ffff:127.0.0.1]/",
		"http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://169.254.169.254/", "http://localhost/",
		"http://a.localhost/", "http://10.0.0.1/",
		"http://metadata.google.internal/", "http://router/", "http://[fe80::1%25eth0]/", "http://100.64.0.1/",
		"http://0x7f000001/", "http://localhost./",
		"file:///etc/passwd", "https://user@example.com/", `https://example.test\@docs.python.org/`,
	} {
		d := p.Decide(Request{Tool: "WebFetch", Mode: AcceptEdits, Accesses: []Access{NetAccess(address)}})
		if d.Effect != Ask || d.Layer != LayerGuards {
			t.Errorf("%s: %+v", address, d)
		}
	}
	if got := decide(policy(t, Allow, "WebFetch(domain:localhost)"), Default, "WebFetch",
		NetAccess("http://localhost:3000/")); got != Allow {
		t.Errorf("a rule that names it: %s", got)
	}
}

func TestPunycode(t *testing.T) { // the names are the samples of RFC 3492, section 7.1, and of common domains
	for in, want := range map[string]string{
		"bücher": "xn--bcher-kva", "münchen": "xn--mnchen-3ya", "例え": "xn--r8jz45g",
		"他们为什么不说中文": "xn--ihqwcrb4cv8a8dqg056pqjye",
		"3年b組金八先生":  "xn--3b-ww4c5e180e575a65lsy2b", "plain": "plain",
	} {
		if got, ok := punycode(in); got != want || !ok {
			t.Errorf("%s: %s", in, got)
		}
	}
}
