package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestModelsOfOneProviderAreListed(t *testing.T) {
	bin, home := buildLathe(t), t.TempDir()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"local-coder","max_model_len":32768}]}`))
	}))
	defer server.Close()
	list := func(args ...string) []struct{ ID string } {
		t.Helper()
		settings := `{"providers":{"box":{"type":"openai","apiBase":"` + server.URL + `/v1"}},"model":"claude-haiku-4-5"}`
		c := exec.Command(bin, append([]string{"--settings", settings, "models", "--json"}, args...)...)
		c.Dir, c.Env = home, []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_API_KEY=sk-test",
			"GROQ_API_KEY=gsk-test",
		}
		out, err := c.Output()
		var models []struct{ ID string }
		if err != nil || json.Unmarshal(out, &models) != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
		return models
	}
	only := func(name, part string) {
		t.Helper()
		models := list("--provider", name)
		for _, m := range models {
			if !strings.Contains(m.ID, part) {
				t.Errorf("%s has %s", name, m.ID)
			}
		}
		if len(models) == 0 {
			t.Errorf("%s has no models", name)
		}
	}
	only("anthropic", "claude")
	only("box", "local-coder")
	groq := list("--provider", "groq")
	if all := list(); len(groq) == 0 || len(all) <= len(groq) {
		t.Errorf("%d models of groq, %d of all", len(groq), len(all))
	}
}
