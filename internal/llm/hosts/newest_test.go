package hosts_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

func TestTheNewestModelOfALineIsProposedAndNoVariant(t *testing.T) {
	// a newer catalogue changes the first
	for host, want := range map[string]string{"openai": "gpt-5.5", "anthropic": "", "groq": ""} {
		h, _ := hosts.Named(host)
		if got := h.Newest(); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}
