package llm

import "testing"

func TestALongPromptHasItsOwnPrice(t *testing.T) {
	p := Lookup("google", "gemini-3.1-pro-preview").Price
	if p.Long.Above != 200_000 || p.Long.Input != 2*p.Input {
		t.Fatalf("%+v", p)
	}
	short := p.Cost(Usage{Input: 100_000, CacheRead: 100_000, Output: 1_000})
	long := p.Cost(Usage{Input: 100_001, CacheRead: 100_000, Output: 1_000})
	if want := 0.2 + 0.02 + 0.012; short < want-1e-9 || short > want+1e-9 {
		t.Errorf("a short prompt costs %v, want %v", short, want)
	}
	if want := 0.400004 + 0.04 + 0.018; long < want-1e-9 || long > want+1e-9 {
		t.Errorf("a long prompt costs %v, want %v", long, want)
	}
	if Lookup("anthropic", DefaultModel).Price.Long.Above != 0 {
		t.Error("a model without a tier has one")
	}
}

func TestAGatewaysCachePriceIsItsVendors(t *testing.T) {
	if p := Lookup("openrouter", "openai/gpt-5").Price; p.CacheRead >= p.Input {
		t.Errorf("cached tokens cost as much as fresh ones: %+v", p)
	}
}
