package llm

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestModelIsFoundUnderAllItsNames(t *testing.T) {
	for _, c := range []struct{ provider, id, wire, name string }{
		{"anthropic", "claude-sonnet-4-5", "claude-sonnet-4-5", "Claude Sonnet 4.5"},
		{"anthropic", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929", "Claude Sonnet 4.5"},
		{"anthropic", "claude-sonnet-4-5-20991231", "claude-sonnet-4-5-20991231", "Claude Sonnet 4.5"},
		{"anthropic", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5", "Claude Sonnet 4.5"},
		{"anthropic", "claude-sonnet-4.5", "claude-sonnet-4-5", "Claude Sonnet 4.5"},
		{
			"anthropic", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
			"Claude Sonnet 4.5",
		},
		{"anthropic", "claude-sonnet-4-5@20250929", "claude-sonnet-4-5@20250929", "Claude Sonnet 4.5"},
		{"anthropic", "claude-3-7-sonnet-latest", "claude-3-7-sonnet-latest", "Claude Sonnet 3.7"},
		{"anthropic", "Haiku", "claude-haiku-4-5", "Claude Haiku 4.5"},
		{"anthropic", "opus[1m]", "claude-opus-5", "Claude Opus 5"},
		{"openai", "gpt-4o-2024-08-06", "gpt-4o-2024-08-06", "GPT-4o (2024-08-06)"},
		{"openai", "openai/gpt-5.5", "openai/gpt-5.5", "gpt-5.5"},
		{"openrouter", "anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4.5", "Claude Sonnet 4.5"},
	} {
		m := Lookup(c.provider, c.id)
		if !m.Known || m.ID != c.wire || m.Name != c.name || m.Provider != c.provider || m.ContextWindow == 0 ||
			m.MaxOutput == 0 || m.Price.Input == 0 {
			t.Errorf("%s %s: %+v", c.provider, c.id, m)
		}
	}
}

func TestUnknownModelGetsSafeGuesses(t *testing.T) {
	m := Lookup("anthropic", "claude-sonnet-9")
	if m.Known || m.ContextWindow != 200_000 || m.MaxOutput != 32_000 || m.Thinking != ThinkingAdaptive ||
		m.Price != (Price{}) {
		t.Errorf("%+v", m)
	}
	m = Lookup("openai", "my-own-model")
	if m.Known || m.ID != "my-own-model" || m.Thinking != ThinkingNone || m.Images || m.ContextWindow == 0 {
		t.Errorf("%+v", m)
	}
	if m := Lookup("anthropic", ""); m.Known {
		t.Errorf("%+v", m)
	}
}

func TestLongWindowIsAskedForBySuffix(t *testing.T) {
	if n := Lookup("anthropic", "claude-opus-4-6").ContextWindow; n != 200_000 {
		t.Error(n)
	}
	if n := Lookup("anthropic", "claude-opus-4-6[1M]").ContextWindow; n != 1_000_000 {
		t.Error(n)
	}
}

func TestAliasesCanBeReplaced(t *testing.T) {
	own := map[string]string{"sonnet": "claude-sonnet-4-5", "mine": "x"}
	for in, want := range map[string]string{
		"sonnet": "claude-sonnet-4-5", "sonnet[1m]": "claude-sonnet-4-5[1m]", "mine": "x", "haiku": "claude-haiku-4-5",
		"other": "other",
	} {
		if got := Resolve(in, own); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestThinkingOfKnownModels(t *testing.T) {
	for id, want := range map[string]string{
		"claude-opus-4-5": "budget [low medium high max]", "claude-opus-4-6": "adaptive [low medium high max]",
		"claude-opus-4-8": "adaptive [low medium high xhigh max]", "claude-fable-5": "adaptive [low medium high xhigh max]",
		"claude-3-7-sonnet-20250219": "budget [low medium high max]", "claude-3-5-haiku-20241022": " []",
		"gpt-4o": " []", "gpt-5": "adaptive [low medium high]", "gpt-5.2": "adaptive [low medium high xhigh]",
		"o3": "adaptive [low medium high]",
	} {
		p := "openai"
		if strings.HasPrefix(id, "claude") {
			p = "anthropic"
		}
		m := Lookup(p, id)
		var levels []string
		for _, e := range m.Efforts {
			levels = append(levels, string(e))
		}
		if got := string(m.Thinking) + " [" + strings.Join(levels, " ") + "]"; got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func TestEffortFallsToTheLevelBelow(t *testing.T) {
	m := ModelInfo{Efforts: []Effort{"medium", "high", "max"}}
	for in, want := range map[Effort]Effort{
		"low": "medium", "medium": "medium", "xhigh": "high", "max": "max", "": "",
		"off": "", "odd": "",
	} {
		if got := m.FitEffort(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestNearestModelsAreSuggested(t *testing.T) {
	if got := NearestModels("claude-sonet-4-5"); len(got) == 0 || got[0] != "claude-sonnet-4-5" {
		t.Error(got)
	}
	if got := NearestModels("gpt5"); !slices.Contains(got, "gpt-5") {
		t.Error(got)
	}
	// refused for another reason
	for _, known := range []string{"claude-sonnet-4-5", "openai/gpt-5", "sonnet", "gpt-5-mini"} {
		if got := NearestModels(known); len(got) != 0 {
			t.Errorf("%s: %v", known, got)
		}
	}
	for _, odd := range []string{"", "qqqqqqqqqqqqqqqqq", strings.Repeat("x", 5000)} {
		if got := NearestModels(odd); len(got) != 0 {
			t.Errorf("%.20s: %v", odd, got)
		}
	}
}

func TestHostOfABaseURLIsKnown(t *testing.T) {
	for url, want := range map[string]string{
		"https://openrouter.ai/api/v1": "openrouter", "https://API.OPENAI.com/v1": "openai",
		"https://api.groq.com/openai/v1": "groq",
		"http://localhost:8080":          "", "::": "",
	} {
		if got := CatalogueHost(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

func TestEmbeddedCatalogueIsSmall(t *testing.T) {
	if n := len(catalogueTSV) + len(catalogueExtraTSV); n > 60_000 {
		t.Errorf("%d bytes", n)
	}
}

func TestGeneratorWritesWhatTheCatalogueReads(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "api.json"), filepath.Join(dir, "out.tsv")
	var b strings.Builder
	b.WriteString("{")
	for i, h := range []string{
		"anthropic", "openai", "deepseek", "mistral", "xai", "google", "moonshotai", "zai",
		"minimax", "alibaba", "groq", "cerebras", "togetherai", "fireworks-ai", "deepinfra", "ollama-cloud", "openrouter",
		"github-copilot", "amazon-bedrock",
	} {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"` + h + `":{"api":"https://` + h +
			`.example/v1","models":{"m1":{"id":"m1","name":"Model One (latest)","reasoning":true,"tool_call":true,"modalities":{"input":["text","image"],"output":["text"]},"limit":{"context":1000,"input":900,"output":50},"cost":{"input":0.5,"output":1,"cache_read":0.05}},"old":{"id":"old","tool_call":true,"status":"deprecated","modalities":{"input":["text"],"output":["text"]},"limit":{"context":1}}}}`)
	}
	b.WriteString("}")
	if err := os.WriteFile(in, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if msg, err := exec.Command("go", "run", "./gen", "-in", in, "-out", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(got), "# deepseek deepseek.example\nm1\tModel One\t900\t50\t0.5\t1\t0.05\t\tir\n") ||
		strings.Contains(string(got), "old") {
		t.Errorf("%s", got)
	}
	if msg, err := exec.Command("go", "run", "./gen").CombinedOutput(); err == nil || !strings.Contains(string(msg),
		"-in is missing") {
		t.Errorf("%v: %s", err, msg)
	}
}

// BenchmarkLookup measures one model of the catalogue, which is searched as text.
func BenchmarkLookup(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if m := Lookup("anthropic", DefaultModel); !m.Known {
			b.Fatal(m)
		}
	}
}

func TestTheDefaultModelsAreTheNewestOfTheirLines(t *testing.T) {
	for alias, want := range map[string]string{"sonnet": DefaultModel, "haiku": DefaultSmallModel} {
		if got := Resolve(alias, nil); got != want {
			t.Errorf("%s is %s, and the default %s", alias, got, want)
		}
		if i := Lookup("anthropic", want); i.ContextWindow == 0 || i.Price == (Price{}) {
			t.Errorf("the catalogue does not have %s", want)
		}
	}
}

func TestTheCostOfAReplyIsKnownOrNot(t *testing.T) {
	for _, c := range []struct {
		host     string
		unpriced bool
		want     bool
	}{
		{"anthropic@api.anthropic.com", false, true},
		{"corp@llm.corp.example", true, false},
		{"corp@llm.corp.example/responses", true, false},
		{"corp@10.0.0.5:8080", true, false},
		{"ollama@localhost:11434", true, true},
		{"openai@127.0.0.1:8080/responses", true, true},
		{"openai@[::1]:8080", true, true},
		{"openrouter@openrouter.ai", true, true},
		{"x@localhost.evil.example", true, false},
		{"", true, false},
	} {
		if got := (ModelInfo{Host: c.host, Unpriced: c.unpriced}).CostKnown(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if m := Lookup("openai", "never-heard-of"); !m.Unpriced {
		t.Errorf("%+v", m)
	}
	if m := Lookup("anthropic", "sonnet"); m.Unpriced {
		t.Errorf("%+v", m)
	}
}

func TestAliasesNameTheNewestOfTheCatalogue(t *testing.T) {
	for alias, want := range map[string]string{
		"opus": "claude-opus-5", "Sonnet": "claude-sonnet-5", "haiku[1m]": "claude-haiku-4-5[1m]", "best": "claude-fable-5",
	} {
		if got := Resolve(alias, nil); got != want {
			t.Errorf("%s is %s, want %s", alias, got, want)
		}
	}
	if got := Newest("openrouter", "opus"); got != "anthropic/claude-opus-4.7" {
		t.Errorf("on OpenRouter opus is %q", got)
	}
	if got := Newest("groq", "opus"); got != "" {
		t.Errorf("on Groq opus is %q", got)
	}
}
