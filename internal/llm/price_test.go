package llm

import (
	"math"
	"testing"
)

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

func TestTheCostThatAHostTellsIsPreferred(t *testing.T) {
	told, price := 0.42, Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	u := Usage{Input: 1_000_000, Output: 100_000, CacheRead: 1_000_000, CacheWrite: 200_000, CacheWrite1h: 100_000}
	if got := price.Cost(u); math.Abs(got-(3+1.5+0.3+0.375+0.6)) > 1e-9 {
		t.Errorf("by the list: %v", got)
	}
	u.CostUSD = &told
	if got := price.Cost(u); got != told {
		t.Errorf("told %v, counted %v", told, got)
	}
	if sum := u.Add(Usage{Input: 1}); sum.CostUSD != nil {
		t.Error("a sum of a told cost and an unknown one claims to be told")
	}
	if sum := u.Add(u); sum.CostUSD == nil || *sum.CostUSD != 2*told {
		t.Errorf("%v", sum.CostUSD)
	}
}
