package llm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func dollars(f float64) *float64 { return &f }

func TestASumIsToldOnlyIfAllOfItIs(t *testing.T) {
	told, more := Usage{Input: 10, Output: 1, CostUSD: dollars(0.5)}, Usage{Input: 5, CostUSD: dollars(0.25)}
	untold := Usage{Input: 100, Output: 10}
	for _, c := range []struct {
		name string
		sum  Usage
		want Usage
	}{
		{"both told", told.Add(more), Usage{Input: 15, Output: 1, CostUSD: dollars(0.75)}},
		{"one told", told.Add(untold), Usage{Input: 110, Output: 11}},
		{"nothing before", Usage{}.Add(told), told},
		{"nothing after", told.Add(Usage{}), told},
		{"none told", untold.Add(untold), Usage{Input: 200, Output: 20}},
	} {
		if d := cmp.Diff(c.want, c.sum); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	price := Price{Input: 1e6, Output: 1e6}
	if got := price.Cost(told); got != 0.5 {
		t.Errorf("a told cost counts, got %v", got)
	}
	if got := price.Cost(untold); got != 110 {
		t.Errorf("without one the tokens count, got %v", got)
	}
	if *told.CostUSD != 0.5 {
		t.Error("adding changed what was added")
	}
}

func TestOpaqueDataIsStoredWithItsPart(t *testing.T) {
	o := &Opaque{Provider: "x@h", JSON: json.RawMessage(`{"a":["<"]}`)}
	parts := []Part{
		Text{Text: "t", Opaque: o},
		Text{Text: "plain"},
		Reasoning{Text: "r", Signature: "s", Provider: "x@h", Opaque: o},
		Reasoning{Data: "d"},
		ToolCall{ID: "1", Name: "Read", Input: json.RawMessage(`{}`), Opaque: o},
		ToolCall{ID: "2", Name: "Read", Input: json.RawMessage(`{}`)},
	}
	for _, p := range parts {
		b, err := MarshalPart(p)
		if err != nil {
			t.Fatal(err)
		}
		var got StoredPart
		err = json.Unmarshal(b, &got)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, got.Part, cmp.Comparer(func(a, b json.RawMessage) bool {
			return string(AppendCanonical(nil, a)) == string(AppendCanonical(nil, b))
		})); d != "" {
			t.Errorf("%s: %s", b, d)
		}
	}
}

func TestHostsAreToldApartByNameAndAddress(t *testing.T) {
	ids := map[string]bool{}
	for _, h := range [][2]string{
		{"openai", "https://api.openai.com/v1"},
		{"openai", "https://gateway.example/v1"},
		{"corp", "https://gateway.example/v1"},
		{"openai", "http://127.0.0.1:1234"},
		{"openai", "http://127.0.0.1:11434"},
	} {
		ids[HostID(h[0], h[1])] = true
	}
	if len(ids) != 5 {
		t.Errorf("%v", ids)
	}
	if a, b := HostID("x", "https://API.example/v1"), HostID("x", "https://api.example/v2/"); a != b {
		t.Errorf("one host has two names: %s, %s", a, b)
	}
}

func TestOpaqueDataGoesToTheHostThatMadeItOnly(t *testing.T) {
	m := ModelInfo{Provider: "anthropic", Host: "anthropic@api.anthropic.com"}
	for host, want := range map[string]bool{
		"anthropic@api.anthropic.com": true,
		"work@api.anthropic.com":      false,
		"anthropic@gateway.example":   false,
		"anthropic":                   false,
		"":                            false,
	} {
		if m.Owns(host) != want {
			t.Errorf("%q: want %v", host, want)
		}
	}
}
