package hosts_test

import (
	"testing"

	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

func TestTheNewestModelOfALineIsProposedAndNoVariant(t *testing.T) {
	for host, want := range map[string]string{"openai": "gpt-5.5", "anthropic": "", "groq": ""} { // a newer catalogue changes the first
		h, _ := hosts.Named(host)
		if got := h.Newest(); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
}
