package provider

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/config"
	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
	"github.com/lathe-dev/lathe/internal/machine/sandbox"
)

// set makes the providers of the given environment and settings.
func set(t *testing.T, settings string, env ...string) *Set {
	t.Helper()
	dir := t.TempDir()
	cfg, err := config.Load(config.Options{
		Dir: dir, Home: dir, Environ: append([]string{"HOME=" + dir}, env...), SettingsFlag: settings,
		ManagedPaths: []string{},
	})
	if err != nil {
		t.Fatal(err)
	}
	runner := sandbox.New()
	t.Cleanup(runner.Close)
	all := New(Options{
		Settings: func() *config.Settings { return &cfg.Settings }, Version: "test", Runner: runner, Dir: dir,
		Env: func() []string { return nil },
	})
	t.Cleanup(all.Close)
	return all
}

func ids(all *Set) (out []string) {
	for _, m := range all.Models() {
		out = append(out, m.ID)
	}
	return out
}

func TestModelsOfWhatCanBeCalledAreListed(t *testing.T) {
	if got := ids(set(t, "{}")); len(got) != 0 {
		t.Errorf("without a key: %v", got)
	}
	got := ids(set(t, "{}", "ANTHROPIC_API_KEY=x"))
	if !slices.Contains(got, "claude-haiku-4-5") || slices.ContainsFunc(got,
		func(id string) bool { return strings.HasPrefix(id, "gpt") }) {
		t.Errorf("%v", got)
	}
	all := set(t,
		`{"providers": {"box": {"type": "openai", "apiBase": "http://127.0.0.1:1/v1", "models": {"llama": {"contextWindow": 9}}}}}`, "ANTHROPIC_API_KEY=x")
	got = ids(all)
	if !slices.Contains(got, "box/llama") || got[0] == "box/llama" {
		t.Errorf("%v", got)
	}
	if m, err := all.Model(t.Context(), "box/llama"); err != nil || m.Info().ContextWindow != 9 {
		t.Errorf("%v", err)
	}
}

func TestASmallModelIsChosenForAsLongAsLatheRuns(t *testing.T) {
	all := set(t, "{}", "ANTHROPIC_API_KEY=x")
	if m, err := all.SmallModel(t.Context()); err != nil || m.Info().ID != "claude-haiku-4-5" {
		t.Errorf("%v", err)
	}
	if err := all.SetSmallModel(t.Context(), "opus"); err != nil {
		t.Fatal(err)
	}
	if m, err := all.SmallModel(t.Context()); err != nil || !strings.Contains(m.Info().ID, "opus") {
		t.Errorf("%v", err)
	}
	if err := set(t, "{}").SetSmallModel(t.Context(), "opus"); err == nil {
		t.Error("without a key")
	}
}

func TestAPrefixIsTakenOffOnlyAtTheProvidersOwnHost(t *testing.T) {
	for _, c := range []struct {
		env             []string
		settings, model string
		provider, sent  string
	}{
		{[]string{"OPENAI_API_KEY=k"}, "{}", "openai/gpt-5", "openai", "gpt-5"},
		{[]string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://api.openai.com/v1"}, "{}", "openai/gpt-5", "openai", "gpt-5"},
		{
			[]string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=https://gateway.example/v1"},
			"{}", "openai/gpt-5", "openai",
			"openai/gpt-5",
		},
		{
			[]string{"OPENAI_API_KEY=k"},
			`{"apiBase": "https://openrouter.ai/api/v1"}`, "openai/gpt-5", "openai",
			"openai/gpt-5",
		},
		{[]string{"OPENROUTER_API_KEY=k"}, "{}", "openai/gpt-5", "openrouter", "openai/gpt-5"},
		{[]string{"OPENROUTER_API_KEY=k"}, "{}", "openrouter/openai/gpt-5", "openrouter", "openai/gpt-5"},
		{
			[]string{"OPENROUTER_API_KEY=k", "OPENAI_API_KEY=k"},
			`{"provider": "openrouter"}`, "openai/gpt-5", "openrouter",
			"openai/gpt-5",
		},
		{[]string{"OPENROUTER_API_KEY=k", "OPENAI_API_KEY=k"}, "{}", "openai/gpt-5", "openai", "gpt-5"},
		{[]string{"GROQ_API_KEY=k"}, "{}", "openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"},
		{[]string{"ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=k"}, `{"provider": "anthropic"}`, "openai/gpt-5", "openai", "gpt-5"},
		{[]string{"ANTHROPIC_API_KEY=k"}, "{}", "anthropic/claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"},
		{[]string{"ANTHROPIC_API_KEY=k"}, "{}", "claude-sonnet-4.5", "anthropic", "claude-sonnet-4-5"},
		{
			[]string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=https://gateway.example"},
			"{}", "anthropic/claude-sonnet-4.5",
			"anthropic", "anthropic/claude-sonnet-4.5",
		},
		{[]string{"ANTHROPIC_API_KEY=k"}, "{}", "ollama/qwen3:8b", "ollama", "qwen3:8b"},
		{nil, `{"providers": {"box": {"type": "openai", "apiBase": "http://box:1"}}}`, "box/a/b", "box", "a/b"},
	} {
		all := set(t, c.settings, c.env...)
		name, _, err := all.Choose(c.model)
		if err != nil || name != c.provider {
			t.Errorf("%v %s %s: %s, %v", c.env, c.settings, c.model, name, err)
			continue
		}
		if m, err := all.Model(t.Context(), c.model); err != nil || m.Info().ID != c.sent ||
			!strings.HasPrefix(m.Info().Host, c.provider+"@") {
			t.Errorf("%v %s %s: %+v, %v", c.env, c.settings, c.model, m, err)
		}
	}
}

func TestShortNamesAreTheNewestOfTheHost(t *testing.T) {
	all := set(t, "{}", "OPENROUTER_API_KEY=k")
	if m, err := all.Model(t.Context(), "sonnet"); err != nil || m.Info().ID != "anthropic/claude-sonnet-4.6" {
		t.Errorf("a known host that has the line: %+v, %v", m, err)
	}
	all = set(t, "{}", "GROQ_API_KEY=k")
	if _, err := all.Model(t.Context(), "sonnet"); err == nil || !strings.Contains(err.Error(), "short name") {
		t.Errorf("a known host without it: %v", err)
	}
	all = set(t, "{}", "OPENAI_BASE_URL=http://localhost:1/v1")
	if m, err := all.Model(t.Context(), "sonnet"); err != nil || m.Info().ID != "sonnet" {
		t.Errorf("an unknown host: %+v, %v", m, err)
	}
	all = set(t, "{}", "ANTHROPIC_API_KEY=k")
	if m, err := all.Model(t.Context(), "sonnet"); err != nil || m.Info().ID != "claude-sonnet-5" {
		t.Errorf("Anthropic: %+v, %v", m, err)
	}
}

// Each row of the table connects with its variable alone, and its models are in the catalogue.
func TestEveryKnownHostConnects(t *testing.T) {
	for _, h := range hosts.Table {
		settings, env := `{"provider": "`+h.Name+`"}`, []string{}
		if h.Device {
			settings = `{"provider": "` + h.Name + `", "providers": {"` + h.Name + `": {"authToken": "k"}}}`
		}
		if h.Variable("apiKey") != "" {
			env = append(env, h.Variable("apiKey")+"=k-0123456789")
		}
		if h.Base == "" {
			settings = `{"provider": "` + h.Name + `", "providers": {"` + h.Name +
				`": {"apiBase": "https://mine.example/openai/v1"}}}`
		}
		all := clouded(t, settings, append(env, "ANTHROPIC_VERTEX_PROJECT_ID=p")...)
		id := h.Model
		if id == "" {
			id = "some-model"
		}
		m, err := all.Model(t.Context(), id)
		if err != nil || !strings.HasSuffix(m.Info().ID, id) || !strings.HasPrefix(m.Info().Host, h.Name+"@") {
			t.Errorf("%s: %+v, %v", h.Name, m, err)
			continue
		}
		if h.Variable("apiKey") != "" && all.Provider(h.Name).APIKey != "k-0123456789" {
			t.Errorf("%s: package config does not read %s", h.Name, h.Variable("apiKey"))
		}
		if wires[h.Wire] == nil {
			t.Errorf("%s: no wire %q", h.Name, h.Wire)
		}
		section := llm.CatalogueHost(h.Base)
		for _, id := range []string{h.Model, h.Small} {
			if id != "" && section != "" && !slices.ContainsFunc(llm.Known(section),
				func(m llm.ModelInfo) bool { return m.ID == id }) {
				t.Errorf("%s: the catalogue does not have %s", h.Name, id)
			}
		}
		if h.Variable("apiKey") != "" && h.Base != "" && !h.Local {
			if err := set(t, `{"provider": "`+h.Name+`"}`).ready(h.Name); err == nil {
				t.Errorf("%s: ready without a key", h.Name)
			}
		}
	}
	if _, err := set(t, `{"provider": "azure"}`, "AZURE_OPENAI_API_KEY=k").Model(t.Context(), "m"); err == nil ||
		!strings.Contains(err.Error(), "AZURE_OPENAI_ENDPOINT") {
		t.Errorf("azure without an address: %v", err)
	}
}

func TestAKeyOfOtherProgramsChoosesNoProvider(t *testing.T) {
	if _, _, err := set(t, "{}", "GITHUB_TOKEN=k").Choose(""); !errors.Is(err, ErrNoKey) {
		t.Errorf("%v", err)
	}
	if name, _, err := set(t, "{}", "GITHUB_TOKEN=k").Choose("github-models/openai/gpt-4.1"); err != nil ||
		name != "github-models" {
		t.Errorf("%s, %v", name, err)
	}
}

// requests serves Chat Completions and passes on each request.
func requests(t *testing.T, each func(*http.Request)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		each(r)
		_,
			_ = io.WriteString(w,
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestSettingsWinOverTheTable(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	all := set(t, `{"providers": {"groq": {"apiBase": "`+url+
		`/own", "apiKey": "k-from-settings", "headers": {"X-Team": "blue"}}}}`)
	m, err := all.Model(t.Context(), "groq/llama")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got.URL.Path != "/own/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer k-from-settings" ||
		got.Header.Get("X-Team") != "blue" {
		t.Errorf("%s %v", got.URL, got.Header)
	}
}

var update = flag.Bool("update", false, "write the table of hosts into the documentation")

func TestDocumentationListsEveryHost(t *testing.T) {
	const file, begin, end = "../../docs/configuration.md",
		"<!-- hosts: go test ./internal/provider -run Documentation -update -->\n", "<!-- end of hosts -->"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("the marks of the table are gone from %s", file)
	}
	var b strings.Builder
	b.WriteString("\n| name | API | address | key | model if none is chosen |\n|---|---|---|---|---|\n")
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + s + "`"
	}
	for _, h := range hosts.Table {
		key := code(h.Variable("apiKey"))
		switch {
		case h.Local:
			key = "none"
		case h.Named:
			key += ", only when it is named"
		}
		base := code(h.Base)
		if base == "" {
			base = "yours: `providers." + h.Name + ".apiBase`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", h.Name, h.Wire, base, key, code(h.Model))
	}
	b.WriteString("\n")
	want := before + begin + b.String() + end + after
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: go test ./internal/provider -run Documentation -update", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
