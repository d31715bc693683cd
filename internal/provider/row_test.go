package provider

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
	"github.com/lathe-dev/lathe/internal/llm/hosts"
)

// addHost adds a row to the table of hosts, for one test.
func addHost(t *testing.T, h hosts.Host) {
	was := hosts.Table
	t.Cleanup(func() { hosts.Table = was })
	hosts.Table = append(slices.Clone(hosts.Table), h)
}

// One row makes a provider: its variables are read, it is chosen, called with its key, and named in hints.
func TestAProviderIsOneRow(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	addHost(t, hosts.Host{
		Name: "acme-ai", Wire: chatWire, Base: "https://api.acme.example/v1", Model: "anvil-2", Small: "anvil-mini",
		Vars:      []hosts.Var{{Name: "ACME_KEY", Setting: "apiKey"}, {Name: "ACME_URL", Setting: "apiBase"}},
		Preferred: true, Family: "anvil",
		Login: &hosts.Login{Title: "Acme", Page: "https://acme.example/keys", KeyForm: "acme-...", Use: "use Acme's models"},
	})
	for _, c := range []struct {
		settings, id, provider, model string
		env                           []string
	}{
		{"{}", "", "acme-ai", "anvil-2", []string{"ACME_KEY=k"}},
		{"{}", "anvil-1", "acme-ai", "anvil-1", []string{"ACME_KEY=k", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o"}},
		{"{}", "claude-opus-4-5", "anthropic", "claude-opus-4-5", []string{
			"ACME_KEY=k", "ANTHROPIC_API_KEY=a",
			"OPENAI_API_KEY=o",
		}},
		{"{}", "gpt-5.5", "openai", "gpt-5.5", []string{"ACME_KEY=k", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o"}},
		{"{}", "acme-ai/anvil-3", "acme-ai", "anvil-3", []string{"ACME_KEY=k", "ANTHROPIC_API_KEY=a"}},
		{`{"provider": "acme-ai"}`, "", "acme-ai", "anvil-2", []string{"ACME_KEY=k", "ANTHROPIC_API_KEY=a"}},
	} {
		m, err := set(t, c.settings, c.env...).Model(t.Context(), c.id)
		if err != nil || m.Info().ID != c.model || !strings.HasPrefix(m.Info().Host, c.provider+"@") {
			t.Errorf("%v %q: %+v, %v", c.env, c.id, m, err)
		}
	}
	if m, err := set(t, "{}", "ACME_KEY=k").SmallModel(t.Context()); err != nil || m.Info().ID != "anvil-mini" {
		t.Errorf("the small model: %+v, %v", m, err)
	}

	all := set(t, "{}", "ACME_KEY=k-acme", "ACME_URL="+url)
	if name, base := all.Endpoint(); name != "acme-ai" || base != url || all.KeySource() != "ACME_KEY" {
		t.Errorf("%s %s %s", name, base, all.KeySource())
	}
	m, err := all.Model(t.Context(), "anvil-9")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got.Header.Get("Authorization") != "Bearer k-acme" {
		t.Errorf("%v", got.Header)
	}
	for what, text := range map[string]string{
		"the error without a key": ErrNoKey.Error(), "the hint": hosts.KeyHint(), "the manual": hosts.Variables("apiKey"),
		"completion": strings.Join(hosts.Names(), " "), "what commands do not get": strings.Join(hosts.Secrets(), " "),
	} {
		if !strings.Contains(text, "ACME_KEY") && !strings.Contains(text, "acme-ai") {
			t.Errorf("%s: %s", what, text)
		}
	}
}

func TestTheErrorWithoutAKeyListsTheWays(t *testing.T) {
	const want = `no model is set up yet. Ways to get going:
  lathe demo                          watch lathe work, with scripted replies and no key
  export ANTHROPIC_API_KEY=sk-ant-... use Claude (or ANTHROPIC_BASE_URL with any server that speaks its API)
  export OPENAI_API_KEY=sk-...        use OpenAI, or OPENAI_BASE_URL=http://localhost:11434/v1 for a local server`
	if got := ErrNoKey.Error(); got != want {
		t.Errorf("%s", got)
	}
}

// OpenAI's own host is called by its newer API, servers in its place by the one that they copy; the setting decides for
// both.
func TestTheWireOfAServerInPlaceOfAHost(t *testing.T) {
	var path string
	url := requests(t, func(r *http.Request) { path = r.URL.Path })
	for _, c := range []struct{ settings, base, want string }{
		{`{}`, "", "responses"},
		{`{}`, "https://api.openai.com/v1", "responses"},
		{`{"stream": {"maxRetries": 0}}`, url, "openai"},
		{`{"providers": {"openai": {"type": "openai"}}}`, "", "openai"},
		{`{"stream": {"maxRetries": 0}, "providers": {"openai": {"type": "responses"}}}`, url, "responses"},
	} {
		all := set(t, c.settings, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+c.base)
		if got := wireOf("openai", all.Provider("openai")); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.settings, c.base, got, c.want)
		}
		if m, err := all.SmallModel(t.Context()); c.base != url && (err != nil || m.Info().ID != "gpt-5-mini") {
			t.Errorf("%s %s: the small model is %+v, %v", c.settings, c.base, m, err)
		}
		if c.base != url {
			continue
		}
		m, err := all.Model(t.Context(), "gpt-5.5")
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("x")}}) {
			if err != nil {
				break // the server answers by one of the APIs only
			}
		}
		if want := map[string]string{"openai": "/chat/completions", "responses": "/responses"}[c.want]; !strings.HasSuffix(
			path, want) {
			t.Errorf("%s: the request went to %s", c.settings, path)
		}
	}
}

// A bare --api-base goes to the preferred host that has a key, if only one has, else to the wire that most servers
// speak.
func TestABareBaseGoesToTheOnlyKey(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, "openai"},
		{[]string{"ANTHROPIC_API_KEY=a"}, "anthropic"},
		{[]string{"ANTHROPIC_AUTH_TOKEN=a"}, "anthropic"},
		{[]string{"OPENAI_API_KEY=o"}, "openai"},
		{[]string{"ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=o"}, "openai"},
		{[]string{"GROQ_API_KEY=g"}, "openai"},
	} {
		if name, _, err := set(t, `{"apiBase": "http://127.0.0.1:1/v1"}`, c.env...).Choose("m"); err != nil ||
			name != c.want {
			t.Errorf("%v: %s, %v", c.env, name, err)
		}
	}
}
