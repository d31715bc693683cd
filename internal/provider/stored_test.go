package provider

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lathe-dev/lathe/internal/store/keyring"
)

// keyed is clouded with a place for keys.
func keyed(t *testing.T, file, settings string, env ...string) *Set {
	t.Helper()
	all := clouded(t, settings, env...)
	all.o.Keys = keyring.Open(file, nil)
	return all
}

func TestAKeyThatWasKeptIsSentInTheHeaderOfItsHost(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	file := filepath.Join(t.TempDir(), "credentials.json")
	for name, header := range map[string]string{
		"anthropic": "X-Api-Key", "google": "X-Goog-Api-Key",
		"groq": "Authorization", "azure": "Api-Key", "openrouter": "Authorization",
	} {
		all := keyed(t, file, `{"provider":"`+name+`","providers":{"`+name+`":{"apiBase":"`+url+
			`"}},"stream":{"maxRetries":0}}`)
		if _, err := all.Login(name, "kept-"+name); err != nil {
			t.Fatal(err)
		}
		got = nil
		r := asked(t, all, "some-model", &got)
		if v := strings.TrimPrefix(r.Header.Get(header), "Bearer "); v != "kept-"+name {
			t.Errorf("%s: %s is %q", name, header, v)
		}
		if all.KeySource() != "keyring" {
			t.Errorf("%s: the key is said to come from %s", name, all.KeySource())
		}
	}
}

func TestAProviderWithAKeptKeyIsChosenUntilTheLogout(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	all := keyed(t, file, `{}`, "OLLAMA_HOST=127.0.0.1:1")
	if _, _, err := all.Choose(""); err == nil {
		t.Fatal("a provider without a key was chosen")
	}
	if _, err := all.Login("huggingface", "hf"); err != nil {
		t.Fatal(err)
	}
	if name, _, err := all.Choose("m"); name != "huggingface" || err != nil {
		t.Errorf("%s %v", name, err)
	}
	if s := all.KeyStates(); len(s) != 1 || s[0] != (KeyState{"huggingface", "credentials.json"}) {
		t.Errorf("%v", s)
	}
	if s := keyed(t, file, `{}`, "ANTHROPIC_API_KEY=a").KeyStates(); len(s) != 2 ||
		s[0] != (KeyState{"anthropic", "ANTHROPIC_API_KEY"}) {
		t.Errorf("%v", s)
	}
	if err := all.Logout("huggingface"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := all.Choose("m"); err == nil || all.KeyStates() != nil {
		t.Errorf("after the logout: %v", all.KeyStates())
	}
}

func TestARefusedKeyIsReadAgain(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	var seen []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		if r.Header.Get("Authorization") != "Bearer new" {
			http.Error(w, `{"error":{"message":"no"}}`, http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`)
	}))
	defer srv.Close()
	all := keyed(t, file, `{"provider":"groq","providers":{"groq":{"apiBase":"`+srv.URL+`"}}}`)
	if _, err := all.Login("groq", "old"); err != nil {
		t.Fatal(err)
	}
	m, err := all.Model(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reply(t.Context(), m, nil); err == nil {
		t.Error("a refused key passed")
	}
	if _, err := keyring.Open(file, nil).Set(keyService, "groq", "new"); err != nil { // another process
		t.Fatal(err)
	}
	if out, err := reply(t.Context(), m, nil); err != nil || out.PlainText() != "hi" {
		t.Errorf("%v %v, %q", out, err, seen)
	}
}

func TestCopilotIsLoggedInToByACode(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	git := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/login/device/code":
			fmt.Fprint(w,
				`{"device_code":"d","user_code":"AB-12","verification_uri":"https://github.com/login/device","interval":0}`)
		case "/login/oauth/access_token":
			fmt.Fprint(w, `{"access_token":"gho"}`)
		default:
			fmt.Fprintf(w, `{"token":"tid","expires_at":%d}`, time.Now().Add(time.Hour).Unix())
		}
	}))
	defer git.Close()
	all := keyed(t, filepath.Join(t.TempDir(), "credentials.json"),
		`{"provider":"github-copilot","providers":{"github-copilot":{"apiBase":"`+url+`"}},"stream":{"maxRetries":0}}`,
		"COPILOT_GITHUB_URL="+git.URL)
	code := ""
	if _, err := all.CopilotLogin(t.Context(), func(_, c string) { code = c }); err != nil || code != "AB-12" {
		t.Fatalf("%q %v", code, err)
	}
	r := asked(t, all, "gpt-4.1", &got)
	if r.Header.Get("Authorization") != "Bearer tid" || r.Header.Get("Copilot-Integration-Id") == "" {
		t.Errorf("%v", r.Header)
	}
}

func TestALocalOllamaIsFoundWhereNothingElseIsConfigured(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/tags":
			asked++
			fmt.Fprint(w, `{"models":[{"name":"qwen3:8b"},{"name":"other"}]}`)
		case "/v1/chat/completions":
			fmt.Fprint(w, `{"choices":[{"message":{"content":"local"},"finish_reason":"stop"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	all := clouded(t, `{}`, "OLLAMA_HOST="+strings.TrimPrefix(srv.URL, "http://"))
	m, err := all.Model(t.Context(), "")
	if err != nil || m.Info().ID != "qwen3:8b" {
		t.Fatalf("%v %v", m, err)
	}
	if out, err := reply(t.Context(), m, nil); err != nil || out.PlainText() != "local" || asked != 1 {
		t.Errorf("%v %v, asked %d times", out, err, asked)
	}
	if m, err := all.Model(t.Context(), "other"); err != nil || m.Info().ID != "other" {
		t.Errorf("%v", err)
	}
	asked = 0
	if name, _, _ := clouded(t, `{}`, "OLLAMA_HOST="+srv.URL, "ANTHROPIC_API_KEY=k").Choose(""); name != "anthropic" ||
		asked != 0 {
		t.Errorf("with a key: %s, asked %d times", name, asked)
	}
	for host, want := range map[string]string{
		"": "http://127.0.0.1:11434", "0.0.0.0": "http://127.0.0.1:11434",
		"box": "http://box:11434", "https://box:99/": "https://box:99",
	} {
		if got := ollamaBase(host); got != want {
			t.Errorf("%q: %s, want %s", host, got, want)
		}
	}
}
