package netproxy_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/machine/netproxy"
)

// A denied host is refused though another pattern allows it and a person would, by its name and by the address behind
// another name.
func TestDeniedHostsAreRefusedWhateverAllowsThem(t *testing.T) {
	yes := func(context.Context, netproxy.Request) netproxy.Verdict { return netproxy.Verdict{Allowed: true} }
	addr, p, rec := start(t, netproxy.Config{Resolve: local, Ask: yes}, []string{"*", "*.good.example", "127.0.0.0/8"},
		[]string{"sub.good.example", "127.0.0.9"})
	port := server(t, false)
	for address, want := range map[string]bool{
		"good.example:": true, "sub.good.example:": false,
		"SUB.good.example.:": false, "127.0.0.9:": false,
	} {
		code, body := get(t, client("http://"+addr), "http://"+address+port)
		if (code == 200) != want {
			t.Errorf("%s: %d %s", address, code, body)
		}
	}
	p.Close()
	for _, c := range rec.list() {
		if !c.Allowed && !strings.Contains(c.Reason, "the settings deny") {
			t.Errorf("refused for another reason: %+v", c)
		}
	}

	names := resolve(map[string]string{"other.example.": "127.0.0.9", "mapped.example.": "::ffff:127.0.0.9"})
	addr, _, _ = start(t, netproxy.Config{Resolve: names}, []string{"*", "127.0.0.0/8"}, []string{"127.0.0.9"})
	for _, name := range []string{"other.example:", "mapped.example:"} {
		if code, body := get(t, client("http://"+addr), "http://"+name+port); code == 200 || !strings.Contains(body,
			"127.0.0.9, which the settings deny") {
			t.Errorf("%s leads to an address that is denied: %d %s", name, code, body)
		}
	}
	rules, err := netproxy.ParseRules([]string{"*"}, []string{"evil.example"})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{"evil.example:443": false, "good.example:443": true} {
		if target, err := netproxy.ParseTarget(host, 0); err != nil || rules.Allows(target) != want {
			t.Errorf("%s: allowed is not %v, %v", host, want, err)
		}
	}
}

// Nobody is asked about an address that no answer opens.
func TestNobodyIsAskedAboutAPrivateAddress(t *testing.T) {
	ask := func(_ context.Context, r netproxy.Request) netproxy.Verdict {
		t.Errorf("asked about %s", r.Target)
		return netproxy.Verdict{Allowed: true}
	}
	addr, _, _ := start(t, netproxy.Config{Ask: ask}, nil, nil)
	for _, host := range []string{"127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[::ffff:10.1.2.3]"} {
		if code, body := get(t, client("http://"+addr), "http://"+host+":"+server(t, false)); code == 200 {
			t.Errorf("%s: %s", host, body)
		}
	}
}
