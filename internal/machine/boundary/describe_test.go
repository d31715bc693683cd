package boundary_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/base/await"
	"github.com/lathe-dev/lathe/internal/machine/boundary"
	"github.com/lathe-dev/lathe/internal/machine/sandbox/confine"
)

func TestTheSandboxIsDescribedByTier(t *testing.T) {
	for _, tt := range []struct {
		support    confine.Support
		settings   string
		name, word string
		text       []string
	}{
		{
			confine.Support{Tier: confine.Full},
			`{"enabled": true, "excludedCommands": ["docker"], "autoAllowBashIfSandboxed": true, "network": {"allowedDomains": ["a.example"], "strictAllowlist": true}}`, "full workspace", "sandboxed",
			[]string{"tier: full", "`docker`", "unasked", "only: `a.example`"},
		},
		{
			confine.Support{Tier: confine.Landlock, Why: "no namespaces"},
			`{"enabled": true, "mode": "read-only"}`,
			"landlock read-only", "landlock",
			[]string{"tier: landlock", "no namespaces", "network: none", "/tmp"},
		},
		{
			confine.Support{Tier: confine.Restricted, Why: "Windows"},
			`{"enabled": true}`, "restricted workspace",
			"restricted",
			[]string{"tier: restricted", "network: the machine's own"},
		},
		{
			confine.Support{Tier: confine.Seatbelt, Why: "macOS"},
			`{"enabled": true}`, "seatbelt workspace", "seatbelt",
			[]string{"tier: seatbelt", "not full because: `macOS`", "network: none"},
		},
		{
			confine.Support{Tier: confine.Full},
			`{"enabled": true, "filesystem": {"allowWrite": ["/more"]}, "network": {"allowedDomains": ["a.example"], "allowLocalBinding": true}}`, "full workspace", "sandboxed",
			[]string{"the working folders, `/more`, and", "asks about each host but `a.example`", "servers: reached"},
		},
		{
			confine.Support{Tier: confine.Full},
			`{"enabled": true, "network": {"httpProxyPort": 3128}}`, "full workspace",
			"sandboxed",
			[]string{"network: a proxy of yours decides, at port 3128"},
		},
		{
			confine.Support{Tier: confine.Full},
			`{"network": {"socksProxyPort": 1080, "httpProxyPort": 3128}}`, "default",
			"sandboxed",
			[]string{"network: a proxy of yours decides, at ports 3128 and 1080"},
		},
		{confine.Support{Tier: confine.Full}, `{}`, "default", "sandboxed", []string{
			"package registries",
			"outside by default: ",
		}},
		{
			confine.Support{Tier: confine.Full},
			`{"network": {"strictAllowlist": true}}`, "default", "sandboxed",
			[]string{"the allowed hosts only"},
		},
		{
			confine.Support{Tier: confine.Landlock, Why: "no `namespaces`"},
			`{"autoAllowBashIfSandboxed": true}`, "default",
			"no sandbox",
			[]string{"only in the tier full: `no 'namespaces'`"},
		},
		{
			confine.Support{Why: "no Landlock"},
			`{"enabled": true}`, "none workspace", "unconfined",
			[]string{"tier: none", "no Landlock"},
		},
	} {
		b, err := boundary.Open(boundary.Options{
			Settings: []byte(tt.settings),
			Detect:   func() confine.Support { return tt.support },
		})
		if err != nil {
			t.Fatal(err)
		}
		b.Support() // the word of the default one waits for the probe
		if b.Name() != tt.name || b.Word() != tt.word {
			t.Errorf("got %q and %q, want %q and %q", b.Name(), b.Word(), tt.name, tt.word)
		}
		for _, want := range tt.text {
			if !strings.Contains(b.Describe(), want) {
				t.Errorf("%q is not in %s", want, b.Describe())
			}
		}
	}
	for _, settings := range []string{`{"enabled": true}`, `{}`} {
		b, err := boundary.Open(boundary.Options{
			Settings: []byte(settings),
			Detect:   func() confine.Support { return confine.Support{Tier: confine.Full} },
		})
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(b.Describe(), "network: lathe asks about each host\n"); has != (settings != `{}`) {
			t.Errorf("%s: the network is not that of the mode: %s", settings, b.Describe())
		}
		if b.Enforced() != "full workspace" {
			t.Errorf("%s: %q is enforced", settings, b.Enforced())
		}
		for _, other := range []string{"not full because", "servers", "outside of it", "unasked", "default: "} {
			if has := strings.Contains(b.Describe(), other); has != (settings == `{}` && other == "default: ") {
				t.Errorf("%s, %q: %v in %s", settings, other, has, b.Describe())
			}
		}
	}
	var none *boundary.Boundary
	if none.Name() != "" || none.Enforced() != "" || none.Word() != "" || !strings.Contains(none.Describe(),
		"without the sandbox") {
		t.Errorf("no sandbox: %q", none.Describe())
	}
}

// A start does not wait for the probe of the machine; the status line asks for it, and has the word once it is known.
func TestTheStatusLineDoesNotWaitForTheProbe(t *testing.T) {
	for tier, word := range map[confine.Tier]string{confine.Full: "sandboxed", confine.Landlock: "no sandbox"} {
		hold := make(chan struct{})
		b, err := boundary.Open(boundary.Options{Detect: func() confine.Support {
			<-hold
			return confine.Support{Tier: tier}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if b.Word() != "" {
			t.Errorf("%v: %q before the probe", tier, b.Word())
		}
		close(hold)
		if !await.Until(func() bool { return b.Word() == word }) {
			t.Errorf("%v: %q after the probe, want %q", tier, b.Word(), word)
		}
		if enforced := b.Enforced(); (enforced == "") != (tier != confine.Full) {
			t.Errorf("%v: %q is enforced", tier, enforced)
		}
	}
}
