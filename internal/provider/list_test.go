package provider

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/lathe-dev/lathe/internal/llm"
)

func TestTheModelsOfAServerAreListedByIt(t *testing.T) {
	var auth string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		auth = r.Header.Get("Authorization")
		if r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"qwen3:8b"},{"id":"llama","max_model_len":4096}]}`)
	}))
	t.Cleanup(server.Close)
	all := set(t, `{"providers": {"box": {"type": "openai", "apiBase": "`+server.URL+
		`", "apiKey": "k", "models": {"qwen3:8b": {"contextWindow": 7}}}}}`)
	models, err := all.ModelsOf(t.Context(), "box")
	if err != nil || len(models) != 2 || auth != "Bearer k" {
		t.Fatalf("%+v %v %q", models, err, auth)
	}
	if a, b := models[0], models[1]; a.ID != "box/qwen3:8b" || a.ContextWindow != 7 || b.ID != "box/llama" ||
		b.ContextWindow != 4096 || !b.Known {
		t.Errorf("%+v", models)
	}
	if _, err := set(t, `{"providers": {"box": {"type": "openai", "apiBase": "http://127.0.0.1:1"}}}`).ModelsOf(
		t.Context(), "box"); err == nil || !strings.Contains(err.Error(), "is it running") {
		t.Errorf("%v", err)
	}
	if _, err := set(t, `{"providers": {"box": {"type": "openai", "apiBase": "`+server.URL+`/v1/other"}}}`).ModelsOf(
		t.Context(), "box"); err == nil || !strings.Contains(err.Error(), "no list of models") {
		t.Errorf("%v", err)
	}
}

func TestTheModelsOfAKnownHostAreThoseOfTheCatalogue(t *testing.T) {
	models, err := set(t, "{}", "GROQ_API_KEY=k").ModelsOf(t.Context(), "groq")
	if err != nil || !slices.ContainsFunc(models,
		func(m llm.ModelInfo) bool { return m.ID == "groq/openai/gpt-oss-120b" && m.Known && !m.Unpriced }) {
		t.Errorf("%d %v", len(models), err)
	}
	if without, err := set(t, "{}").ModelsOf(t.Context(), "groq"); err != nil || len(without) != len(models) {
		t.Errorf("the catalogue needs a key: %v", err)
	}
	if _, err := set(t, "{}").ModelsOf(t.Context(), "nobody"); err == nil {
		t.Error("an unknown provider")
	}
}

func TestTheSettingsOfAModelReachItsRequests(t *testing.T) {
	var got *http.Request
	url := requests(t, func(r *http.Request) { got = r })
	all := set(t, `{"stream": {"maxRetries": 0}, "providers": {"box": {"type": "openai", "apiBase": "`+url+
		`", "models": {"blind": {"images": false, "maxOutputTokens": 77}}}}}`)
	m, err := all.Model(t.Context(), "box/blind")
	if err != nil {
		t.Fatal(err)
	}
	body := ""
	for d, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{{
		Role:  llm.User,
		Parts: []llm.Part{llm.Text{Text: "x"}, llm.Media{MIME: "image/png", Data: []byte("png"), Name: "a.png"}},
	}}}) {
		if err != nil {
			break // the server answers in no wire's form
		}
		if sent, ok := d.(llm.Sent); ok {
			body = string(sent.Body())
		}
	}
	if got == nil || strings.Contains(body, "image_url") || !strings.Contains(body, "a.png (image/png) left out") ||
		!strings.Contains(body, `"max_tokens":77`) {
		t.Errorf("%s", body)
	}
}

// Each setting of a model has its effect on the request of every wire, and what is not set does not change.
func TestThinkingAndImagesOfTheSettingsReachEveryWire(t *testing.T) {
	for _, row := range []struct{ wire, id, own, has, not string }{
		{"openai", "ours", `{"thinking": "adaptive"}`, `"reasoning_effort":"high"`, "max_tokens"},
		{"openai", "ours", `{"thinking": "adaptive"}`, "image_url", "left out"},
		{"openai", "ours", `{"contextWindow": 4096}`, "image_url", "max_tokens"},
		{"openai", "ours", `{"images": false}`, "left out", "image_url"},
		{"openai", "gpt-5.1", `{"thinking": ""}`, `"max_completion_tokens":32000`, "effort"},
		{
			"responses", "ours", `{"thinking": "adaptive"}`,
			`"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto","effort":"high"}`, "max_output_tokens",
		},
		{"responses", "gpt-5-chat-latest", `{"images": false}`, "left out", "reasoning"},
		{
			"anthropic", "ours", `{"thinking": "adaptive"}`,
			`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"}`, "cannot be sent",
		},
		{"anthropic", "ours", `{"thinking": "budget"}`, `"budget_tokens":20000`, "effort"},
		{"anthropic", "claude-sonnet-4-5", `{"thinking": ""}`, `"type":"image"`, "budget_tokens"},
		{"anthropic", "claude-sonnet-4-5", `{"images": false}`, "cannot be sent", `"type":"image"`},
		{"google", "ours", `{"thinking": "adaptive"}`, `"thinkingLevel":"high"`, "left out"},
		{"google", "ours", `{"thinking": "budget"}`, `"thinkingBudget":24576`, "thinkingLevel"},
		{"google", "gemini-2.5-flash", `{"thinking": ""}`, "inlineData", "thinkingConfig"},
		{"google", "gemini-3-new", `{"contextWindow": 5000}`, `"thinkingLevel":"high"`, "left out"},
		{"google", "gemini-2.5-flash", `{"images": false}`, "left out", "inlineData"},
	} {
		all := set(t, `{"stream": {"maxRetries": 0}, "providers": {"box": {"type": "`+row.wire+
			`", "apiKey": "k", "apiBase": "http://127.0.0.1:1", "models": {"`+row.id+`": `+row.own+`}}}}`)
		m, err := all.Model(t.Context(), "box/"+row.id)
		if err != nil {
			t.Fatal(err)
		}
		body := string(sentBody(t, m, &llm.Request{
			Effort: "high", Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
				llm.Text{Text: "x"},
				llm.Media{MIME: "image/png", Data: []byte("png")},
			}}},
		}))
		if !strings.Contains(body, row.has) || strings.Contains(body, row.not) {
			t.Errorf("%s %s %s: want %s, not %s:\n%s", row.wire, row.id, row.own, row.has, row.not, body)
		}
	}
}
