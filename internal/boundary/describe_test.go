package boundary_test

import (
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/boundary"
	"github.com/lathe-dev/lathe/internal/sandbox/confine"
)

func TestTheSandboxIsDescribedByTier(t *testing.T) {
	for _, tt := range []struct {
		support    confine.Support
		settings   string
		name, word string
		text       []string
	}{
		{confine.Support{Tier: confine.Full}, `{"enabled": true, "excludedCommands": ["docker"], "autoAllowBashIfSandboxed": true, "network": {"allowedDomains": ["a.example"], "strictAllowlist": true}}`, "full workspace", "sandboxed", []string{"tier: full", "`docker`", "unasked", "only: `a.example`"}},
		{confine.Support{Tier: confine.Landlock, Why: "no namespaces"}, `{"enabled": true, "mode": "read-only"}`, "landlock read-only", "landlock", []string{"tier: landlock", "no namespaces", "network: none", "/tmp"}},
		{confine.Support{Tier: confine.Restricted, Why: "Windows"}, `{"enabled": true}`, "restricted workspace", "restricted", []string{"tier: restricted", "network: the machine's own"}},
		{confine.Support{Why: "no Landlock"}, `{"enabled": true}`, "none workspace", "unconfined", []string{"tier: none", "no Landlock"}},
	} {
		b, err := boundary.Open(boundary.Options{Settings: []byte(tt.settings), Detect: func() confine.Support { return tt.support }})
		if err != nil {
			t.Fatal(err)
		}
		if b.Name() != tt.name || b.Word() != tt.word {
			t.Errorf("got %q and %q, want %q and %q", b.Name(), b.Word(), tt.name, tt.word)
		}
		for _, want := range tt.text {
			if !strings.Contains(b.Describe(), want) {
				t.Errorf("%q is not in %s", want, b.Describe())
			}
		}
	}
	var none *boundary.Boundary
	if none.Name() != "" || none.Word() != "" || !strings.Contains(none.Describe(), "without the sandbox") {
		t.Errorf("no sandbox: %q", none.Describe())
	}
}
